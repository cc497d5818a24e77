"""What holds the working kernel back, shape by shape, from its own figures: nothing is assumed about the machine. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layline.campaign.model import Operator, Shape
from layline.campaign.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What holds one shape back, with the figures it was read from."""

    shape: str
    rate: float
    """GFLOP/s of the whole step."""
    intensity: float
    """FLOPs per byte that must move."""
    reading: str
    roof_share: float | None = None
    """Of the least of both measured ceilings at this intensity; None where nobody measured them."""


def find_bounds(state: State, operator: Operator) -> Iterator[Bound]:
    """Read from the newest full picture of the best: its own figures per shape, nothing assumed about the machine."""
    shapes = {shape.label: shape for shape in operator.shapes}
    times = {
        label: ms for label, ms in _best_times(state).items() if label in shapes
    }  # controls have shapes of their own
    rows = [
        (label, _flops(operator, shapes[label]), _bytes(operator, shapes[label]), ms) for label, ms in times.items()
    ]
    rates = {label: flops / ms / 1e6 for label, flops, _moved, ms in rows if ms > 0}
    top = max(rates.values(), default=0.0)
    for label, flops, moved, ms in sorted(rows, key=lambda row: row[1]):
        rate, intensity = rates[label], flops / moved
        yield Bound(shape=label, rate=rate, intensity=intensity, reading=_read_bound(rate / top, intensity, ms))


def _read_bound(share: float, intensity: float, ms: float) -> str:
    if share >= 0.8:
        return "as fast as this kernel gets: a better inner loop helps all shapes"
    if ms < 0.05:
        return f"{share:.0%} of the best shape's rate and only {ms * 1000:.0f} µs long: overhead per call (packing, set-up, tails) counts"
    if intensity < 8:
        return f"{share:.0%} of the best shape's rate at {intensity:.1f} FLOP/byte: memory traffic counts"
    return f"{share:.0%} of the best shape's rate though intense enough: blocking or tails do not suit its extents"


def _best_times(state: State) -> dict[str, float]:
    """Milliseconds of a step of the working kernel, by shape, from the last run that measured it."""
    for item in reversed(state.rounds):
        run = item.last_run
        if run is None or state.best.number not in {item.best, item.number}:
            continue
        leg = "candidate" if item.number == state.best.number and item.number > 1 else "best"
        found: dict[str, dict[str, list[float]]] = {}
        for sample in run.measurement.samples:
            if sample.leg.value == leg:
                found.setdefault(sample.shape, {}).setdefault(sample.step, []).append(sample.cpu.low)
        if found:
            return {shape: sum(min(values) for values in steps.values()) for shape, steps in found.items()}
    return {}


def _flops(operator: Operator, shape: Shape) -> float:
    return sum(step.flops(shape) for step in operator.passes)


def _bytes(operator: Operator, shape: Shape) -> float:
    return max(1.0, sum(step.bytes_moved(shape) for step in operator.passes))
