"""Markdown → PDF: tagged, fonts embedded, links live, the same bytes for the same input.

A document can read no file and reach no network: the default engine (Typst) gets strings alone and an empty root; the
alternative (WeasyPrint) gets escaped HTML and a fetcher that refuses every address.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from layline.core.environment import install
from layline.errors import ConfigError, Error
from layline.render.markup import Document, parse_document
from layline.render.typst import quote, render_typst

ENGINES = ("typst", "weasyprint")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NO_GLYPH = re.compile(r'the text `"(.+?)"` could not be displayed')
_SIZES = (10.5, 10, 9.5, 9, 8.5, 8, 7.5, 7, 6.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a PDF says around the document."""

    project: str = ""
    commit: str = ""
    date: str = ""
    """YYYY-MM-DD; also the date inside the file."""
    title: str = ""
    """Used where the document has no title of its own."""
    lang: str = "en"
    one_page: bool = False
    """Set as large as one page allows; what cannot fit is an error."""
    paper: str = "a4"


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
        super().__init__(f"{title!r} does not fit on one page, even at 6.5 pt.", hint="Shorten the summary.")
        self.title = title


TYPST = Engine()


def render_pdf(markdown: str, sheet: Sheet, engine: Engine = TYPST) -> bytes:
    """One document as PDF."""
    engine.check()
    document = parse_document(markdown)
    if engine.name == "typst":
        return _typst(document, sheet, engine.fonts)
    from layline.render.weasyprint import render_weasyprint

    made = render_weasyprint(markdown, sheet, style=engine.style, sizes=_SIZES)
    if made is None:
        raise TooLong(document.title or sheet.title)
    return made


def _typst(document: Document, sheet: Sheet, fonts: Path | None) -> bytes:
    import typst  # an extra: only who makes PDFs needs it

    source = "\n".join(
        [
            _preamble(),
            _meta(document, sheet),
            f"#show: {'one-page' if sheet.one_page else 'long'}.with(meta)",
            render_typst(document),
        ]
    )
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
                raise TooLong(document.title or sheet.title) from None
            raise _refusal(document.title or sheet.title, str(error).splitlines()[0]) from None
    return bytes(made)


def _refusal(title: str, why: str) -> Error:
    missing = _NO_GLYPH.search(why)
    if missing is None:
        return Error(f"Typst cannot set {title!r}: {why}.")
    return Error(
        f"{title!r} cannot be set: no font at hand has the character {missing[1]}.",
        hint="Name a folder with a font that has it (dashboard.pdf_fonts, --fonts), or use the weasyprint engine.",
    )


def _meta(document: Document, sheet: Sheet) -> str:
    found = _DATE.match(sheet.date)
    day = f"datetime(year: {int(found[1])}, month: {int(found[2])}, day: {int(found[3])})" if found else "none"
    running = " · ".join(part for part in (sheet.project, sheet.commit) if part)
    values = {
        "title": quote(document.title or sheet.title or "Report"),
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
