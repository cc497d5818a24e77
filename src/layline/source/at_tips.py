"""Parts of an answer that were found at one upstream commit, believed at another that says the same to all they read.

A day of upstream changes few of the files that a row looks into. Of each part the last few tips are kept, each with its
reads (`source.seen`), and held against the tip that is asked about (`source.shift`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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
_ASKED = frozenset({Asked.LOST, Asked.FATE, Asked.THERE, Asked.PASSED, Asked.STARTS, Asked.HELD, Asked.KEY})
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
                found = accept(one["value"], partial(self._stamp, one)) if self._holds(one) else None
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
        fresh = {"tip": self.tip, "reads": _encode(reads), "value": value, "at": sorted(set(_find_paths(value)))}
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
                and not any(map(shift.has_moved, one["at"]))
                and all(self.ask(read) if read[0] in _ASKED else shift.keeps(read) for read in _decode(one["reads"]))
            )
        except (LookupError, ValueError):  # a text that is not in this clone, or a row of another shape
            return False

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


def _find_paths(value: object) -> Iterator[str]:
    """Files whose lines a value tells, evidence apart: that is stamped."""
    match value:
        case {"path": str() as path, "line": int()}:
            yield path
        case {"commit": _, "lines": _}:
            return
        case dict():
            yield from (path for one in value.values() for path in _find_paths(one))
        case list():
            yield from (path for one in value for path in _find_paths(one))
        case str():
            yield from (found[1] for found in _LINE.finditer(value))


_LINE = re.compile(r"([^\s:]+\.py):\d+")


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
