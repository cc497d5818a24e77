"""All probes of the CPU's gate, in the order they are made. A new one is a function and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.measure.probes import calls
from layline.campaign.measure.probes.error import probe_contract, probe_errors
from layline.campaign.measure.probes.probe import OnTrial, Probe, Shown
from layline.campaign.measure.probes.special import probe_special
from layline.campaign.measure.probes.values import probe_values
from layline.campaign.measure.sanitize import probe_memory_use

if TYPE_CHECKING:
    from layline.campaign.measure.arm import LiveLeg, Setup

    Trial = OnTrial[Setup, LiveLeg]

CANDIDATE, SANITIZER, MISUSE = "a candidate beside the best", "AddressSanitizer", "arguments that do not fit"


def show_inputs(on: Trial) -> Shown:
    operator = on.stage.operator
    calls.probe_inputs(on.stage, on.trial, on.rng)
    yield "hard-inputs", f"{', '.join(operator.distributions)} on every shape"
    yield "follows-inputs", "every input of every pass: one element changed, two elements swapped, twice"
    if operator.exact is not None:
        yield "exact-integers", f"distribution {operator.exact} on every shape"
    if on.stage.mode is not None:
        yield "floating-point-mode", f"mode 0x{on.stage.mode:08x} at load and after every request"


def show_held_out(on: Trial) -> Shown:
    calls.probe_held_out(on.stage, on.trial, on.rng)
    yield "held-out-shape", f"neighbours of {len(on.stage.shapes)} shapes, far and empty extents, a walk through sizes"


def show_repetition(on: Trial) -> Shown:
    calls.probe_repetition(on.stage, on.trial, on.rng)
    yield "repeatable", "the same calls made again, on every core there is"


def show_memory(on: Trial) -> Shown:
    calls.probe_memory(on.stage, on.trial, on.rng)
    yield "bounded-memory", "memory, threads and open files counted over blocks of calls"


def show_memory_use(on: Trial) -> Shown:
    weaker = probe_memory_use(on.stage, on.snapshot, on.rng)
    if weaker:
        on.left_out["memory-use"] = weaker
        return
    yield "memory-safe", "AddressSanitizer, every shape and its neighbours, one call of each pass"


def show_stalls(on: Trial) -> Shown:
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    calls.probe_stalls(on.stage, on.trial, on.best, on.rng)
    yield "gain-in-the-mean", "a series of single calls of both kernels in turns"
    probe_values(on.stage, on.trial, on.best, on.rng)


def show_against_start(on: Trial) -> Shown:
    assert on.open_start is not None  # noqa: S101  as above
    with on.open_start() as start:
        on.yardstick = probe_errors(on.stage, on.trial, start, on.rng)
        yield from probe_special(on.stage, on.trial, start, on.rng)
        if on.stage.operator.misuse is not None:
            probe_contract(on.stage, on.trial, start, on.rng)
            yield "keeps-contract", "arguments that do not fit one another, given to both kernels"


def show_state(on: Trial) -> Shown:
    assert on.best is not None  # noqa: S101  as above
    on.carried = calls.probe_state(on.stage, on.trial, on.best, on.rng)
    yield from ()


PROBES: tuple[Probe[Setup, LiveLeg], ...] = (
    Probe(name="inputs", run=show_inputs),
    Probe(name="held-out shapes", run=show_held_out),
    Probe(name="repetition", run=show_repetition),
    Probe(name="memory", run=show_memory),
    Probe(name="memory-use", run=show_memory_use, needs=frozenset({SANITIZER})),
    Probe(name="stalls and values", run=show_stalls, needs=frozenset({CANDIDATE})),
    Probe(name="against the start", run=show_against_start, needs=frozenset({CANDIDATE})),
    Probe(name="state", run=show_state, needs=frozenset({CANDIDATE})),
)
