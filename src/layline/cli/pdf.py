"""`layline pdf`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from layline.cli.group import Choice, command
from layline.core.environment import PdfEngine


@command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The PDF to write."
)
@click.option("--project", default=None, help="Name in the page header; default: the project of layline.toml.")
@click.option("--commit", default="", help="Commit in the page header.")
@click.option("--date", default="", help="Date in the page header and inside the file, YYYY-MM-DD.")
@click.option("--one-page", is_flag=True, help="Fit it on one page; refuse what does not fit.")
@click.option("--engine", type=Choice(get_args(PdfEngine)), default="typst", show_default=True)
@click.option(
    "--style",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="A stylesheet of your own (weasyprint).",
)
@click.option(
    "--fonts",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="A folder of fonts for scripts that Typst's own fonts lack.",
)
def pdf(
    file: Path, output: Path, engine: str, style: Path | None, fonts: Path | None, **header: str | bool | None
) -> int:
    """Convert one Markdown FILE to a PDF.

    It is tagged, its links work, and the same input gives the same bytes.
    """
    from layline.app.pdf import find_project, refuse_foreign
    from layline.app.pdf import pdf as make
    from layline.files import write_named
    from layline.render.sheet import Sheet

    refuse_foreign(output)
    project = header.pop("project")
    named = str(project) if project is not None else find_project(file)
    sheet = Sheet(project=named, title=file.stem, **header)  # type: ignore[arg-type]  # click gives what options say
    made = make(file, sheet, engine=engine, style=style, fonts=fonts)
    write_named(output, made.data)
    if made.note:
        click.echo(f"note: {made.note}; --fonts names a folder with more.", err=True)
    click.echo(f"{output}: {len(made.data):,} bytes")
    return 0
