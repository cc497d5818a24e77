"""Markdown as a tree with raw HTML off: what the HTML and PDF renderers both start from."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.rules_block import StateBlock


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TITLE_LEVEL = 1
_FOLD = re.compile(r"<details><summary>([^<>]*)</summary>\s*\Z")
FOLD_END = "</details>"
"""With `fold_line` the only HTML we write into Markdown and read from it: GitHub folds it, and so do our pages."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading as a reader finds it: its level after mending, its text and its anchor."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Document:
    """A Markdown document; the title stands apart, so that a page can show it once."""

    title: str | None
    nodes: tuple[SyntaxTreeNode, ...]
    headings: tuple[Heading, ...]
    """One for each heading node of `nodes`, in order; the title is not among them."""


def parse_document(text: str) -> Document:
    """Read Markdown; the first heading becomes the title when it opens the document at level one."""
    tree = SyntaxTreeNode(_parser().parse(text.removeprefix("\ufeff").replace("\x00", "\ufffd")))
    nodes = list(tree.children)
    title = None
    if nodes and nodes[0].type == "heading" and nodes[0].tag == "h1":
        title = text_of(nodes.pop(0)).strip() or None
    return Document(title, tuple(nodes), tuple(_find_headings(nodes)))


def fold_line(title: str) -> str:
    """The line that opens a fold; the text between it and `FOLD_END` is shown when a reader asks for it."""
    return f"<details><summary>{html.escape(' '.join(title.split()), quote=False)}</summary>"


def text_of(node: SyntaxTreeNode) -> str:
    """The words of a node without its markup."""
    if node.type in {"text", "code_inline", "html_inline", "fence", "code_block"}:
        return node.content
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    return "".join(text_of(child) for child in node.children)


def slug(text: str) -> str:
    """The anchor GitHub gives a heading: lower case, words joined by hyphens."""
    folded = unicodedata.normalize("NFC", text).strip().lower()
    return re.sub(r"[^\w\- ]", "", folded).replace(" ", "-") or "section"


class Anchors:
    """Gives each heading an anchor of its own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, text: str) -> str:
        base = name = slug(text)
        count = 0
        while name in self._taken:
            count += 1
            name = f"{base}-{count}"
        self._taken.add(name)
        return name


def safe_link(address: str) -> bool:
    """Only https, a place in this document, or a relative path; nothing that runs, reads files or leaves the site."""
    if address.startswith("https://"):
        return True
    plain = "".join(character for character in address if character.isprintable() and not character.isspace())
    return bool(plain) and not _SCHEME.match(plain) and not plain.startswith(("//", "\\", "/"))


def walk(nodes: tuple[SyntaxTreeNode, ...] | list[SyntaxTreeNode]) -> Iterator[SyntaxTreeNode]:
    """Every node in reading order."""
    for node in nodes:
        yield node
        yield from walk(node.children)


def _find_headings(nodes: list[SyntaxTreeNode]) -> Iterator[Heading]:
    anchors = Anchors()
    above = _TITLE_LEVEL
    for node in walk(nodes):
        if node.type != "heading":
            continue
        level = min(max(int(node.tag[1]), 2), above + 1)  # a reader of headings must not meet a gap
        above = level
        text = text_of(node).strip()
        yield Heading(level, text, anchors.fresh(text))


def _read_fold(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule: a fold line, anything, and its end; a fold that is never closed stays text."""
    opening = _FOLD.match(_line(state, start))
    if opening is None or state.is_code_block(start):
        return False
    depth, at = 1, start
    while depth:
        at += 1
        if at >= end:
            return False
        line = _line(state, at)
        depth += 1 if _FOLD.match(line) else -1 if line.rstrip() == FOLD_END else 0
    if silent:
        return True
    token = state.push("fold_open", "details", 1)
    token.info, token.map, token.block = html.unescape(opening[1]), [start, at], True
    parent, last, state.parentType, state.lineMax = state.parentType, state.lineMax, "fold", at
    state.md.block.tokenize(state, start + 1, at)
    state.parentType, state.lineMax, state.line = parent, last, at + 1
    state.push("fold_close", "details", -1)
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.block.ruler.before("fence", "fold", _read_fold, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.validateLink = safe_link  # type: ignore[method-assign,assignment]
    return parser
