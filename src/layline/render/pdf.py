"""Markdown → PDF: tagged, fonts embedded, links live, the same bytes for the same input.

A document can read no file and reach no network: the default engine (Typst) gets strings alone and an empty root; the
alternative (WeasyPrint) gets escaped HTML and a fetcher that refuses every address. Another engine is a name in
`core.environment` and a module of that name here.
"""

from __future__ import annotations

import importlib
import re
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from layline.core.environment import PdfEngine, install
from layline.errors import ConfigError, Error
from layline.render.markup import Document, parse_document
from layline.render.sheet import Sheet
from layline.render.typst import breakable_title, quote, render_typst

ENGINES: tuple[str, ...] = get_args(PdfEngine)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NO_GLYPH = re.compile(r'the text `"(.+?)"` could not be displayed')
_CODE_POINT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
_SIZES = (10.5, 10, 9.5, 9)
NO_GLYPH = "\u25a1"
"""What stands for a character that no font at hand has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What sets a PDF, and what of the user's own it is given."""

    name: str = "typst"
    style: str | None = None
    """A stylesheet (WeasyPrint)."""
    fonts: Path | None = None
    """A folder of fonts for scripts the built-in ones lack (Typst)."""

    def check(self) -> None:
        """Refuses an engine that is unknown, not installed, or given what it cannot use."""
        if self.name not in ENGINES:
            raise ConfigError(f"There is no PDF engine called {self.name!r}.", hint=f"Engines: {', '.join(ENGINES)}.")
        if find_spec(self.name) is None:
            raise ConfigError(
                f"The PDF engine {self.name} is not installed.",
                hint=install(self.name),
            )
        if self.style is not None and self.name != "weasyprint":
            raise ConfigError("A stylesheet needs the weasyprint engine.", hint="Add --engine weasyprint.")
        if self.fonts is not None and self.name != "typst":
            raise ConfigError("A folder of fonts needs the typst engine.", hint="WeasyPrint uses the system's fonts.")

    @property
    def version(self) -> str:
        """Part of what a cached PDF depends on."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return f"{self.name} {version(self.name)}"
        except PackageNotFoundError:
            return self.name


class TooLong(Error):
    """A one-page document that does not fit on one page at the smallest size."""

    def __init__(self, title: str) -> None:
        super().__init__(f"{title!r} does not fit on one page, even at 9 pt.", hint="Shorten the summary.")
        self.title = title


@dataclass(frozen=True, slots=True)
class Printed:
    """A PDF, and the characters that no font at hand has."""

    data: bytes
    replaced: tuple[str, ...] = ()
    """Shown by their names in brackets (emoji) or as empty squares."""

    overlong: bool = False
    """Meant for one page and set on several, because it does not fit at the smallest size."""

    @property
    def note(self) -> str | None:
        """What a reader must know about the PDF, where there is anything."""
        notes = ["does not fit on one page at 9 pt and takes several"] if self.overlong else []
        if self.replaced:
            shown = " ".join(self.replaced[:8]) + (" …" if len(self.replaced) > 8 else "")
            one = len(self.replaced) == 1
            number = "1 character has" if one else f"{len(self.replaced)} characters have"
            notes.append(f"{number} no glyph in the available fonts and {'is' if one else 'are'} replaced: {shown}")
        return "; ".join(notes) or None


TYPST = Engine()


def render_pdf(markdown: str, sheet: Sheet, engine: Engine = TYPST) -> bytes:
    """One document as PDF."""
    return print_pdf(markdown, sheet, engine).data


def print_pdf(markdown: str, sheet: Sheet, engine: Engine = TYPST) -> Printed:
    """One document as PDF, and what could not be printed as it is."""
    engine.check()
    document = parse_document(markdown)
    if engine.name == "typst":
        return _typst(document, sheet, engine.fonts)
    module = importlib.import_module(f"layline.render.{engine.name}")  # only who asks for it loads it
    render: Callable[..., bytes | None] = getattr(module, f"render_{engine.name}")
    made = render(markdown, sheet, style=engine.style, sizes=_SIZES)
    if made is None:
        raise TooLong(document.title or sheet.title)
    return Printed(made)


def print_somehow(markdown: str, sheet: Sheet, engine: Engine = TYPST) -> Printed:
    """As `print_pdf`; a one-page document that does not fit is set on several pages instead, and says so."""
    try:
        return print_pdf(markdown, sheet, engine)
    except TooLong:
        return replace(print_pdf(markdown, replace(sheet, one_page=False), engine), overlong=True)


def _typst(document: Document, sheet: Sheet, fonts: Path | None) -> Printed:
    source = "\n".join(
        [
            _preamble(),
            _meta(document, sheet),
            f"#show: {'one-page' if sheet.one_page else 'long'}.with(meta)",
            render_typst(document),
        ]
    )
    made = _compile(source, document.title or sheet.title, fonts)
    if isinstance(made, bytes):
        return Printed(made)
    # every missing character was named at once; the second attempt meets none
    again = _compile(source.translate({ord(letter): _stand_in(letter) for letter in made}), sheet.title, fonts)
    if isinstance(again, bytes):
        return Printed(again, tuple(letter for letter in made if letter.isprintable()))
    raise Error(f"{document.title or sheet.title!r} cannot be typeset: no available font has the character {again[0]}.")


def _compile(source: str, title: str, fonts: Path | None) -> bytes | tuple[str, ...]:
    """The PDF, or the characters that no font at hand has."""
    import typst  # an extra: only who makes PDFs needs it

    with tempfile.TemporaryDirectory(prefix="layline-pdf-") as empty:
        options: dict[str, Any] = {"root": empty, "package_path": empty, "package_cache_path": empty}
        try:
            made = typst.compile(
                source.encode(),
                format="pdf",
                ignore_system_fonts=True,
                font_paths=[fonts] if fonts else [],
                pdf_standards=["ua-1"],
                timestamp=0,
                **options,
            )
        except typst.TypstError as error:
            if "does not fit on one page" in str(error):
                raise TooLong(title) from None
            missing = tuple(dict.fromkeys(map(_decode, _NO_GLYPH.findall(f"{error.diagnostic}\n{error}"))))
            if not missing:
                raise Error(f"Typst cannot typeset {title!r}: {str(error).splitlines()[0]}.") from None
            return missing
    return bytes(made)


def _decode(shown: str) -> str:
    """A character as Typst names it: itself, or by its number."""
    found = _CODE_POINT.fullmatch(shown)
    return chr(int(found[1], 16)) if found else shown[:1]


def _stand_in(letter: str) -> str:
    """Words for a pictogram, nothing for what has no shape of its own, an empty square for a letter."""
    kind = unicodedata.category(letter)
    if kind in {"Cf", "Mn", "Me", "Sk"}:
        return ""
    name = unicodedata.name(letter, "").lower()
    return f"[{name}]" if kind == "So" and name else NO_GLYPH


def _meta(document: Document, sheet: Sheet) -> str:
    found = _DATE.match(sheet.date)
    day = f"datetime(year: {int(found[1])}, month: {int(found[2])}, day: {int(found[3])})" if found else "none"
    running = " · ".join(part for part in (sheet.project, sheet.commit) if part)
    values = {
        "title": quote(document.title or sheet.title or "Report"),
        "shown": f"[{breakable_title(document.title or sheet.title or 'Report')}]",
        "lead": quote(""),
        "running": quote(running),
        "date": quote(sheet.date),
        "day": day,
        "lang": quote(re.sub(r"[^a-z]", "", sheet.lang[:2].lower()) or "en"),
        "paper": quote(sheet.paper),
        "size": "10.5pt",
    }
    return "#let meta = (" + ", ".join(f"{name}: {value}" for name, value in values.items()) + ")"


@cache
def _preamble() -> str:
    return resources.files("layline.render").joinpath("preamble.typ").read_text(encoding="utf-8")
