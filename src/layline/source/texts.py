"""Texts in code that may be dotted names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

DOTTED = re.compile(r"\.*[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*")


def find_texts(node: ast.expr) -> Iterator[str]:
    """Dotted texts of an argument: itself, or in a list, tuple or table."""
    text = read_text(node)
    if text is not None:
        if "." in text or ":" in text:
            yield text
        return
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from find_texts(part)
        case ast.Dict(keys=keys):
            for key in keys:
                yield from find_texts(key) if key is not None else ()


def find_rows(nodes: Iterable[ast.expr]) -> Iterator[tuple[str, ...]]:
    """Dotted texts that stand side by side."""
    row: list[str] = []
    for text in (*map(read_text, nodes), None):
        if text is not None:
            row.append(text)
            continue
        if len(row) > 1:
            yield tuple(row)
        row = []


def read_text(node: ast.expr) -> str | None:
    """A text that may be a dotted name."""
    value = node.value if node.__class__ is ast.Constant else None
    return value if isinstance(value, str) and DOTTED.fullmatch(value) else None
