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
from typing import Any

from layline.errors import ConfigError, Error
from layline.render.markup import Document, parse_document
from layline.render.typst import quote, render_typst

ENGINES = ("typst", "weasyprint")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
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


class TooLong(Error):
    """A one-page document that does not fit on one page at the smallest size."""

    def __init__(self, title: str) -> None:
        super().__init__(f"{title!r} does not fit on one page, even at 6.5 pt.", hint="Shorten the summary.")
        self.title = title


def render_pdf(markdown: str, sheet: Sheet, *, engine: str = "typst", style: str | None = None) -> bytes:
    """One document as PDF; `style` adds a stylesheet of the user's own (WeasyPrint only)."""
    if engine not in ENGINES:
        raise ConfigError(f"There is no PDF engine called {engine!r}.", hint=f"Engines: {', '.join(ENGINES)}.")
    if find_spec(engine) is None:
        raise ConfigError(
            f"The PDF engine {engine} is not installed.", hint="pip install 'layline[pdf]' (typst) or weasyprint."
        )
    if style is not None and engine != "weasyprint":
        raise ConfigError("A stylesheet needs the weasyprint engine.", hint="Add --engine weasyprint.")
    document = parse_document(markdown)
    if engine == "typst":
        return _typst(document, sheet)
    from layline.render.weasyprint import render_weasyprint

    made = render_weasyprint(markdown, sheet, style=style, sizes=_SIZES)
    if made is None:
        raise TooLong(document.title or sheet.title)
    return made


def engine_version(engine: str) -> str:
    """Part of what a cached PDF depends on."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{engine} {version(engine)}"
    except PackageNotFoundError:
        return engine


def _typst(document: Document, sheet: Sheet) -> bytes:
    import typst  # an extra: only who makes PDFs needs it

    source = "\n".join([_preamble(), _meta(document, sheet), f"#show: {'one-page' if sheet.one_page else 'long'}.with(meta)", render_typst(document)])  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="layline-pdf-") as empty:
        options: dict[str, Any] = {"root": empty, "package_path": empty, "package_cache_path": empty}
        try:
            made = typst.compile(source.encode(), format="pdf", ignore_system_fonts=True, font_paths=[], pdf_standards=["ua-1"], timestamp=0, **options)  # fmt: skip
        except typst.TypstError as error:
            if "does not fit on one page" in str(error):
                raise TooLong(document.title or sheet.title) from None
            raise Error(f"Typst cannot set {document.title or sheet.title!r}: {str(error).splitlines()[0]}.") from None
    return bytes(made)


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
