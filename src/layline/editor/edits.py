"""What one edit of a file touches: functions and classes that differ, and where everything else stands now."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from layline.core.evidence import Location
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.core.patch import Effect

_NEWLINE = re.compile(r"\r\n|\r|\n")
"""As the parser counts lines."""
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Keyed: TypeAlias = list[tuple[str | None, ast.stmt]]


@dataclass(frozen=True, slots=True)
class Edit:
    """The difference between two texts of one file."""

    names: frozenset[str]
    """Functions, classes, imports and assignments at the top level that differ, and those that name one of them,
    directly or by others.
    """
    moved: tuple[tuple[int, int, int], ...]
    """First and last line of each other statement as it was, and by how many lines it moved."""

    def move(self, effect: Effect, path: str) -> Effect | None:
        """An effect of the file where it stands now; None where its own lines, or those that it names, differ."""
        places = (effect.location, effect.replacement_at, effect.helper, effect.called_at, *effect.replacements_at)
        now = [self._move(place, path) if place is not None else None for place in places]
        if any(one is None for place, one in zip(places, now, strict=True) if place is not None) or now[0] is None:
            return None
        others = tuple(place for place in now[4:] if place is not None)
        moved = replace(effect, location=now[0], replacement_at=now[1], helper=now[2], called_at=now[3])
        return replace(moved, replacements_at=others)

    def _move(self, place: Location, path: str) -> Location | None:
        if place.path != path:
            return place
        for first, last, lines in self.moved:
            if first <= place.line <= last:
                return Location(path, place.line + lines)
        return None


def compare_texts(before: str, after: str) -> Edit | None:
    """None where a statement differs that is no function, class, import or plain assignment: then all of the file has
    to be read.
    """
    then, now = parse_body(before), parse_body(after)
    if then is None or now is None or _repeats(then) or _repeats(now):
        return None
    is_same = partial(_is_same, _NEWLINE.split(before), _NEWLINE.split(after))
    old, new = ([(_key(node), node) for node in side] for side in (then, now))
    differ = _find_different(old, new, is_same)
    kept = [[(key, node) for key, node in side if key not in differ] for side in (old, new)]
    if [key for key, _ in kept[0]] != [key for key, _ in kept[1]]:
        return None
    pairs = [(one[1], two[1]) for one, two in zip(*kept, strict=True)]
    if not all(is_same(one, two) for one, two in pairs if _key(one) is None):
        return None
    gone = [node for key, node in (*old, *new) if key in differ]
    values = _find_values({name for node in gone if not isinstance(node, _NAMED) for name in _find_bound(node)}, now)
    names = _find_users(values | {node.name for node in gone if isinstance(node, _NAMED)}, now)
    moved = (
        (_first(one), one.end_lineno or one.lineno, _first(two) - _first(one))
        for one, two in pairs
        if not (one.name in names if isinstance(one, _NAMED) else values.intersection(_find_words(one)))
    )
    return Edit(names, tuple(moved))


def _key(node: ast.stmt) -> str | None:
    """The name of a function or class; the meaning of an import or of an assignment to names; None for all that may
    do more.
    """
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return None
        case ast.Import() | ast.ImportFrom() | ast.AnnAssign(target=ast.Name()) | ast.Expr(value=ast.Constant()):
            return ast.dump(node)
        case ast.Assign(targets=targets) if all(isinstance(one, ast.Name) for one in targets):
            return ast.dump(node)
    return None


def _find_different(old: _Keyed, new: _Keyed, is_same: Callable[[ast.stmt, ast.stmt], bool]) -> set[str]:
    """What stands in one text alone, or more often there, and functions and classes that mean something else."""
    counts = [Counter(key for key, _ in side if key is not None) for side in (old, new)]
    found = {key for key in counts[0] | counts[1] if counts[0][key] != counts[1][key]}
    named = [{key: node for key, node in side if isinstance(node, _NAMED)} for side in (old, new)]
    return found | {
        key
        for key in named[0].keys() & named[1].keys()
        if key is not None and not is_same(named[0][key], named[1][key])
    }


def _find_values(names: set[str], body: list[ast.stmt]) -> set[str]:
    """These, and what statements at the top level make of them."""
    said = [(node, set(_find_words(node))) for node in body if names and not isinstance(node, _NAMED)]
    found, fresh = set(names), set(names)
    while fresh:
        fresh = {name for node, words in said if words & fresh for name in _find_bound(node)} - found
        found |= fresh
    return found


def _find_bound(node: ast.AST) -> Iterator[str]:
    for inner in walk(node):
        match inner:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]


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


def _repeats(body: list[ast.stmt]) -> bool:
    names = [node.name for node in body if isinstance(node, _NAMED)]
    return len(names) != len(set(names))


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
