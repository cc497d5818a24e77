"""How large the work of an upgrade is at least: the lines of ours that stand on what breaks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.why import Reason
from layline.coupling.model import Consequence, Touch
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.core.why import Why
    from layline.coupling.model import Coupling

_NONE: Mapping[str, frozenset[str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """A lower bound: what has to be read again, line by line."""

    lines: int
    """Lines that break, and lines that use an imported name which is gone."""
    files: int


def find_lost(couplings: Iterable[Coupling]) -> dict[str, frozenset[str]]:
    """Places with the names that have to leave them: imported names that the tip has nowhere under the same name, and
    keywords that a call no longer takes.
    """
    found: dict[str, set[str]] = {}
    for one in couplings:
        if one.consequence is Consequence.WILL_BREAK:
            found.setdefault(str(one.location), set()).update(_name_lost(one))
    return {place: frozenset(names) for place, names in found.items()}


def _name_lost(one: Coupling) -> Iterator[str]:
    name = one.target.rpartition(".")[2]
    if one.touch is Touch.IMPORT and (one.new_target or "").rpartition(".")[2] != name:
        yield name
    yield from _find_refused(one.why)


def _find_refused(reasons: Iterable[Why]) -> Iterator[str]:
    for why in reasons:
        if why.reason is Reason.REFUSES_KEYWORD:
            yield why.name
        if why.reason is Reason.NEEDS_CALLED:
            yield why.other
        yield from _find_refused(why.parts)


def measure_effort(
    read: Callable[[str], str | Skipped], places: Iterable[str], lost: Mapping[str, frozenset[str]] = _NONE
) -> Effort:
    """Count the lines behind places (`file:line`); a file that does not parse counts its places only. `lost`: places
    with the names that have to leave them.
    """
    wanted: dict[str, dict[int, frozenset[str]]] = {}
    for place in places:
        path, _, line = place.rpartition(":")
        wanted.setdefault(path, {})[int(line) if line.isdigit() else 1] = lost.get(place, frozenset())
    total = 0
    for path, lines in wanted.items():
        text = read(path)
        total += len(find_lines(text, lines) if isinstance(text, str) and path.endswith(".py") else lines)
    return Effort(lines=total, files=len(wanted))


def find_lines(text: str, places: Mapping[int, frozenset[str]]) -> set[int]:
    """These lines, and every use of a lost name that one of them imports; of a call, the lines of its lost keywords."""
    file = _read_file(text)
    if file is None:
        return set(places)
    keywords: dict[int, set[int]] = {}
    for call, name, line in file.keywords:
        if name in places.get(call, ()):
            keywords.setdefault(call, set()).add(line)
    bound = {name for node in file.imports for name in _bind(node, places)}
    uses = {line for name in bound for line in file.names.get(name, ())}
    return uses.union(*(keywords.get(line) or {line} for line in places))


@dataclass(frozen=True, slots=True)
class _File:
    keywords: list[tuple[int, str | None, int]]
    """Line of a call, and each keyword that it passes with its line."""
    imports: list[ast.Import | ast.ImportFrom]
    names: dict[str, set[int]]
    """Names with the lines that hold them."""


@lru_cache(maxsize=128)
def _read_file(text: str) -> _File | None:
    """Each change that asks something of us looks at files that others have looked at; None for what is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = _File([], [], {})
    for node in walk(tree):
        match node:
            case ast.Name(id=name):
                found.names.setdefault(name, set()).add(node.lineno)
            case ast.Call(keywords=words):
                found.keywords.extend((node.lineno, one.arg, one.lineno) for one in words)
            case ast.Import() | ast.ImportFrom():
                found.imports.append(node)
    return found


def _bind(statement: ast.Import | ast.ImportFrom, places: Mapping[int, frozenset[str]]) -> Iterator[str]:
    """What lost names are called in the file that imports them at one of these lines."""
    for alias in statement.names:
        lost = places.get(alias.lineno, frozenset()) | places.get(statement.lineno, frozenset())
        if alias.name.rpartition(".")[2] in lost:
            yield (alias.asname or alias.name).partition(".")[0]
