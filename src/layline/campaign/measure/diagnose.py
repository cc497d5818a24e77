"""The most telling name for a wrong answer: the same call is made again, elsewhere, alone, or after other inputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from layline.campaign.devices.device import Arrays, Filled, Memory, Place, Reply, Taken
from layline.campaign.devices.faults import Fault
from layline.campaign.measure.given import Given
from layline.campaign.measure.oracle import Close, Wrong
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_inputs, describe_shape
from layline.campaign.values.operator import Shape

BEFORE = 3
"""Calls told of beside a wrong one that an earlier call is to blame for."""
FRESH_PROCESSES = 4
_DEPENDS = {
    "follows-inputs": "depends on what was in the same memory before: the answer for the same inputs changes with it.",
    "stream-order": "is right where its inputs are in place before the call, and wrong where the stream writes them later.",
    "repeatable": "gives different answers for the same inputs, by more than rounding.",
}


@dataclass(slots=True)
class Remembered:
    """What an arm remembers to recognise a replay."""

    places: dict[tuple[str, str], tuple[Place, ...]] = field(default_factory=dict)
    outputs: deque[int] = field(default_factory=lambda: deque(maxlen=600))
    stuck: set[tuple[str, str]] = field(default_factory=set)
    """Passes and shapes whose queued calls waited for the device."""
    calls: deque[tuple[str, Shape]] = field(default_factory=lambda: deque(maxlen=BEFORE))
    """The last calls that were right."""


class Maker(Protocol):
    """Whoever can make a call again."""

    stage: Stage
    memory: Memory
    worker: Any
    remembered: Remembered
    open_fresh: Callable[[int], Any] | None
    """One like it in a new process, with so much memory."""

    def make(self, filled: tuple[Filled, ...], spin: int) -> tuple[Reply, Taken]: ...
    def copy(self, output: Arrays) -> Arrays: ...
    def compare(self, filled: Filled, outputs: Arrays, right: Arrays, *, is_exact: bool) -> list[Close | Wrong]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A call whose answer is wrong, and what is known of it."""

    wrong: Wrong
    filled: Filled
    outputs: Arrays
    given: Given
    taken: Taken


def diagnose(arm: Maker, suspect: Suspect) -> Fault:
    """Why it is wrong, as far as making it again can tell."""
    wrong, filled, given = suspect.wrong, suspect.filled, suspect.given
    where = f"{filled.step.symbol} on {describe_shape(filled.shape)}"
    evidence = (wrong.reason, *wrong.evidence, f"inputs: {describe_inputs(given.kind)}")
    before = {name: arm.stage.device.values.digest(output) for name, output in suspect.outputs.items()}
    arm.worker.settle(arm.stage.device.pace.settle_s)
    late = list(suspect.taken.find_changes())
    if late:
        return Fault("late-write", f"{where} went on writing after it had returned.", *late, *evidence)
    for property_, what in arm.memory.find_trespass(filled):
        if property_ == "input-modified":
            return Fault(property_, f"{where}: {what}.", *evidence)
    copied = _find_copy(arm, suspect, before)
    if copied:
        return Fault(copied[0], f"{where} returned {copied[1]}.", *evidence)
    if given.after:
        changed = f"made right after {given.after} had the same inputs there, does not follow a change between them"
        return Fault("follows-inputs", f"{where}, {changed}: {wrong.reason}", *evidence)
    dependence = _find_dependence(arm, suspect) if wrong.property == "correct" else ""
    if dependence:
        return Fault(dependence, f"{where} {_DEPENDS[dependence]}", *evidence)
    property_ = _name(arm, wrong.property, given)
    drawn = f", inputs {describe_inputs(given.kind)}" if property_ == "hard-inputs" else ""
    alone = _try_alone(arm, filled) if arm.worker.replies > 2 else ""
    calls = arm.remembered.calls
    before_it = "; ".join(f"{symbol} on {describe_shape(shape)}" for symbol, shape in reversed(calls))
    told = (f"the calls before it, the latest first: {before_it}",) if before_it else ()
    return Fault(property_, f"{where}{drawn}: {wrong.reason}{alone}", *evidence, *told)


def _find_copy(arm: Maker, suspect: Suspect, before: dict[str, int]) -> tuple[str, str] | None:
    """An output that is an earlier call's, or an input: the property's name and what was returned."""
    filled, outputs = suspect.filled, suspect.outputs
    for name in filled.step.outputs:
        if arm.stage.device.values.count(outputs[name]) > 1 and before[name] in arm.remembered.outputs:
            return "replay", f"an earlier call's {name} for new inputs"
        for source in filled.step.inputs:
            if arm.stage.device.values.starts_with(outputs[name], filled.inputs[source]):
                return "passthrough", f"the input {source} as {name}"
    return None


def _find_dependence(arm: Maker, suspect: Suspect) -> str:
    """What else than its inputs a wrong answer depends on: when they are brought (`stream-order`), an earlier call
    (`follows-inputs`), chance (`repeatable`), nothing.

    Twice the same other inputs are put on a fresh place and then, on that place, the wrong call is made again: what
    remembers gives the same wrong answer both times, but another one than at first; a race gives what it likes.
    """
    filled, outputs = suspect.filled, suspect.outputs
    if filled.is_queued and _is_hasty(arm, filled):
        return "stream-order"
    if arm.open_fresh is None:  # it is a matter of cheap processes, as is the look at the first call of new ones
        return ""
    rng = arm.stage.rng
    other = arm.stage.operator.draw(filled.shape, rng, arm.stage.operator.distributions[0])
    again = []
    for _twice in range(2):
        place = arm.memory.place(filled.step, filled.shape, rng)
        for inputs in (other, filled.inputs):
            laid = arm.memory.fill(filled.step, filled.shape, place, inputs)
            _reply, taken = arm.make((laid,), 0)
        again.append(arm.copy(taken.outputs[0]))
    right = arm.stage.operator.oracle(filled.step.name, filled.shape, filled.inputs)
    if all(_are_close(arm, one, outputs) for one in again):
        return ""
    if _are_close(arm, *again) and not _are_close(arm, again[0], right):
        return "follows-inputs"
    return "repeatable"


def _is_hasty(arm: Maker, filled: Filled) -> bool:
    """Whether the same call, on places nobody used, is right when it is not queued and wrong when it is."""
    right = arm.stage.operator.oracle(filled.step.name, filled.shape, filled.inputs)
    fill: Any = arm.memory.fill  # a memory that queued it once
    wrong = []
    for is_queued in (False, True):
        place = arm.memory.place(filled.step, filled.shape, arm.stage.rng)
        laid = fill(filled.step, filled.shape, place, filled.inputs, is_queued=is_queued)
        _reply, taken = arm.make((laid,), 0)
        found = arm.compare(laid, taken.outputs[0], right, is_exact=False)
        wrong.append(any(isinstance(one, Wrong) for one in found))
    return wrong == [False, True]


def _try_alone(arm: Maker, filled: Filled) -> str:
    """Make the same call as the first one of new processes: it shows whether an earlier call may be to blame."""
    if arm.open_fresh is None:
        return ""
    try:
        wrong = sum(_is_wrong_alone(arm, filled) for _process in range(FRESH_PROCESSES))
    except Fault:
        return ""
    if wrong == FRESH_PROCESSES:
        return " The same call is wrong as the first one of a new process, too."
    if wrong:
        return f" As the first call of a new process it is wrong in {wrong} of {FRESH_PROCESSES} processes."
    return (
        f" The same call is right as the first one of {FRESH_PROCESSES} new processes: what an earlier call left behind "
        "spoils it, or it is wrong in some processes only."
    )


def _is_wrong_alone(arm: Maker, filled: Filled) -> bool:
    assert arm.open_fresh is not None  # noqa: S101  the caller looked
    with arm.open_fresh(arm.memory.footprint(filled.step, filled.shape)).loaded() as fresh:
        place = fresh.memory.place(filled.step, filled.shape, arm.stage.rng)
        laid = fresh.memory.fill(filled.step, filled.shape, place, filled.inputs)
        _reply, taken = fresh.make((laid,), 0)
        right = arm.stage.operator.oracle(filled.step.name, filled.shape, filled.inputs)
        return any(isinstance(one, Wrong) for one in fresh.compare(laid, taken.outputs[0], right, is_exact=False))


def _are_close(arm: Maker, left: Arrays, right: Arrays) -> bool:
    return all(arm.stage.device.values.are_close(left[name], right[name]) for name in left if name in right)


def _name(arm: Maker, property_: str, given: Given) -> str:
    if given.kind in ("nudged", "swapped"):
        return "follows-inputs"
    if given.is_held_out:
        return "held-out-shape"
    if property_ == "exact-integers":
        return property_
    return property_ if given.kind in (arm.stage.operator.distributions[0], "repeated") else "hard-inputs"
