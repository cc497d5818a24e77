"""Since when upstream does not know a key of our configuration: the commit that dropped or renamed its field."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from layline.source.memos import Memos

if TYPE_CHECKING:
    from layline.change.surface import StaleKey
    from layline.history.timeline import BlobChange, Timeline

_FIELD = re.compile(rb"^[ \t]+(\w+)[ \t]*:(?!:)|[\"']--([\w-]+)[\"']", re.MULTILINE)
"""A field with its annotation, or a flag."""
_MOST = 20
"""Commits whose whole configuration is read to decide between several that drop a field of the name."""


def name_losses(
    stale: Iterable[StaleKey],
    timeline: Timeline,
    read: Callable[[str], bytes],
    known_at: Callable[[str], Collection[str]],
    memos: Memos | None = None,
) -> Iterator[StaleKey]:
    """The same keys, each with the commit after which it is unknown. `read` gives a blob, `known_at` every key that a
    commit knows; `memos` keep which fields a step drops.
    """
    keys = list(stale)
    wanted = {word for one in keys for word in one.key.split(".")[-2:]}
    dropping = _find_dropping(timeline, read, wanted, memos or Memos())
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


def _find_dropping(
    timeline: Timeline, read: Callable[[str], bytes], wanted: set[str], memos: Memos
) -> Mapping[str, list[int]]:
    """Word → the steps in which a file has fewer fields of that name than before."""
    keys = [memos.key("dropped", [[one.before, one.after] for one in step.changes]) for step in timeline.steps]
    kept = memos.recall(keys)
    missing = [number for number, key in enumerate(keys) if key not in kept or memos.compare is not None]
    for number, words in _read_dropped(timeline, missing, read).items():
        fresh = {"words": sorted(words)}
        if memos.compare is not None:
            memos.compare(f"fields dropped in {timeline.steps[number].commit}", kept.get(keys[number]), fresh)
        kept[keys[number]] = fresh
        memos.keep(keys[number], fresh)
    memos.save()
    found: dict[str, list[int]] = {}
    for number, key in enumerate(keys):
        for word in wanted.intersection(kept[key]["words"]):
            found.setdefault(word, []).append(number)
    return found


def _read_dropped(timeline: Timeline, steps: Iterable[int], read: Callable[[str], bytes]) -> dict[int, set[str]]:
    """Of each of these steps every field that a file has fewer of than before."""

    @lru_cache(maxsize=4)
    def fields(blob: str | None) -> Counter[str]:
        found = _FIELD.findall(read(blob) if blob else b"")
        return Counter((name or flag.replace(b"-", b"_")).decode() for name, flag in found)

    found: dict[int, set[str]] = {number: set() for number in steps}
    by_path: dict[str, list[tuple[int, BlobChange]]] = {}
    for number in found:
        for change in timeline.steps[number].changes:
            by_path.setdefault(change.path, []).append((number, change))
    for changes in by_path.values():  # file by file: what one change leaves is what the next one finds
        for number, change in changes:
            then, now = fields(change.before), fields(change.after)
            found[number].update(then - now)
    return found
