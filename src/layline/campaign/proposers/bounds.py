"""What holds the working kernel back: its place under the measured roof, how it scales over shapes, counters. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from layline.campaign.devices.device import PROCESSOR
from layline.campaign.devices.roof import is_roof_wrong
from layline.campaign.ledger.state import State
from layline.campaign.values.operator import Operator, Shape

OVERHEAD_SHARE = 0.3
"""Share of a step that an empty call costs, above which calls are what is slow."""
NEAR_ROOF = 0.8
EVEN = 1.5
"""Shapes whose rates differ by less than this factor are held back by the same thing."""
LOW_CYCLES = 1.0
"""Instructions per cycle under which the core mostly waits."""
_SHARES = (
    ("dram_percent", "device memory"),
    ("l2_percent", "L2"),
    ("sm_percent", "processors"),
    ("warps_percent", "warps active"),
)


class BottleneckKind(StrEnum):
    """The specification's classes."""

    COMPUTE = "compute"
    MEMORY = "memory"
    OVERHEAD = "overhead"
    SHAPE = "shape"
    """Fast on some extents and slow on others that need the same things: blocking and tails."""
    ROOF = "roof"
    """Nothing: the machine allows no more."""
    UNKNOWN = "unknown"


DIRECTIONS = {
    BottleneckKind.COMPUTE: "register tiles, vector width, unrolling, fewer redundant operations",
    BottleneckKind.MEMORY: "layout, blocking for the caches, prefetch, fewer passes over the data",
    BottleneckKind.OVERHEAD: "less set-up and packing per call, fewer launches, smaller tails",
    BottleneckKind.SHAPE: "tiles and blocks that suit the slow extents, tails as wide as the rest",
    BottleneckKind.ROOF: "another algorithm, or another precision, or stop",
    BottleneckKind.UNKNOWN: "measure first: `layline campaign brief --measure`",
}


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
    kind: BottleneckKind = BottleneckKind.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What holds the kernel back on the whole, why that is believed, and what usually helps."""

    kind: BottleneckKind
    evidence: tuple[str, ...]
    direction: str
    missing: tuple[str, ...] = ()
    """What this machine could not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """One shape of the working kernel as it was last measured."""

    shape: str
    ms: float
    flops: float
    moved: float
    overhead_ms: float

    @property
    def rate(self) -> float:
        """FLOP per second."""
        return self.flops / self.ms * 1e3 if self.ms > 0 else 0.0

    @property
    def intensity(self) -> float:
        return self.flops / self.moved


def find_bounds(state: State, operator: Operator) -> Iterator[Bound]:
    """Every shape of the newest picture of the best, smallest first."""
    figures = _read_figures(state, operator)
    top = max((one.rate for one in figures), default=0.0)
    roof = _read_roof(state)
    for one in sorted(figures, key=lambda one: one.flops):
        share = one.rate / min(roof[0], one.intensity * roof[1]) if roof else None
        if share is not None and is_roof_wrong(share):
            yield _bound_under_wrong_roof(one, one.rate / top)
            continue
        kind, reading = _read_bound(one, one.rate / top if top else 0.0, share, roof)
        yield Bound(
            shape=one.shape, rate=one.rate / 1e9, intensity=one.intensity, reading=reading, roof_share=share, kind=kind
        )


def _bound_under_wrong_roof(one: _Figures, share: float) -> Bound:
    """A shape that is faster than the roof: the roof says nothing about it, the other figures do."""
    kind, reading = _read_bound(one, share, None, None)
    told = f"faster than the measured roof, so the roof is wrong; {reading}"
    return Bound(shape=one.shape, rate=one.rate / 1e9, intensity=one.intensity, reading=told, kind=kind)


def _read_bound(
    one: _Figures, share: float, roof_share: float | None, roof: tuple[float, float] | None
) -> tuple[BottleneckKind, str]:
    overhead = one.overhead_ms / one.ms if one.ms else 0.0
    under = (
        f"{roof_share:.0%} of the measured roof" if roof_share is not None else f"{share:.0%} of the best shape's rate"
    )
    if roof_share is not None and roof_share >= NEAR_ROOF:
        return BottleneckKind.ROOF, f"{under}: nearly all this machine allows"
    if overhead >= OVERHEAD_SHARE:
        return (
            BottleneckKind.OVERHEAD,
            (
                f"{under}; an empty call is {overhead:.0%} of its {one.ms * 1e3:.0f} µs: overhead per call (packing, "
                "set-up, tails) counts"
            ),
        )
    if roof is not None and one.intensity * roof[1] < roof[0]:
        return (
            BottleneckKind.MEMORY,
            f"{under} at {one.intensity:.1f} FLOP/byte, left of the ridge: memory traffic counts",
        )
    if share < 1 / EVEN:
        return (
            BottleneckKind.SHAPE,
            (
                f"{under}, {share:.0%} of the best shape's rate though intense enough: blocking or tails do not suit "
                "its extents"
            ),
        )
    if roof is None:
        return BottleneckKind.UNKNOWN, f"{share:.0%} of the best shape's rate; the machine's ceilings were not measured"
    return (
        BottleneckKind.COMPUTE,
        f"{under}, right of the ridge and as fast as this kernel gets: a better inner loop helps all shapes",
    )


def classify(state: State, operator: Operator, bounds: Sequence[Bound]) -> Bottleneck:
    """The class most shapes are in, weighted by the time they take, with what speaks for it."""
    analysis = state.analysis or {}
    missing = tuple(str(said) for said in analysis.get("missing", ())) or (
        "the machine's ceilings and counters were not measured for this kernel",
    )
    figures = {one.shape: one for one in _read_figures(state, operator)}
    weights: dict[BottleneckKind, float] = {}
    for bound in bounds:
        weights[bound.kind] = weights.get(bound.kind, 0.0) + math.sqrt(figures[bound.shape].ms)
    kind = max(weights, key=lambda one: weights[one]) if weights else BottleneckKind.UNKNOWN
    evidence = [
        *_say_roof(state, bounds),
        *_say_scaling(figures, bounds),
        *_say_counters(analysis),
        *_say_device(analysis, operator),
    ]
    return Bottleneck(
        kind=kind,
        evidence=tuple(evidence),
        direction=DIRECTIONS[kind],
        missing=missing if analysis.get("missing") or not analysis else (),
    )


def _say_roof(state: State, bounds: Sequence[Bound]) -> Iterator[str]:
    roof = _read_roof(state)
    shares = [bound.roof_share for bound in bounds if bound.roof_share is not None]
    if roof and len(shares) < len(bounds):
        above = ", ".join(bound.shape for bound in bounds if bound.roof_share is None)
        yield (
            f"roofline: {roof[0] / 1e9:.0f} GFLOP/s and {roof[1] / 1e9:.0f} GB/s were measured here, but the "
            "kernel is faster "
            f"than that on {above}: the measured roof is wrong, and no share of it is given"
        )
    elif roof and shares:
        yield (
            f"roofline: {roof[0] / 1e9:.0f} GFLOP/s and {roof[1] / 1e9:.0f} GB/s measured here; the kernel reaches "
            f"{min(shares):.0%} to {max(shares):.0%} of it, "
            f"{sum(bound.kind is BottleneckKind.MEMORY for bound in bounds)} "
            f"of {len(bounds)} shapes lie left of the ridge ({roof[0] / roof[1]:.1f} FLOP/byte) and below the roof"
        )


def _say_scaling(figures: Mapping[str, _Figures], bounds: Sequence[Bound]) -> Iterator[str]:
    """The specification's reading of benchmark results alone: efficiency over size."""
    if len(bounds) < 2:
        return
    least, most = bounds[0], bounds[-1]
    factor = most.rate / least.rate if least.rate else math.inf
    sizes = f"{figures[least.shape].flops / 1e6:.2g} and {figures[most.shape].flops / 1e6:.2g} MFLOP"
    spread = max(bound.rate for bound in bounds) / max(1e-12, min(bound.rate for bound in bounds))
    if factor >= EVEN:
        meaning = "efficiency grows with size: overhead per call or poor use of small shapes"
    elif spread < EVEN:
        meaning = "efficiency hardly depends on the shape: the inner loop itself"
    else:
        meaning = "efficiency depends on extents, not on size: blocking and tails"
    yield (
        f"scaling: {most.shape} runs at {factor:.1f} times the rate of {least.shape} ({sizes}), all shapes "
        f"within a factor of {spread:.1f}; {meaning}"
    )


def _say_counters(analysis: Mapping[str, Any]) -> Iterator[str]:
    counters = analysis.get("counters") or {}
    if counters.get("cycles") and counters.get("instructions"):
        per_cycle = counters["instructions"] / counters["cycles"]
        meaning = "the core mostly waits" if per_cycle < LOW_CYCLES else "the core is busy"
        yield f"counters: {per_cycle:.2f} instructions per cycle, {meaning}"
    if counters.get("cache-misses") and counters.get("instructions"):
        yield (
            f"counters: {1e3 * counters['cache-misses'] / counters['instructions']:.2f} last-level misses per "
            "1000 instructions"
        )


def _say_device(analysis: Mapping[str, Any], operator: Operator) -> Iterator[str]:
    """What the accelerator's own profiler counted of one call of every pass, caches cold."""
    counters = analysis.get("counters") or {}
    shape = next((one for one in operator.shapes if one.label == analysis.get("shape")), None)
    for step in operator.passes:
        seen = {name.partition(".")[2]: value for name, value in counters.items() if name.startswith(f"{step.name}.")}
        if shape is None or not {"ns", "read_bytes", "written_bytes"} <= seen.keys():
            continue
        moved, needed = seen["read_bytes"] + seen["written_bytes"], step.bytes_moved(shape)
        shares = [f"{what} {seen[name]:.0f} %" for name, what in _SHARES if name in seen]
        yield (
            f"counters (ncu, {step.name} on {shape.label}): {seen['ns'] / 1e3:.0f} µs in "
            f"{seen.get('kernels', 1):.0f} kernel(s), "
            f"{moved / 1e6:.0f} MB through device memory, {moved / needed:.2f} times what must move; of their peaks: "
            f"{', '.join(shares)}; {seen.get('registers', 0):.0f} registers a thread"
        )


def _read_roof(state: State) -> tuple[float, float] | None:
    if not state.analysis or not state.analysis.get("flops_per_s"):
        return None
    return float(state.analysis["flops_per_s"]), float(state.analysis["bytes_per_s"])


def _read_figures(state: State, operator: Operator) -> list[_Figures]:
    shapes = {shape.label: shape for shape in operator.shapes}
    times, overhead_ms = _best_times(state)
    return [
        _Figures(
            shape=label,
            ms=ms,
            flops=_flops(operator, shapes[label]),
            moved=_bytes(operator, shapes[label]),
            overhead_ms=_overhead_of_step(overhead_ms, ms, len(operator.passes)),
        )
        for label, ms in times.items()
        if label in shapes  # controls have shapes of their own
    ]


def _overhead_of_step(overhead_ms: float, ms: float, passes: int) -> float:
    """An empty request's cost, shared by the calls of a request: short calls are made several to one."""
    calls = min(PROCESSOR.most_calls, max(1.0, PROCESSOR.request_ms / (ms / passes))) if ms else 1.0
    return overhead_ms * passes / calls


def _best_times(state: State) -> tuple[dict[str, float], float]:
    """Milliseconds of a step of the working kernel by shape, from the last run that measured it, and of an empty
    call.
    """
    for item in reversed(state.rounds):
        run = item.last_run
        if run is None or state.best.number not in {item.best, item.number}:
            continue
        leg = "candidate" if item.number == state.best.number and item.number > 1 else "best"
        clock = run.measurement.plan.clock
        found: dict[str, dict[str, list[float]]] = {}
        for sample in run.measurement.samples:
            if sample.leg.value == leg:
                low = (sample.cpu if clock == "cpu" else sample.wall).low
                found.setdefault(sample.shape, {}).setdefault(sample.step, []).append(low)
        if found:
            times = {shape: sum(min(values) for values in steps.values()) for shape, steps in found.items()}
            return times, run.measurement.overhead_ms
    return {}, 0.0


def _flops(operator: Operator, shape: Shape) -> float:
    return sum(step.flops(shape) for step in operator.passes)


def _bytes(operator: Operator, shape: Shape) -> float:
    return max(1.0, sum(step.bytes_moved(shape) for step in operator.passes))
