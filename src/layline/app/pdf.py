"""`pdf`: one Markdown document as a PDF."""

from __future__ import annotations

from pathlib import Path

from layline.config import FILE_NAME, load_settings
from layline.errors import ConfigError, Error
from layline.render.fonts import find_fonts
from layline.render.pdf import Engine, Printed, print_pdf
from layline.render.sheet import Sheet

LARGEST = 5_000_000


def pdf(
    markdown: Path, sheet: Sheet, *, engine: str = "typst", style: Path | None = None, fonts: Path | None = None
) -> Printed:
    """A Markdown file as PDF; the file is all that is read, whatever it says."""
    look = None if style is None else _read(style)
    chosen = Engine(name=engine, style=look, fonts=None if fonts is None else find_fonts(fonts))
    return print_pdf(_read(markdown), sheet, chosen)


def find_project(start: Path) -> str:
    """The name of the project a file belongs to; empty where no settings say."""
    for folder in start.resolve().parents:
        if (folder / FILE_NAME).is_file():
            return load_settings(folder / FILE_NAME).settings.project.name
    return ""


def refuse_foreign(output: Path) -> None:
    """Only a PDF is overwritten; a device, pipe or terminal is written to."""
    if output.is_dir() or (output.is_symlink() and (output.is_file() or not output.exists())):
        raise Error(f"{output} is not a plain file.")
    if output.is_file() and not output.read_bytes()[:5] == b"%PDF-":
        raise Error(f"{output} exists and is not a PDF.", hint="Choose another name for -o.")


def _read(file: Path) -> str:
    try:
        data = file.read_bytes()
        if len(data) > LARGEST:
            raise ConfigError(f"{file} is larger than {LARGEST:,} bytes.")
        return data.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: byte {error.start} is not UTF-8.") from None
