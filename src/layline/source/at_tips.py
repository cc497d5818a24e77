"""Parts of an answer that were found at one upstream commit, believed at another that says the same to all they read.

A day of upstream changes few of the files that a row looks into. Of each part the last few tips are kept, each with its
reads (`source.seen`), and held against the tip that is asked about (`source.shift`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from layline.core.evidence import Evidence
from layline.errors import Error
from layline.source.seen import Asked, Read

if TYPE_CHECKING:
    from layline.source.memos import Memos
    from layline.source.shift import Shift

T = TypeVar("T")
Plain: TypeAlias = dict[str, Any]
Stamp: TypeAlias = Callable[[Evidence | None], Evidence | None]
"""The same lines, read at the tip that is asked about, wherever they stand there."""
_ASKED = frozenset(
    {Asked.LOST, Asked.FATE, Asked.THERE, Asked.PASSED, Asked.CALLS, Asked.PASSING, Asked.STARTS, Asked.HELD, Asked.KEY}
)
"""Noted with what was answered: asked again."""
AT_ONCE = 64
"""So many parts are read together: faster than one by one, and all of them would be held at once."""
_TIPS = 3
"""So many tips are kept of each part: a branch or two, and the day before."""


@dataclass(slots=True, eq=False)
class AtTips:
    """Recalls parts by their keys, and keeps what is found now."""

    memos: Memos
    tip: str
    open_shift: Callable[[str], Shift]
    """What another tip says differently."""
    ask: Callable[[Read], bool]
    """Whether what was noted with its answer (a lost name, a config key) is so at this tip."""
    ours: Container[str] = ()
    """Paths of our own files."""
    _kept: dict[str, list[Plain]] = field(default_factory=dict)
    _shifts: dict[str, Shift | None] = field(default_factory=dict)

    def load(self, keys: Iterable[str]) -> None:
        """Read what is kept under these keys: many at once are read faster."""
        wanted = [key for key in keys if key not in self._kept]
        found = self.memos.recall(wanted)
        self._kept.update({key: _list_tips(found.get(key)) for key in wanted})

    def find(self, key: str, accept: Callable[[Plain, Stamp], T | None]) -> T | None:
        """The first kept value that holds at this tip; `accept` decodes it, given what stamps its evidence."""
        self.load([key])
        for one in self._kept[key]:
            try:
                found = accept(self._move(one), partial(self._stamp, one)) if self._holds(one) else None
            except LookupError:  # lines that have moved apart
                found = None
            if found is not None:
                if self.memos.compare is None:
                    del self._kept[key]  # who asks again reads it again
                return found
        return None

    def _stamp(self, one: Plain, evidence: Evidence | None) -> Evidence | None:
        was = one["tip"]
        if evidence is None or evidence.commit != was:
            return evidence
        lines, shift = evidence.lines, self._find_shift(was) if was != self.tip else None
        if shift is not None and lines is not None and evidence.path is not None:
            lines = shift.move(evidence.path, lines, _decode(one["reads"]))
        return replace(evidence, commit=self.tip, lines=lines)

    def keep(self, key: str, value: Plain, reads: Iterable[Read]) -> None:
        """Hold a value found now for `save`, in front of those of other tips."""
        self.load([key])
        fresh = {"tip": self.tip, "reads": _encode(reads), "value": value, "at": sorted(set(_find_lines(value)))}
        others = [one for one in self._kept[key] if one["tip"] != self.tip]
        self._kept[key] = [fresh, *others][:_TIPS]
        self.memos.keep(key, {"tips": self._kept[key]})

    def _holds(self, one: Plain) -> bool:
        if one["tip"] == self.tip:
            return True
        shift = self._find_shift(one["tip"])
        try:
            return (
                shift is not None
                and all(self._find_line(shift, path, line) is not None for path, line in one["at"])
                and all(self.ask(read) if read[0] in _ASKED else shift.keeps(read) for read in _decode(one["reads"]))
            )
        except (LookupError, ValueError):  # a text that is not in this clone, or a row of another shape
            return False

    def _find_line(self, shift: Shift, path: str, line: int) -> int | None:
        """Where a told line stands at this tip; of a path that both sides have it is not known whose is told."""
        found = shift.find_line(path, line)
        return None if found != line and path in self.ours else found

    def _move(self, one: Plain) -> Plain:
        """The value with the lines that it tells where they stand at this tip."""
        shift = self._find_shift(one["tip"]) if one["tip"] != self.tip else None
        found = {(path, line): shift.find_line(path, line) for path, line in one["at"]} if shift is not None else {}
        moved = {at: line for at, line in found.items() if line is not None and line != at[1]}
        value: Plain = _put_lines(one["value"], moved) if moved else one["value"]
        return value

    def _find_shift(self, tip: str) -> Shift | None:
        if tip not in self._shifts:
            try:
                self._shifts[tip] = self.open_shift(tip)
            except Error:  # the commit is no longer here
                self._shifts[tip] = None
        return self._shifts[tip]


def _list_tips(plain: Plain | None) -> list[Plain]:
    listed = plain.get("tips") if plain is not None else None
    names = {"tip", "reads", "value", "at"}
    return [one for one in listed if isinstance(one, dict) and one.keys() >= names] if isinstance(listed, list) else []


def _find_lines(value: object) -> Iterator[tuple[str, int]]:
    """Files and lines that a value tells, evidence apart: that is stamped."""
    match value:
        case {"path": str() as path, "line": int() as line}:
            yield path, line
        case {"commit": _, "lines": _}:
            return
        case dict():
            yield from (found for one in value.values() for found in _find_lines(one))
        case list():
            yield from (found for one in value for found in _find_lines(one))
        case str():
            yield from ((found[1], int(found[2])) for found in _LINE.finditer(value))


def _put_lines(value: Any, moved: dict[tuple[str, int], int]) -> Any:
    """A value with other lines in the places of `_find_lines`."""
    match value:
        case {"path": str() as path, "line": int() as line}:
            return {**value, "line": moved.get((path, line), line)}
        case {"commit": _, "lines": _}:
            return value
        case dict():
            return {name: _put_lines(one, moved) for name, one in value.items()}
        case list():
            return [_put_lines(one, moved) for one in value]
        case str():
            return _LINE.sub(lambda found: f"{found[1]}:{moved.get((found[1], int(found[2])), found[2])}", value)
    return value


_LINE = re.compile(r"([^\s:]+\.py):(\d+)")


def _encode(reads: Iterable[Read]) -> dict[str, list[str]]:
    """By kind; where all of a module is read, it need not be said that it is there."""
    found: dict[str, list[str]] = {}
    listed = set(reads)
    for asked, what in sorted(listed):
        if asked is not Asked.ENTRY or (Asked.MODULE, what) not in listed:
            found.setdefault(asked.value, []).append(what)
    return found


def _decode(plain: dict[str, list[str]]) -> Iterator[Read]:
    """Cheap questions first: a lost name is followed through history."""
    order = {kind: place for place, kind in enumerate(Asked)}
    for kind in sorted(map(Asked, plain), key=order.__getitem__):
        yield from ((kind, what) for what in plain[kind.value])
