"""Markdown as a tree with raw HTML off: what the HTML and PDF renderers both start from."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

if TYPE_CHECKING:
    from collections.abc import Iterator


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TITLE_LEVEL = 1


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


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = safe_link  # type: ignore[method-assign,assignment]
    return parser
