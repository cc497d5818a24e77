"""All probes of the gate on an accelerator, in the order they are made. A new one is a function and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.measure.gpu import probes
from layline.campaign.measure.probes.probe import OnTrial, Probe, Shown

if TYPE_CHECKING:
    from layline.campaign.measure.gpu.arm import GpuLeg
    from layline.campaign.measure.gpu.session import Stage

    Trial = OnTrial[Stage, GpuLeg]

CANDIDATE, SANITIZER, MODE = "a candidate beside the best", "a sanitizer", "a floating-point mode of the host"


def show_inputs(on: Trial) -> Shown:
    operator = on.stage.operator
    probes.probe_inputs(on.stage, on.trial)
    yield "hard-inputs", f"{', '.join(operator.distributions)} on the smallest shape, two on the others"
    yield "follows-inputs", "one element changed, twice on every shape; two swapped in every input of the smallest"
    if operator.exact is not None:
        yield "exact-integers", f"distribution {operator.exact} on the smallest shape"


def show_order(on: Trial) -> Shown:
    probes.probe_order(on.stage, on.trial)
    yield (
        "stream-order",
        "inputs written and outputs read on the caller's stream round a call, nobody waiting, three times",
    )


def show_held_out(on: Trial) -> Shown:
    probes.probe_held_out(on.stage, on.trial)
    yield "held-out-shape", f"neighbours of {len(on.stage.shapes)} shapes, far and empty extents, a walk through sizes"


def show_repetition(on: Trial) -> Shown:
    probes.probe_repetition(on.stage, on.trial)
    yield "repeatable", "the same calls made again on the smallest shape"


def show_against_start(on: Trial) -> Shown:
    assert on.open_start is not None  # noqa: S101  the probe needs a candidate
    with on.open_start() as start:
        on.yardstick = probes.probe_errors(on.stage, on.trial, start)
        made = probes.probe_special(on.stage, on.trial, start)
    yield "special-values", f"{made} calls of both kernels with one NaN or infinite element"


def show_stalls(on: Trial) -> Shown:
    assert on.best is not None  # noqa: S101  as above
    probes.probe_stalls(on.stage, on.trial, on.best)
    yield "gain-in-the-mean", "a series of requests of both kernels in turns"


def show_state(on: Trial) -> Shown:
    assert on.best is not None  # noqa: S101  as above
    on.carried = probes.probe_state(on.stage, on.trial, on.best)
    yield from ()


def show_nothing(_on: Trial) -> Shown:
    yield from ()


PROBES: tuple[Probe[Stage, GpuLeg], ...] = (
    Probe(name="inputs", run=show_inputs),
    Probe(name="stream order", run=show_order),
    Probe(name="held-out shapes", run=show_held_out),
    Probe(name="repetition", run=show_repetition),
    Probe(name="memory-use", run=show_nothing, needs=frozenset({SANITIZER})),
    Probe(name="floating-point mode", run=show_nothing, needs=frozenset({MODE})),
    Probe(name="against the start", run=show_against_start, needs=frozenset({CANDIDATE})),
    Probe(name="stalls", run=show_stalls, needs=frozenset({CANDIDATE})),
    Probe(name="state", run=show_state, needs=frozenset({CANDIDATE})),
)
