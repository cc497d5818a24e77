"""Markdown → PDF by way of HTML and WeasyPrint, for those who want their own stylesheet."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, NoReturn

from layline.errors import ConfigError, Error
from layline.render.html import render_article

if TYPE_CHECKING:
    from layline.render.sheet import Sheet

_CRASHES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What the engine raises on sheets and documents that it does not expect: its failure, not ours."""
_IMPORT = re.compile(r"@import\b|url\s*\(|@font-face\b", re.IGNORECASE)


def render_weasyprint(markdown: str, sheet: Sheet, *, style: str | None, sizes: tuple[float, ...]) -> bytes | None:
    """The PDF, or None where it must stand on one page and does not at the smallest size.

    Nothing is fetched: every address the document or the stylesheet names is refused.
    """
    from weasyprint import CSS, HTML

    article = render_article(markdown)
    html = _page(article.title or sheet.title or "Report", article.html, sheet)
    looks = [resources.files("layline.render").joinpath("paper.css").read_text(encoding="utf-8"), *_own(style)]
    options: dict[str, Any] = {"url_fetcher": _refuse, "base_url": None}
    styles = [CSS(string=look, **options) for look in looks]

    def lay_out(size: float) -> Any:
        scale = CSS(string=f"html {{ font-size: {size}pt }}", **options)
        return HTML(string=html, **options).render(
            stylesheets=[*styles, scale], presentational_hints=True, pdf_tags=True
        )

    try:
        made = _find_largest_single_page(lay_out, sizes) if sheet.one_page else lay_out(sizes[0])
        if made is None:
            return None
        # the identifier must not depend on the clock: the same input gives the same bytes
        identifier = hashlib.sha256(html.encode()).digest()[:16]
        return bytes(made.write_pdf(pdf_identifier=identifier, pdf_variant="pdf/ua-1", pdf_tags=True))
    except _CRASHES as error:
        blamed = "Leave the stylesheet out to see whether it is the cause, or use" if style else "Use"
        raise Error(
            f"WeasyPrint fails on {article.title or sheet.title!r} with {type(error).__name__}: {error}.",
            hint=f"{blamed} the typst engine.",
        ) from error


def _find_largest_single_page(lay_out: Callable[[float], Any], sizes: tuple[float, ...]) -> Any:
    """The layout at the largest size (they fall) that stands on one page, found by halving; None where none does."""
    found, low, high = None, 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        made = lay_out(sizes[middle])
        if len(made.pages) == 1:
            found, high = made, middle
        else:
            low = middle + 1
    return found


def _page(title: str, body: str, sheet: Sheet) -> str:
    running = escape(" · ".join(part for part in (sheet.project, sheet.commit) if part))
    date = f'<meta name="dcterms.created" content="{escape(sheet.date)}">' if sheet.date else ""
    body = re.sub(r'<a class="anchor".*?</a>', "", body)  # paper has no use for them
    return (
        f'<!DOCTYPE html><html lang="{escape(sheet.lang)}"><head><meta '
        f'charset="utf-8"><title>{escape(title)}</title>{date}</head>'
        f'<body class="{"one-page" if sheet.one_page else "long"}"><div class="running-left">{running}</div>'
        f'<div class="running-right">{escape(sheet.date)}</div><h1>{escape(title)}</h1>{body}</body></html>'
    )


def _own(style: str | None) -> list[str]:
    if style is None:
        return []
    if _IMPORT.search(style):
        raise ConfigError(
            "The stylesheet names a file or an address; a PDF is made from its document alone.",
            hint="Leave out @import, @font-face and url().",
        )
    return [style]


def _refuse(url: str, *_: object, **__: object) -> NoReturn:
    raise ValueError(f"{url} is not fetched")
