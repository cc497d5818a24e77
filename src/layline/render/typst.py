"""Markdown → Typst source. Every word becomes a quoted string, so nothing a document says can be Typst code.

Strings are the whole defence: Typst reads files and packages only when code asks for them, and no text becomes code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.render.charts import chart_from_fence, draw
from layline.render.markup import Document

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_BREAKS = re.compile(r"(?<=[/._\-:,])(?=\w)|(?<=[a-z0-9])(?=[A-Z])")
_LONG_ROW = 2_000
"""A row with more characters than this may split: held together it could outgrow a page."""
_INLINE = {"strong": "strong", "em": "emph", "s": "strike"}


def quote(text: str) -> str:
    """A Typst string literal; control characters become spaces."""
    clean = "".join(character if character.isprintable() else " " for character in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(slots=True)
class _Writer:
    headings: Iterable[tuple[int, str]]

    def blocks(self, nodes: Iterable[SyntaxTreeNode]) -> str:
        return "\n".join(self.block(node) for node in nodes)

    def block(self, node: SyntaxTreeNode) -> str:  # noqa: PLR0911  one return per kind of node
        match node.type:
            case "heading":
                level, anchor = next(iter(self.headings))
                return f"#[#heading(level: {level - 1})[{self.inline(node)}] #label({quote(anchor)})]"
            case "paragraph":
                return f"#par[{self.inline(node)}]" if not node.hidden else f"#[{self.inline(node)}]"
            case "blockquote":
                return f"#aside[{self.blocks(node.children)}]"
            case "bullet_list" | "ordered_list":
                return self.list(node)
            case "fence" | "code_block":
                return self.fence(node)
            case "table":
                return self.table(node)
            case "hr":
                return "#rule"
            case _:
                return f"#par[#{quote(node.content)}]"

    def list(self, node: SyntaxTreeNode) -> str:
        items = ", ".join(f"[{self.blocks(item.children)}]" for item in node.children)
        if node.type == "bullet_list":
            return f"#list({items})"
        return f"#enum(start: {int(node.attrs.get('start', 1))}, {items})"

    def fence(self, node: SyntaxTreeNode) -> str:
        chart = chart_from_fence(node.info, node.content) if node.type == "fence" else None
        if chart is None:
            lines = "#linebreak()".join(f"#{quote(line)}" for line in node.content.rstrip("\n").split("\n"))
            return f"#listing[{lines}]"
        # text in the drawing must use a face the PDF carries
        picture = draw(chart).replace("ui-sans-serif, system-ui, sans-serif", "Libertinus Serif")
        return f"#drawing(bytes({quote(picture)}), {quote(chart.title)})"

    def table(self, node: SyntaxTreeNode) -> str:
        rows = [row for part in node.children for row in part.children]
        head, body = rows[0], rows[1:]
        widths = [
            max((len(_words(row.children[index])) for row in rows), default=1) for index in range(len(head.children))
        ]
        total = sum(min(width, 60) for width in widths) or 1
        columns = ", ".join(f"{max(min(width, 60) / total, 0.08):.3f}fr" for width in widths)
        align = ", ".join("right" if "right" in str(cell.attrs.get("style", "")) else "left" for cell in head.children)
        cells = ", ".join(f"[{self.inline(cell)}]" for cell in head.children)
        lines = [f"  table.header(repeat: true, {cells}),"]
        lines += [f"  {', '.join(self.cell(cell, row) for cell in row.children)}," for row in body]
        return f"#grid-table(columns: ({columns},), align: ({align},),\n" + "\n".join(lines) + "\n)"

    def cell(self, node: SyntaxTreeNode, row: SyntaxTreeNode) -> str:
        long = sum(len(_words(cell)) for cell in row.children) > _LONG_ROW
        return f"table.cell(breakable: {'true' if long else 'false'})[{self.inline(node)}]"

    def inline(self, node: SyntaxTreeNode) -> str:
        return "".join(self.piece(child) for child in node.children)

    def piece(self, node: SyntaxTreeNode) -> str:  # noqa: PLR0911  one return per kind of node
        match node.type:
            case "inline":
                return self.inline(node)
            case "code_inline":
                return f"#code[{_breakable(node.content)}]"
            case "softbreak":
                return " "
            case "hardbreak":
                return "#linebreak()"
            case "link":
                address = str(node.attrs.get("href", ""))
                words = self.inline(node)
                return f"#link({quote(address)})[{words}]" if address.startswith("https://") else words
            case "image":
                return f"#emph[#{quote(f'[image: {node.content}]')}]"
            case kind if kind in _INLINE:
                return f"#{_INLINE[kind]}[{self.inline(node)}]"
            case _:
                return f"#{quote(node.content)}" if node.content else ""


def render_typst(document: Document) -> str:
    """The body of a document; the styles it calls (`aside`, `code`, `grid-table` …) stand in the preamble of the
    PDF.
    """
    headings = iter([(heading.level, heading.anchor) for heading in document.headings])
    return _Writer(headings).blocks(document.nodes)


def _words(node: SyntaxTreeNode) -> str:
    return node.content or "".join(_words(child) for child in node.children)


def _breakable(text: str) -> str:
    """Empty boxes allow a break inside a long name and leave nothing behind when it is copied."""
    return "#box()".join(f"#{quote(piece)}" for piece in _BREAKS.split(text) if piece)
