"""Report → HTML and Markdown → HTML. All text is escaped; raw HTML in Markdown is text; links are https or local."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, assert_never

from layline.core.report import Bullets, Chart, Code, Paragraph, Table
from layline.render.charts import chart_from_fence, draw
from layline.render.inline import link_of, parts, skipped_line
from layline.render.markup import Anchors, Document, Heading, parse_document

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

    from layline.core.evidence import Alert, Evidence
    from layline.core.report import Block, Cell, Inline, Report, Section

_HASH = re.compile(r"[0-9a-f]{7,40}\Z")
_BREAK = re.compile(
    r"((?<=\w)(?:/(?=\w)|-(?=[^\W\d_])|\.(?=[^\W\d])(?!\w{1,4}(?![\w.])))|(?<=[^\W_])_(?=[^\W\d_])|,(?=\S))"
)
_SIMPLE = {"paragraph": "p", "blockquote": "blockquote", "bullet_list": "ul", "list_item": "li"}
_INLINE = {"strong": "strong", "em": "em", "s": "s"}


def _keep(address: str) -> str | None:
    return address


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where the links of a document lead once it stands on a page."""

    resolve: Callable[[str], str | None] = _keep
    """The address on the page for a relative one, or None where it leads nowhere (its words stay)."""
    commits: tuple[tuple[str, str], ...] = ()
    """Known commits and their https addresses; a hash in code that begins one of them becomes a link."""

    def commit(self, text: str) -> str | None:
        if not _HASH.match(text):
            return None
        found = {address for commit, address in self.commits if commit.startswith(text) or text.startswith(commit)}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A document ready to be set into a page."""

    title: str | None
    html: str
    headings: tuple[Heading, ...] = ()
    dead_links: tuple[str, ...] = ()
    """Addresses that lead nowhere on the page; their words were kept."""


def render_article(markdown: str, links: Links | None = None) -> Article:
    """Markdown → HTML fragment; the title is given apart."""
    document = parse_document(markdown)
    writer = _Writer(document, links or Links())
    html = "".join(writer.blocks(document.nodes))
    return Article(title=document.title, html=html, headings=document.headings, dead_links=tuple(writer.dead))


class _Writer:
    """Turns one document into HTML; knows which heading comes next."""

    def __init__(self, document: Document, links: Links) -> None:
        self.headings = iter(document.headings)
        self.anchors = {heading.anchor for heading in document.headings}
        self.links = links
        self.dead: list[str] = []

    def blocks(self, nodes: Sequence[SyntaxTreeNode], *, tight: bool = False) -> Iterator[str]:
        for node in nodes:
            yield self.block(node, tight=tight)

    def block(self, node: SyntaxTreeNode, *, tight: bool) -> str:  # noqa: PLR0911  one return per kind of node
        match node.type:
            case "heading":
                return self.heading(node)
            case "paragraph" if tight or node.hidden:
                return self.inline(node)
            case "ordered_list":
                start = node.attrs.get("start")
                attribute = f' start="{int(start)}"' if start is not None else ""
                return f"<ol{attribute}>{''.join(self.blocks(node.children))}</ol>\n"
            case "fence" | "code_block":
                return self.fence(node)
            case "table":
                return self.table(node)
            case "hr":
                return "<hr>\n"
            case "fold":
                inner = "".join(self.blocks(node.children))
                return f"<details><summary>{escape(node.info)}</summary>\n{inner}</details>\n"
            case "paragraph":
                return f"<p>{self.inline(node)}</p>\n"
            case kind if kind in _SIMPLE:
                tag = _SIMPLE[kind]
                return f"<{tag}>{''.join(self.blocks(node.children))}</{tag}>\n"
            case _:
                return f"<p>{escape(node.content)}</p>\n"  # html_block cannot occur: HTML is off

    def heading(self, node: SyntaxTreeNode) -> str:
        heading = next(self.headings)
        return _heading(heading.level, heading.anchor, self.inline(node), heading.text)

    def fence(self, node: SyntaxTreeNode) -> str:
        chart = chart_from_fence(node.info, node.content) if node.type == "fence" else None
        if chart is not None:
            return _figure(chart)
        return f'<pre tabindex="0"><code>{escape(node.content)}</code></pre>\n'

    def table(self, node: SyntaxTreeNode) -> str:
        rows = []
        for part in node.children:
            body = "".join(f"<tr>{''.join(self.cell(cell) for cell in row.children)}</tr>\n" for row in part.children)
            rows.append(f"<{part.tag}>{body}</{part.tag}>")
        return _scroll(f"<table>{''.join(rows)}</table>")

    def cell(self, node: SyntaxTreeNode) -> str:
        align = "right" if "right" in str(node.attrs.get("style", "")) else ""
        cls = ' class="num"' if align else ""
        scope = ' scope="col"' if node.tag == "th" else ""
        content = self.inline(node)
        if node.tag == "th" and not content.strip():
            return f"<td{cls}></td>"  # an empty header names nothing
        return f"<{node.tag}{scope}{cls}>{content}</{node.tag}>"

    def inline(self, node: SyntaxTreeNode) -> str:
        return "".join(self.piece(child) for child in node.children)

    def piece(self, node: SyntaxTreeNode) -> str:  # noqa: PLR0911  one return per kind of node
        match node.type:
            case "inline":
                return self.inline(node)
            case "text" | "html_inline":
                return escape(node.content)
            case "code_inline":
                return self.code(node.content, linked=_is_linked(node))
            case "softbreak":
                return "\n"
            case "hardbreak":
                return "<br>\n"
            case "link":
                return self.link(node)
            case "image":
                words = node.content or "".join(child.content for child in node.children)
                return f'<em class="image">[image: {escape(words)}]</em>'
            case kind if kind in _INLINE:
                return f"<{_INLINE[kind]}>{self.inline(node)}</{_INLINE[kind]}>"
            case _:
                return escape(node.content)

    def code(self, text: str, *, linked: bool) -> str:
        shown = f"<code>{breakable(text)}</code>"
        address = None if linked else self.links.commit(text)
        return f'<a href="{escape(address)}" rel="noopener">{shown}</a>' if address else shown

    def link(self, node: SyntaxTreeNode) -> str:
        address = str(node.attrs.get("href", ""))
        known, self.links = self.links, replace(self.links, commits=())  # no link inside a link
        words = self.inline(node)
        self.links = known
        target = self.target(address)
        if target is None:
            self.dead.append(address)
            return words
        return f'<a href="{escape(target)}" rel="noopener">{words}</a>'

    def target(self, address: str) -> str | None:
        if address.startswith("#"):
            return address if address[1:] in self.anchors else None
        return address if address.startswith("https://") else self.links.resolve(address)


def _is_linked(node: SyntaxTreeNode | None) -> bool:
    """True inside a link: links do not nest."""
    return node is not None and (node.type == "link" or _is_linked(node.parent))


def breakable(text: str) -> str:
    """Escaped text in which long paths and names may wrap without gaining a character when copied.

    After dots, slashes, underscores and commas; a version, a date and the end of a file name stay whole.
    """
    return _BREAK.sub(r"\1<wbr>", escape(text))


def render_html(report: Report) -> str:
    """The report as an HTML fragment that opens with its first-level heading."""
    anchors = Anchors()
    meta = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.meta)
    lines = [f"<h1>{escape(report.title)}</h1>\n"]
    if meta:
        lines.append(f'<dl class="meta">{meta}</dl>\n')
    lines += [_alert(alert) for alert in report.alerts]
    for section in report.sections:
        lines += _section(section, 2, anchors)
    if report.skipped:
        items = "".join(f"<li>{render_inline_html(skipped_line(skipped))}</li>" for skipped in report.skipped)
        lines.append(f'{_heading(2, anchors.fresh("Skipped"), "Skipped", "Skipped")}<ul class="skipped">{items}</ul>\n')
    return "".join(lines)


def render_page(report: Report) -> str:
    """The report as one file that needs nothing else: its style is inside, and its policy allows nothing more."""
    style = resources.files("layline.render").joinpath("page.css").read_text(encoding="utf-8").strip()
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    head = (
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{style}</style>\n"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}</head>\n<body>\n<main>\n'
        f"{render_html(report)}</main>\n</body>\n</html>\n"
    )


def render_sections(sections: Iterable[Section]) -> str:
    """Sections of a report by themselves, for a page that has its own title; tables stack where it is narrow."""
    anchors = Anchors()
    return "".join(part for section in sections for part in _section(section, 2, anchors, stack=True))


def render_inline_html(text: Inline) -> str:
    return "".join(_cell(cell) for cell in parts(text))


def _cell(cell: Cell) -> str:
    shown = f"<code>{breakable(cell.text)}</code>" if cell.code else escape(cell.text)
    link = link_of(cell)
    if link is None:
        return shown
    return f'<a href="{escape(link)}" rel="noopener"{_command(cell.evidence)}>{shown}</a>'


def _command(evidence: Evidence | None) -> str:
    return f' title="{escape(evidence.command)}"' if evidence is not None and evidence.command else ""


def _alert(alert: Alert) -> str:
    return (
        f'<p class="alert alert-{alert.severity.value}"><strong>{alert.severity.value}</strong> '
        f"{escape(alert.message)}</p>\n"
    )


def _section(section: Section, level: int, anchors: Anchors, *, stack: bool = False) -> Iterator[str]:
    if section.folded:
        yield f"<details><summary>{escape(section.title)}</summary>\n"
    elif section.title:
        yield _heading(min(level, 6), anchors.fresh(section.title), escape(section.title), section.title)
    for block in section.blocks:
        yield _table(block, stack=stack) if isinstance(block, Table) else _block(block)
    for inner in section.sections:
        yield from _section(inner, level if section.folded else level + 1, anchors, stack=stack)
    if section.folded:
        yield "</details>\n"


def _block(block: Block) -> str:
    match block:
        case Paragraph(text=text):
            return f"<p>{render_inline_html(text)}</p>\n"
        case Bullets(items=items, ordered=ordered):
            tag = "ol" if ordered else "ul"
            return f"<{tag}>{''.join(f'<li>{render_inline_html(item)}</li>' for item in items)}</{tag}>\n"
        case Code(text=text):
            return f'<pre tabindex="0"><code>{escape(text)}</code></pre>\n'
        case Table():
            return _table(block)
        case Chart():
            return _figure(block)
        case _:
            assert_never(block)


def _table(table: Table, *, stack: bool = False) -> str:
    """`stack`: each cell names its column, for a page whose style sets rows as blocks on a narrow screen."""

    def attribute(index: int) -> str:
        return ' class="num"' if index in table.numeric else ""

    def label(index: int) -> str:
        return f' data-label="{escape(table.columns[index])}"' if stack and index else ""

    def row(cells: Sequence[Inline]) -> str:
        return "".join(
            f"<td{attribute(index)}{label(index)}>{render_inline_html(cell)}</td>" for index, cell in enumerate(cells)
        )

    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    head = "".join(
        f'<th scope="col"{attribute(index)}>{escape(name)}</th>' if name.strip() else "<td></td>"
        for index, name in enumerate(table.columns)
    )
    body = "".join(f"<tr>{row(cells)}</tr>\n" for cells in table.rows)
    more = f'<p class="more">{table.more} more in {escape(table.more_where)}.</p>\n' if table.more else ""
    opening = '<table class="stack">' if stack else "<table>"
    return _scroll(f"{opening}{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>") + more


def _scroll(table: str) -> str:
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Table">{table}</div>\n'


def _figure(chart: Chart) -> str:
    return f'<figure class="chart">{draw(chart)}<figcaption>{escape(chart.title)}</figcaption></figure>\n'


def _heading(level: int, anchor: str, inner: str, text: str) -> str:
    mark = f'<a class="anchor" href="#{escape(anchor)}" aria-label="Link to {escape(text)}">#</a>'
    return f'<h{level} id="{escape(anchor)}">{inner}{mark}</h{level}>\n'
