"""Since when upstream does not know a key of our configuration: the commit that dropped or renamed its field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.change.surface import StaleKey
    from layline.history.timeline import Timeline

_FIELD = re.compile(rb"^[ \t]+(\w+)[ \t]*:(?!:)|[\"']--([\w-]+)[\"']", re.MULTILINE)
"""A field with its annotation, or a flag."""
_MOST = 20
"""Commits whose whole configuration is read to decide between several that drop a field of the name."""


def name_losses(
    stale: Iterable[StaleKey],
    timeline: Timeline,
    read: Callable[[str], bytes],
    known_at: Callable[[str], Collection[str]],
) -> Iterator[StaleKey]:
    """The same keys, each with the commit after which it is unknown. `read` gives a blob, `known_at` every key that a
    commit knows.
    """
    keys = list(stale)
    wanted = {word for one in keys for word in one.key.split(".")[-2:]}
    dropping = _find_dropping(timeline, read, wanted)
    asked: dict[int, Collection[str]] = {}
    """Step → what is known after it."""
    for one in keys:
        steps = sorted({step for word in one.key.split(".")[-2:] for step in dropping.get(word, ())})
        while len(steps := _narrow(steps, one.key, asked)) > 1 and len(asked) < _MOST:
            middle = steps[(len(steps) - 1) // 2]
            asked[middle] = known_at(timeline.steps[middle].commit)
        yield replace(one, culprit=timeline.steps[steps[0]].commit if len(steps) == 1 else None)


def _narrow(steps: list[int], key: str, asked: Mapping[int, Collection[str]]) -> list[int]:
    """The steps that may have dropped the key, by what is known of others: it is not there again once it is gone."""
    last = max((step for step, known in asked.items() if key in known), default=-1)
    first = min(
        (step for step, known in asked.items() if key not in known and step > last),
        default=len(steps) + max(steps, default=0),
    )
    return [step for step in steps if last < step <= first]


def _find_dropping(timeline: Timeline, read: Callable[[str], bytes], wanted: set[str]) -> Mapping[str, list[int]]:
    """Word → the steps in which a file has fewer fields of that name than before."""

    @cache
    def fields(blob: str | None) -> Counter[str]:
        words = (
            (name or flag.replace(b"-", b"_")).decode() for name, flag in _FIELD.findall(read(blob) if blob else b"")
        )
        return Counter(word for word in words if word in wanted)

    found: dict[str, list[int]] = {}
    for number, step in enumerate(timeline.steps):
        for change in step.changes:
            for word in fields(change.before) - fields(change.after):
                found.setdefault(word, []).append(number)
    return found
