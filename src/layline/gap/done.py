"""What upstream does itself by now: words of our replacement that its own code did not know at the pin."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from layline.source import Tree, parse_tree

if TYPE_CHECKING:
    from layline.core.evidence import Evidence, Location
    from layline.coupling.drift_model import Drift

_TELLING = 8
"""Shorter words stand in any code."""


def find_done(ours: Tree, pin: Tree, tip: Tree, rows: Iterable[Drift]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Places of patches (`file:line`), each with the names that our replacement and upstream's target at the tip read,
    and upstream's file at the pin does not hold.
    """
    for row in rows:
        then, now = row.pin_evidence, row.tip_evidence
        at = row.effect.replacement_at if row.effect is not None else None
        if then is None or now is None or at is None or not then.path:
            continue
        before = pin.read_text(then.path)
        words = _read_words(_cut(ours, at))
        theirs = _read_words(_cut(tip, now))
        known = before if isinstance(before, str) else ""
        found = sorted(word for word in words & theirs if word not in known)
        if known and found:
            yield str(row.location), tuple(found)


def _cut(tree: Tree, place: Location | Evidence) -> ast.AST | None:
    """The function or class that stands at a place."""
    line = getattr(place, "line", None) or (getattr(place, "lines", None) or (0,))[0]
    text = tree.read_text(place.path) if place.path else None
    parsed = parse_tree("", text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in ast.walk(parsed) if isinstance(parsed, ast.Module) else ():
        first = min([one.lineno for one in getattr(node, "decorator_list", ())], default=getattr(node, "lineno", 0))
        if isinstance(node, kinds) and first <= line <= node.lineno:
            return node
    return None


def _read_words(node: ast.AST | None) -> set[str]:
    """Attributes that code reads, by name or by text."""
    found: set[str] = set()
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Attribute):
            found.add(one.attr)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
            found.add(one.value)
    return {word for word in found if len(word) >= _TELLING and "_" in word.strip("_")}
