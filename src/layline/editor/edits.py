"""What one edit of a file touches: functions and classes that differ, and where everything else stands now."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.core.patch import Effect

_NEWLINE = re.compile(r"\r\n|\r|\n")
"""As the parser counts lines."""
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Edit:
    """The difference between two texts of one file."""

    names: frozenset[str]
    """Functions and classes at the top level that differ, and those that name one of them, directly or by others."""
    moved: tuple[tuple[int, int, int], ...]
    """First and last line of each other statement as it was, and by how many lines it moved."""

    def move(self, effect: Effect, path: str) -> Effect | None:
        """An effect of the file where it stands now; None where its own lines, or those that it names, differ."""
        places = (effect.location, effect.replacement_at, effect.helper, effect.called_at)
        now = [self._move(place, path) if place is not None else None for place in places]
        if any(one is None for place, one in zip(places, now, strict=True) if place is not None) or now[0] is None:
            return None
        return replace(effect, location=now[0], replacement_at=now[1], helper=now[2], called_at=now[3])

    def _move(self, place: Location, path: str) -> Location | None:
        if place.path != path:
            return place
        for first, last, lines in self.moved:
            if first <= place.line <= last:
                return Location(path, place.line + lines)
        return None


def compare_texts(before: str, after: str) -> Edit | None:
    """None where a statement differs that is no function or class: then all of the file has to be read."""
    then, now = parse_body(before), parse_body(after)
    if then is None or now is None:
        return None
    is_same = partial(_is_same, _NEWLINE.split(before), _NEWLINE.split(after))
    old, new = ({node.name: node for node in side if isinstance(node, _NAMED)} for side in (then, now))
    both = old.keys() & new.keys()
    differ = (old.keys() ^ new.keys()) | {name for name in both if not is_same(old[name], new[name])}
    kept = [[node for node in side if getattr(node, "name", None) not in differ] for side in (then, now)]
    others = [[node for node in side if not isinstance(node, _NAMED)] for side in kept]
    order = [[getattr(node, "name", None) for node in side] for side in kept]
    if order[0] != order[1] or not all(map(is_same, *others)) or _repeats(then) or _repeats(now):
        return None
    names = _find_users(differ, now)
    moved = (
        (_first(one), one.end_lineno or one.lineno, _first(two) - _first(one))
        for one, two in zip(*kept, strict=True)
        if getattr(one, "name", None) not in names
    )
    return Edit(names, tuple(moved))


def _is_same(before: list[str], after: list[str], then: ast.stmt, now: ast.stmt) -> bool:
    """By their lines, which is quick; by what they mean only where these differ."""
    if _cut(then, before) == _cut(now, after):
        return True
    return ast.dump(then) == ast.dump(now)


def _cut(node: ast.stmt, lines: list[str]) -> tuple[object, ...]:
    first, last = _first(node), node.end_lineno or node.lineno
    return node.col_offset, node.end_col_offset, lines[first - 1 : last]


def _find_users(names: set[str], body: list[ast.stmt]) -> frozenset[str]:
    """These, and all functions and classes that name one of them."""
    words = {node.name: set(_find_words(node)) for node in body if isinstance(node, _NAMED)}
    found, fresh = set(names), set(names)
    while fresh:
        fresh = {name for name, said in words.items() if name not in found and said & fresh}
        found |= fresh
    return frozenset(found)


def _find_words(node: ast.AST) -> Iterator[str]:
    for inner in walk(node):
        match inner:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


def parse_body(text: str) -> list[ast.stmt] | None:
    """The statements of a text; None where it is no Python."""
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return None


def find_around(text: str, lines: Collection[int]) -> frozenset[str]:
    """The function or class at the top level that holds one of these lines, and the fewest; nothing where none does."""
    held = {
        node.name: sum(_first(node) <= line <= (node.end_lineno or node.lineno) for line in lines)
        for node in parse_body(text) or ()
        if isinstance(node, _NAMED)
    }
    some = {name: number for name, number in held.items() if number}
    return frozenset({min(some, key=some.__getitem__)}) if some else frozenset()


def _repeats(body: list[ast.stmt]) -> bool:
    names = [node.name for node in body if isinstance(node, _NAMED)]
    return len(names) != len(set(names))


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
