"""What upstream does itself by now: words of our replacement that its own code did not know at the pin."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.source import Tree, parse_tree
from layline.source.memos import Answers

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift

_TELLING = 8
"""Shorter words stand in any code."""


def find_done(
    ours: Tree, pin: Tree, tip: Tree, rows: Iterable[Drift], answers: Answers | None = None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Places of patches (`file:line`), each with the names that our replacement and upstream's target at the tip read,
    and upstream's file at the pin does not hold. `answers` keep what is read at a line of a file.
    """
    asked = [one for row in rows if (one := _find_asked(row, ours, tip)) is not None]
    words = _Words(answers or Answers())
    words.read(place for one in asked for place in (one.ours, one.theirs))
    read = cache(pin.read_text)
    for one in asked:
        shared = words.find(one.ours) & words.find(one.theirs)
        before = read(one.pin_path) if shared else ""
        found = sorted(word for word in shared if isinstance(before, str) and before and word not in before)
        if found:
            yield one.told, tuple(found)


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of a file."""

    tree: Tree
    blob: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A row with both of its sides."""

    told: str
    pin_path: str
    ours: _Place
    theirs: _Place


def _find_asked(row: Drift, ours: Tree, tip: Tree) -> _Asked | None:
    then, now = row.pin_evidence, row.tip_evidence
    at = row.effect.replacement_at if row.effect is not None else None
    if then is None or now is None or at is None or not then.path or not now.path:
        return None
    mine, theirs = ours.find(at.path), tip.find(now.path)
    if mine is None or theirs is None:
        return None
    line = now.lines[0] if now.lines else 0
    sides = _Place(ours, mine.oid, at.path, at.line), _Place(tip, theirs.oid, now.path, line)
    return _Asked(str(row.location), then.path, *sides)


class _Words:
    """What functions and classes read, by the lines on which they begin; each file is parsed once."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def read(self, places: Iterable[_Place]) -> None:
        """Find what is not known of these places, file by file."""
        wanted: dict[str, dict[int, _Place]] = {}
        for place in places:
            wanted.setdefault(place.blob, {})[place.line] = place
        self._answers.load(wanted)
        for blob, lines in wanted.items():
            missing = [line for line in lines if not self._answers.trusts(blob, _name(line))]
            if missing:
                first = lines[missing[0]]
                found = _cut(first.tree.read_text(first.path), missing)
                for line in missing:
                    self._answers.put(blob, _name(line), sorted(_read_words(found.get(line))))

    def find(self, place: _Place) -> set[str]:
        return set(self._answers.get(place.blob, _name(place.line)))


def _name(line: int) -> str:
    return f"words read at {line}"


def _cut(text: str | Skipped, lines: Iterable[int]) -> dict[int, ast.AST]:
    """The function or class that stands at each of these lines."""
    parsed = parse_tree("", text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else None
    kinds, found = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, dict[int, ast.AST]()
    for node in ast.walk(parsed) if isinstance(parsed, ast.Module) else ():
        if isinstance(node, kinds):
            first = min([one.lineno for one in node.decorator_list], default=node.lineno)
            found |= {line: node for line in lines if first <= line <= node.lineno and line not in found}
    return found


def _read_words(node: ast.AST | None) -> set[str]:
    """Attributes that code reads, by name or by text."""
    found: set[str] = set()
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Attribute):
            found.add(one.attr)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
            found.add(one.value)
    return {word for word in found if len(word) >= _TELLING and "_" in word.strip("_")}
