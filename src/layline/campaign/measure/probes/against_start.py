"""The candidate beside the starting kernel: accuracy, special values, and arguments that do not fit one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from layline.campaign.devices.device import Arrays
from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.given import Given
from layline.campaign.measure.inputs import draw, draw_bare, put
from layline.campaign.measure.oracle import Error, Wrong, compare_errors, is_lost
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import find_large_shape, find_odd_shape, fit_shapes
from layline.campaign.measure.stage import Stage, Values
from layline.campaign.values.describe import describe_inputs, describe_shape
from layline.campaign.values.operator import Pass, Shape

Special = tuple[str, float, float | None]
SPECIAL: tuple[Special, ...] = (
    ("NaN", float("nan"), None),
    ("infinity", float("inf"), None),
    ("minus infinity", float("-inf"), None),
    ("3.4e38", 3.3e38, 4.0),  # the others large enough that a product with it overflows whatever its order
)
"""An element; and what the other inputs at least are."""
START_TOO = "The starting kernel is wrong there, too: the tolerance may be too tight, or the reference may ask for something else."
BY_CHANCE = 2
"""Special values for each input on a shape between the smallest and the largest."""
IN_A_ROW = (1, 2)
"""Calls to a request: alone, and one after the other."""
AGAIN = 2
"""How often more elements that are lost must be seen."""


def show_accuracy(on: Trial) -> Shown:
    """On the same inputs as a process with the starting kernel; what it shows is told with the timed calls."""
    with on.open_start(None).loaded() as start:
        on.yardstick = probe_errors(on.stage, on.trial, start)
    yield from ()


def show_special(on: Trial) -> Shown:
    """Values and arguments that no oracle speaks of, given to a process with the starting kernel, too."""
    with on.open_start(None).loaded() as start:
        shapes = on.stage.by_work if on.stage.device.pace.whole else (on.stage.by_work[0], on.stage.by_work[-1])
        made = sum(probe_special(on.stage, on.trial, start, shape) for shape in dict.fromkeys(shapes))
        odd = find_odd_shape(shapes[0], on.stage.rng)
        for shape in fit_shapes(on.stage.operator, (odd,), on.stage.arena_bytes / 4):
            made += probe_special(on.stage, on.trial, start, shape, is_last=True)
        if made:
            where = ", ".join(dict.fromkeys(shape.label for shape in shapes))
            told = f"{made} calls of both kernels with one NaN, infinite or overflowing element, on {where}"
            yield "special-values", f"{told}, and the last element of a row on odd sizes"
        if on.stage.operator.misuse is not None:
            probe_contract(on.stage, on.trial, start)
            yield "keeps-contract", "arguments that do not fit one another, given to both kernels"


def probe_errors(stage: Stage, arm: LiveArm, start: LiveArm) -> dict[str, list[Error]]:
    """The candidate's error may not be a multiple of the starting kernel's, which is returned by shape."""
    operator = stage.operator
    yardstick: dict[str, list[Error]] = {}
    for shape in stage.shapes if stage.device.pace.whole else stage.by_work[:1]:
        for kind in operator.distributions[:2]:
            ours: list[Error] = []
            theirs: list[Error] = []
            for count in IN_A_ROW:
                given = draw(stage, shape, kind, count=count)
                for step in operator.passes:
                    ours += arm.run(step, given).weigh()
                    theirs += start.run(step, given).weigh()
            _refuse_first(compare_errors(operator.tolerance.error_ratio, ours, theirs), shape, kind)
            yardstick.setdefault(shape.label, theirs)  # of the timed distribution
    for shape in fit_shapes(operator, (find_large_shape(operator.shapes[0], stage.rng),), stage.arena_bytes / 4):
        given = draw(stage, shape)
        for step in operator.passes:
            found = compare_errors(
                operator.tolerance.error_ratio, *([*one.run(step, given).weigh()] for one in (arm, start))
            )
            _refuse_first(found, shape, given.kind)
    return yardstick


def run_held_out(on: Trial, shape: Shape, kind: str) -> None:
    """Every pass on a shape that nobody listed; where the starting kernel is wrong there as well, that is told, too."""
    given = replace(draw(on.stage, shape, kind), is_held_out=True)
    for step in on.stage.operator.passes:
        try:
            on.trial.run(step, given)
        except Fault as fault:
            if fault.property != "held-out-shape" or not _is_start_wrong(on, step, given):
                raise
            raise Fault(fault.property, f"{fault.reason} {START_TOO}", *fault.evidence) from None


def _is_start_wrong(on: Trial, step: Pass, given: Given) -> bool:
    if on.start is None:
        return False
    with on.open_start(None).loaded() as start:
        try:
            start.run(step, given)
        except Fault:
            return True
    return False


def refuse_lost(stage: Stage, arm: LiveArm, find_start: Callable[[], LiveArm], step: Pass, given: Given) -> None:
    """A call, and where it loses elements one of the starting kernel: those that are small beside others, which the
    tolerance, that goes by the row, does not see.
    """
    if math.isinf(stage.operator.tolerance.error_ratio):
        arm.run(step, given)
        return
    found = list(_find_lost(stage, arm, find_start, step, given))
    for _again in range(AGAIN):  # sums that vanish by accident do not on other inputs
        if found:
            again = draw(stage, given.shape, given.kind, step=step)
            found = list(_find_lost(stage, arm, find_start, step, again))
    _refuse_first(iter(found), given.shape, given.kind)


def _find_lost(
    stage: Stage, arm: LiveArm, find_start: Callable[[], LiveArm], step: Pass, given: Given
) -> Iterator[Wrong]:
    mine, right = arm.run(step, given, keeps=True).outputs[0], dict(given.right)[step.name][0]
    values = stage.device.values
    lost = [one for one in step.outputs if one in right and is_lost(values.count_lost(mine[one], right[one]), 0)]
    if lost:  # more than are let pass whatever the start loses
        its = find_start().run(step, given, keeps=True).outputs[0]
        for name in lost:
            yield from values.compare_lost(name, (mine[name], its[name]), right[name])


def _refuse_first(wrongs: Iterator[Wrong], shape: Shape, kind: str) -> None:
    for wrong in wrongs:
        told = f"{describe_shape(shape)}: {wrong.reason}"
        raise Fault(wrong.property, told, *wrong.evidence, f"inputs: {describe_inputs(kind)}")


def probe_special(stage: Stage, arm: LiveArm, start: LiveArm, shape: Shape, *, is_last: bool = False) -> int:
    """One special element in each input in turn: both kernels answer it in the same way.

    Nothing is right or wrong about them by itself; but a kernel that turns NaN into 0, or saturates where the start
    overflows, hides a fault of training that the start would show.
    """
    made = 0
    for step in stage.operator.passes:
        for name in step.inputs:
            for what, value, beside in _choose_special(stage, shape):
                given = put(stage, shape, name, value, beside=beside, is_last=is_last)
                if given is None:
                    continue
                ours, theirs = (one.run_raw(step, given) for one in (arm, start))
                where = f"{step.symbol} on {describe_shape(shape)}, one element of {name} being {what}"
                right = partial(stage.operator.oracle, step.name, shape, given.inputs[0])
                compare_special(stage.device.values, where, (ours, theirs), right)
                made += 1
    return made


def _choose_special(stage: Stage, shape: Shape) -> list[Special]:
    """All of them on the smallest shape and the largest, and on one that is not listed; on others those that nobody can
    foresee.
    """
    # how products overflow is the order of scales, a kernel's own choice where types are narrow
    values = SPECIAL if stage.device.pace.whole else SPECIAL[:3]
    is_between = shape in stage.by_work[1:-1]
    return [values[int(at)] for at in stage.rng.permutation(len(values))[: BY_CHANCE if is_between else None]]


def compare_special(values: Values, where: str, both: tuple[Arrays, Arrays], right: Callable[[], Arrays]) -> None:
    """Ours against the starting kernel's; where that loses what the right answer has, ours may have it."""
    ours, theirs = both
    for name, mine in ours.items():
        found = values.find_differing(mine, theirs[name])
        if found:
            answer = right().get(name)
            if answer is not None and values.find_differing(mine, answer) is None:
                continue
            count, at, got, its = found
            raise Fault(
                "special-values",
                f"{where}: {count} elements of {name} differ from the starting kernel's.",
                f"{name}{list(at)} is {got:g}, the starting kernel's {its:g}",
            )


def probe_contract(stage: Stage, arm: LiveArm, start: LiveArm) -> None:
    """Arguments the starting kernel refuses must be refused: a caller's mistake may not become silent."""
    operator = stage.operator
    assert operator.misuse is not None  # noqa: S101  the caller looked
    for shape in stage.shapes:
        given = draw_bare(stage, shape)
        given = replace(given, inputs=(operator.misuse(shape, given.inputs[0]),))
        for step in operator.passes:
            ours, its = (one.ask(step, given).status for one in (arm, start))
            if its != 0 and ours == 0:
                raise Fault(
                    "keeps-contract",
                    f"{step.symbol} on {describe_shape(shape)}, called with arguments that do not fit one another, "
                    f"returns 0; the starting kernel returns {its}: a caller's mistake would go unnoticed.",
                    *_tell_lists(given.inputs[0], step.inputs),
                )


def _tell_lists(inputs: Arrays, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if inputs[name].ndim == 1:
            yield f"{name}: {inputs[name].tolist()}"
