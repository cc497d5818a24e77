"""What is new between two answers about the same backend: broke, mended, became safe, can go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class News(StrEnum):
    BROKE = "broke"
    MENDED = "mended"
    SAFE = "safe"
    """Nothing of ours breaks at the tip any more."""
    CAN_GO = "can-go"
    """A patch is no longer needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One thing about one place, as it is remembered."""

    place: str
    target: str
    culprit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What an answer said about one backend."""

    pin: str
    tip: str
    broken: dict[str, Place] = field(default_factory=dict)
    can_go: dict[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One message."""

    kind: News
    backend: str
    place: str = ""
    target: str = ""
    culprit: str | None = None


def find_news(backend: str, last: Remembered, now: Remembered) -> Iterator[Event]:
    """Each thing once; lines that only moved are no news, for a place is known by its file, target and way."""
    yield from _added(News.BROKE, backend, last.broken, now.broken)
    yield from _added(News.MENDED, backend, now.broken, last.broken)
    if last.broken and not now.broken:
        yield Event(kind=News.SAFE, backend=backend, target=now.tip)
    yield from _added(News.CAN_GO, backend, last.can_go, now.can_go)


def _added(kind: News, backend: str, old: Mapping[str, Place], new: Mapping[str, Place]) -> Iterator[Event]:
    for key in sorted(new.keys() - old.keys()):
        one = new[key]
        yield Event(kind=kind, backend=backend, place=one.place, target=one.target, culprit=one.culprit)
