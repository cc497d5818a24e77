"""Markdown → Typst source. Every word becomes a quoted string, so nothing a document says can be Typst code.

Strings are the whole defence: Typst reads files and packages only when code asks for them, and no text becomes code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from layline.render.charts import chart_from_fence, draw
from layline.render.columns import Layout, Run, lay_out, split_pieces, width_of
from layline.render.markup import Document

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_ROOM_EM = 47.5
"""The width of a page between its margins, in ems of a table's text."""
_LINE_EM, _TITLE_EM, _LISTING_LETTERS = 38.0, 28.0, 88
"""What surely fits on a line outside tables: of text in a list, of a title, of a listing."""
_LONG_WORD = 24
"""A word of plain text longer than this is a name and may break at its seams."""
_SPACES = re.compile(r"( +)")
_LONG_ROW = 900
"""A row with more characters than this may split: held together it could outgrow a page."""
_INLINE = {"strong": "strong", "em": "emph", "s": "strike"}


def quote(text: str) -> str:
    """A Typst string literal; control characters become spaces."""
    clean = "".join(character if character.isprintable() else " " for character in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(slots=True)
class _Writer:
    headings: Iterable[tuple[int, str]]
    room: float = _LINE_EM
    """Ems that a line has where the writer stands."""

    def blocks(self, nodes: Iterable[SyntaxTreeNode]) -> str:
        """What stands right before a table stays with it."""
        found = list(nodes)
        made = [self.block(node) for node in found]
        for index, (node, after) in enumerate(pairwise(found)):
            if node.type == "paragraph" and after.type == "table":
                made[index] = f"#lead[{self.inline(node)}]"
        return "\n".join(made)

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
            case "fold":  # on paper it stands open
                return f"#lead[#strong[{_breakable(node.info, self.room)}]]\n{self.blocks(node.children)}"
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
            lines = "#linebreak()".join(_listing_line(line) for line in node.content.rstrip("\n").split("\n"))
            return f"#listing[{lines}]"
        # text in the drawing must use a face the PDF carries
        picture = draw(chart).replace("ui-sans-serif, system-ui, sans-serif", "Libertinus Serif")
        return f"#drawing(bytes({quote(picture)}), {quote(chart.title)})"

    def table(self, node: SyntaxTreeNode) -> str:
        rows = [row for part in node.children for row in part.children]
        head, body = rows[0], rows[1:]
        layout = lay_out([[tuple(_runs(cell)) for cell in row.children] for row in rows], _ROOM_EM)
        columns = ", ".join(f"{width:.2f}fr" for width in layout.widths)
        align = ", ".join("right" if "right" in str(cell.attrs.get("style", "")) else "left" for cell in head.children)
        cells = ", ".join(f"[{self.fit(cell, layout, index)}]" for index, cell in enumerate(head.children))
        lines = [f"  table.header(repeat: true, {cells}),"]
        lines += [f"  {', '.join(self.row(row, layout))}," for row in body]
        scale = f"scale: {layout.scale:.3f}, " if layout.scale < 1 else ""
        return f"#grid-table({scale}columns: ({columns},), align: ({align},),\n" + "\n".join(lines) + "\n)"

    def row(self, row: SyntaxTreeNode, layout: Layout) -> Iterator[str]:
        long = sum(len(_words(cell)) for cell in row.children) > _LONG_ROW
        for index, cell in enumerate(row.children):
            yield f"table.cell(breakable: {'true' if long else 'false'})[{self.fit(cell, layout, index)}]"

    def fit(self, cell: SyntaxTreeNode, layout: Layout, column: int) -> str:
        """A cell whose words break before they leave its column."""
        outside = self.room
        self.room = layout.room(column)
        try:
            return self.inline(cell)
        finally:
            self.room = outside

    def inline(self, node: SyntaxTreeNode) -> str:
        return "".join(self.piece(child) for child in node.children)

    def piece(self, node: SyntaxTreeNode) -> str:  # noqa: PLR0911  one return per kind of node
        match node.type:
            case "inline":
                return self.inline(node)
            case "code_inline":
                return f"#code[{_breakable(node.content, self.room, mono=True)}]"
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
                return _breakable(node.content, self.room) if node.content else ""


def render_typst(document: Document) -> str:
    """The body of a document; the styles it calls (`aside`, `code`, `grid-table` …) stand in the preamble of the
    PDF.
    """
    headings = iter([(heading.level, heading.anchor) for heading in document.headings])
    return _Writer(headings).blocks(document.nodes)


def _words(node: SyntaxTreeNode) -> str:
    return node.content or "".join(_words(child) for child in node.children)


def _runs(node: SyntaxTreeNode) -> Iterator[Run]:
    """The words of a cell with the face they are set in."""
    if not node.children:
        yield Run(node.content, mono=node.type == "code_inline")
    for child in node.children:
        yield from _runs(child)


def breakable_title(text: str) -> str:
    return _breakable(text, _TITLE_EM)


def _breakable(text: str, room: float, *, mono: bool = False) -> str:
    """Text whose names may break at their seams and, past `room` ems, anywhere; words that fit are left whole.

    Empty boxes allow the break and leave nothing behind when the text is copied.
    """
    pieces: list[str] = [""]
    for word in _SPACES.split(text):
        plain = not mono and len(word) <= _LONG_WORD and width_of(word) <= room
        first, *rest = [word] if plain or not word.strip() else split_pieces(word, room, mono=mono)
        pieces[-1] += first
        pieces += rest
    return "#box()".join(f"#{quote(piece)}" for piece in pieces if piece)


def _listing_line(line: str) -> str:
    parts = [line[start : start + _LISTING_LETTERS] for start in range(0, len(line), _LISTING_LETTERS)] or [""]
    return "#box()".join(f"#{quote(part)}" for part in parts)
