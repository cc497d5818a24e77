"""What a replacement asks for when it runs: config keys that it reads, and limits that it raises at.

No guard names these, but whoever switches a patch on, or takes it elsewhere, needs them.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.coupling.replacements import Replacements
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.core.patch import Patch

_OWN = frozenset({"self", "cls"})
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class InnerKey:
    """A config key that a replacement reads."""

    key: str
    location: Location
    """The first place."""
    needed: bool
    """No place gives a default: without the key it fails."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What must hold inside a replacement, or it raises."""

    text: str
    location: Location


def find_inner_keys(patch: Patch, replacements: Replacements, known: Container[str]) -> list[InnerKey]:
    """Each of the `known` keys that a replacement of the patch reads off another object, with its first place."""
    found: dict[str, InnerKey] = {}
    for path, node in _find_nodes(patch, replacements):
        for name, line, needed in _find_reads(node):
            if name in known:
                before = found.get(name)
                first = Location(path, line) if before is None else before.location
                found[name] = InnerKey(name, first, needed or (before is not None and before.needed))
    return list(found.values())


def read_inner_keys(
    patches: Iterable[Patch], replacements: Replacements, keys: Iterable[str]
) -> dict[str, list[InnerKey]]:
    """Patch → those of the keys that its replacements read; only files that speak of one are read."""
    wanted, told = set(keys), dict[str, bool]()
    found: dict[str, list[InnerKey]] = {}
    for patch in patches:
        paths = {place.path for place in _find_places(patch)}
        for path in paths - told.keys():
            text = replacements.ours.read_text(path)
            told[path] = isinstance(text, str) and any(key in text for key in wanted)
        if any(told[path] for path in paths):
            found[patch.id] = find_inner_keys(patch, replacements, wanted)
    return found


def find_limits(patch: Patch, replacements: Replacements) -> Iterator[Limit]:
    """What a replaced function, or the constructor of a replaced class, checks first of all."""
    for path, node in _find_nodes(patch, replacements):
        makers = [item for item in getattr(node, "body", ()) if getattr(item, "name", "") == "__init__"]
        body = makers[0].body if isinstance(node, ast.ClassDef) and makers else getattr(node, "body", [])
        for statement in body if not isinstance(node, ast.ClassDef) or makers else ():
            text = _read_limit(statement)
            if text is not None and len(text) <= _LONGEST:
                yield Limit(text, Location(path, statement.lineno))


def _find_nodes(patch: Patch, replacements: Replacements) -> Iterator[tuple[str, ast.stmt]]:
    for place in _find_places(patch):
        found = replacements.read(place)
        if found is not None:
            yield place.path, found.node


def _find_places(patch: Patch) -> dict[Location, None]:
    places = (place for one in patch.effects for place in (one.replacement_at, *one.replacements_at))
    return dict.fromkeys(place for place in places if place is not None)


def find_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that code uses, reads off an object or imports, and its line."""
    for part in walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                yield name, part.lineno
            case ast.alias(name=name):
                yield name.rpartition(".")[2], part.lineno


def _find_reads(node: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """`args.key`, `getattr(args, "key", default)`: name, line, and whether it fails without."""
    called = {id(part.func) for part in walk(node) if isinstance(part, ast.Call)}
    for part in walk(node):
        match part:
            case ast.Attribute(value=owner, attr=name, ctx=ast.Load()) if id(part) not in called and not _is_own(owner):
                yield name, part.lineno, True
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *default]):
                if not _is_own(owner):
                    yield name, part.lineno, not default


def _is_own(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in _OWN


def _read_limit(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assert(test=test):
            return ast.unparse(test)
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            return f"not ({ast.unparse(test)})"
    return None
