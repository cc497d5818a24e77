"""Inputs nobody expects: every distribution, one element changed, two swapped; and sizes nobody listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.given import Given
from layline.campaign.measure.inputs import draw, keep, lift, nudge, permute, twin
from layline.campaign.measure.probes.against_start import refuse_lost, run_held_out
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sizes import (
    THIN,
    find_edge_shapes,
    find_empty_shapes,
    find_far_shapes,
    find_near_shapes,
    fit_shapes,
    walk_sizes,
)
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Shape

TINY = 8
EDGES = 3
"""Shapes beside whose extents each other one goes as far as a rule of the operator allows."""
TWICE = 3
"""Shapes, drawn by chance, on which every input is changed once more."""


def show_inputs(on: Trial) -> Shown:
    """Every shape with every distribution; where another than the starting kernel loses elements, that one's answers beside
    its own.
    """
    with ExitStack() as stack:
        yield from _run_inputs(on, cache(lambda: stack.enter_context(on.open_start(None).loaded())))


def _run_inputs(on: Trial, find_start: Callable[[], LiveArm]) -> Shown:
    stage, operator = on.stage, on.stage.operator
    is_whole = stage.device.pace.whole
    for index, shape in enumerate(stage.by_work):
        is_full = is_whole or index == 0
        kinds = operator.distributions if is_full else operator.distributions[1:]
        chosen = [str(kind) for kind in stage.rng.permutation(list(kinds))]
        for kind in chosen if is_full else chosen[:2]:
            given = draw(stage, shape, kind)
            for step in operator.passes:
                if is_full and on.start is not None:
                    refuse_lost(stage, on.trial, find_start, step, given)
                else:
                    on.trial.run(step, given)
    where = "on every shape" if is_whole else "on the smallest shape, two on the others"
    yield "hard-inputs", f"{', '.join(operator.distributions)} {where}"
    if operator.exact is not None:
        yield "exact-integers", f"distribution {operator.exact} {where.split(',', maxsplit=1)[0]}"


def show_changed(on: Trial) -> Shown:
    """A call, then the same with one element changed on the same place, two swapped, a row copied, some raised."""
    stage, operator = on.stage, on.stage.operator
    shapes = stage.by_work if stage.device.pace.whole else stage.by_work[:1]
    again = {shapes[int(at)].label for at in stage.rng.permutation(len(shapes))[:TWICE]}
    for shape in shapes:
        for _time in range(2 if shape.label in again else 1):
            _probe_every_input(stage, on.trial, shape)
        _probe_between_passes(stage, on.trial, shape)
    changes = "one element changed, two elements swapped, one row a copy of another but for one element, some of one row raised far above it, twice"
    between = (
        "; all of it, too, between two passes that read it at the same address" if len(operator.passes) > 1 else ""
    )
    yield "follows-inputs", f"every input of every pass: {changes}{between}"


def _probe_every_input(stage: Stage, arm: LiveArm, shape: Shape) -> None:
    """Each input of each pass in turn: a call, then the same call with one element of that input changed."""
    for step in stage.operator.passes:
        for name in step.inputs:
            given = draw(stage, shape, step=step)
            arm.run(step, given)
            # right after it: what is kept under a sum still has that sum
            arm.run(step, permute(stage, given, name))
            arm.run(step, nudge(stage, given, name))
            arm.run(step, twin(stage, given, name))
            for _twice in range(2):  # the second right after the first: what is remembered of it is of no use
                arm.run(step, lift(stage, given, name))


def _probe_between_passes(stage: Stage, arm: LiveArm, shape: Shape) -> None:
    """What two passes read lies on one place, as in training, and changes between them: one element, two, all."""
    passes = stage.operator.passes
    for first, second in ((one, two) for one in passes for two in passes if one is not two):
        for name in (one for one in first.inputs if one in second.inputs and one not in first.outputs):
            for change in (nudge, permute, _replace):
                given = draw(stage, shape, step=first)
                arm.run(first, given)
                arm.put_on(first, second, shape)
                changed = change(stage, replace(given, right=((second.name, ()),)), name)
                arm.run(second, replace(changed, after=first.symbol))


def _replace(stage: Stage, given: Given, name: str) -> Given:
    """All of one input anew, the others as they were."""
    return keep(stage, given, tuple(one for one in given.inputs[0] if one != name))


def show_held_out(on: Trial) -> Shown:
    """Neighbours of every shape: odd, prime, tiny, ragged."""
    stage, operator = on.stage, on.stage.operator
    for shape in stage.shapes:
        for near in find_near_shapes(operator, shape, stage.rng, stage.arena_bytes / 4):
            other = str(stage.rng.choice(operator.distributions[1:]))
            if min(size for _name, size in near.sizes) < TINY:  # sums over few cancel: rounding alone can spoil a row
                other = operator.exact or operator.distributions[0]
            for kind in (operator.distributions[0], other) if stage.device.pace.whole else (other,):
                run_held_out(on, near, kind)
    yield "held-out-shape", "neighbours of every shape"


def show_far(on: Trial) -> Shown:
    """Sizes far beyond the listed ones: a work area that is too small shows."""
    operator, pace = on.stage.operator, on.stage.device.pace
    thin = pace.thin if operator.fit is None else THIN  # what an operator of a user's own costs there nobody knows
    _run_shapes(on, find_far_shapes((*on.stage.shapes, *operator.shapes), on.stage.rng, thin))
    _run_shapes(on, find_edge_shapes(operator, on.stage.by_work[:EDGES]))
    yield "held-out-shape", "far extents"


def show_empty(on: Trial) -> Shown:
    """Each extent nothing, in turn."""
    _run_shapes(on, find_empty_shapes(on.stage.operator))
    yield "held-out-shape", "each extent empty"


def _run_shapes(on: Trial, shapes: Iterable[Shape]) -> None:
    for shape in fit_shapes(on.stage.operator, shapes, on.stage.arena_bytes / 4):
        run_held_out(on, shape, on.stage.operator.distributions[0])


def show_walk(on: Trial) -> Shown:
    """Single steps up, past the usual block sizes, and down: a work area that is not cleared shows."""
    stage = on.stage
    operator, pace = stage.operator, stage.device.pace
    normal = operator.distributions[0]
    # the walk has rows of one element, which rounding alone can spoil: exact values where the operator has them
    exact = operator.exact if pace.whole else None
    for shape in fit_shapes(operator, walk_sizes(operator, pace.walk, pace.aside), stage.arena_bytes / 4):
        run_held_out(on, shape, exact or normal)
    yield "held-out-shape", "a walk through sizes"
