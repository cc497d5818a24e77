"""Put the fastest setting of each pass together, where a structure's knobs belong to one pass each. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from layline.campaign.proposers.knobs import find_knobs, set_knobs
from layline.campaign.proposers.screened import TODAY, Screened


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A setting nobody looked at as a whole, but at each of whose passes somebody did."""

    name: str
    text: str
    score: float
    """What the passes' times add up to: mean log milliseconds over shapes, as `Screened.score`."""


def compose(looked: Sequence[Screened], texts: Mapping[str, str]) -> Iterator[Composed]:
    """One per structure whose knobs all name their pass: each pass as in the setting that was fastest there.

    A look at N settings is then a look at N settings of every pass, and the best of their combinations is found without
    trying them all.
    """
    structures: dict[str, list[Screened]] = {}
    for item in looked:
        if item.times and not item.is_out and item.name in texts:
            structures.setdefault(_bare(texts[item.name]), []).append(item)
    for items in structures.values():
        knobs = tuple(find_knobs(texts[items[0].name]))
        if not knobs or any(not knob.step for knob in knobs):
            continue
        winners = {step: min(items, key=lambda item: _log_time(item, step)) for step in {knob.step for knob in knobs}}
        setting = {
            knob.name: knob.value
            for step, item in winners.items()
            for knob in find_knobs(texts[item.name])
            if knob.step == step
        }
        text = set_knobs(texts[items[0].name], setting)
        told = " ".join(f"{knob.name}={knob.value}" for knob in find_knobs(text))
        name = next((item.name for item in items if item.name != TODAY), TODAY).split()[0]
        yield Composed(name=f"{name} {told}", text=text, score=_add_up(items, winners))


def _bare(text: str) -> str:
    """The same for all settings of one structure."""
    return set_knobs(text, {knob.name: 0 for knob in find_knobs(text)})


def _log_time(item: Screened, step: str) -> float:
    """Mean over shapes of one pass's log milliseconds."""
    logs = [math.log(ms) for of, _shape, ms in item.times if of == step]
    return math.fsum(logs) / len(logs) if logs else math.inf


def _add_up(items: Sequence[Screened], winners: Mapping[str, Screened]) -> float:
    sums: dict[str, float] = {}
    for step, shape, _ms in items[0].times:
        item = winners.get(step, items[0])  # a pass no knob belongs to is the same in all of them
        sums[shape] = sums.get(shape, 0.0) + next(ms for of, at, ms in item.times if (of, at) == (step, shape))
    return math.fsum(math.log(total) for total in sums.values()) / len(sums)
