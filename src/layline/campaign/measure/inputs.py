"""Make the inputs of calls: fresh values, the same again, one element changed; with the right answers beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from layline.campaign.devices.device import Arrays
from layline.campaign.measure.given import Given
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Operator, Pass, Shape

_LARGEST = 3.3e38
LOOKED_AT = 1 / 3
"""Share of the requests made for their time alone whose outputs are compared."""


def draw(stage: Stage, shape: Shape, kind: str | None = None, *, count: int = 1, step: Pass | None = None) -> Given:
    """Fresh inputs of a distribution, the timed one by default, for `count` calls; with the right answers of one pass where
    no other is called with them.
    """
    operator = stage.operator
    kind = kind or operator.distributions[0]
    inputs = tuple(operator.draw(shape, stage.rng, kind) for _ in range(count))
    asked = [step.name for step in ((step,) if step else operator.passes)]
    return _with_answers(operator, asked, Given(shape=shape, kind=kind, inputs=inputs, right=()))


def draw_bare(stage: Stage, shape: Shape, kind: str | None = None, *, count: int = 1) -> Given:
    """Fresh inputs, of the timed distribution by default, without the right answers: for calls whose outputs nobody looks
    at.
    """
    operator = stage.operator
    kind = kind or operator.distributions[0]
    inputs = tuple(operator.draw(shape, stage.rng, kind) for _ in range(count))
    return Given(shape=shape, kind=kind, inputs=inputs, right=())


def draw_by_chance(stage: Stage, shape: Shape, kind: str | None = None, *, count: int = 1) -> Given:
    """Fresh inputs for calls that are made for their time alone: of some, nobody knows which, the outputs are looked at as
    well.
    """
    if stage.rng.random() < LOOKED_AT:
        return draw(stage, shape, kind, count=count)
    return draw_bare(stage, shape, kind, count=count)


def repeat(given: Given) -> Given:
    """The same values once more."""
    return replace(given, kind="repeated", on_same_place=False, called=())


def rescale(stage: Stage, given: Given) -> Given:
    """Other values in every floating-point input and the groups in another order, at a fraction of what drawing them takes;
    for calls whose outputs nobody looks at.
    """
    inputs = tuple(_rescale(stage, given.shape, one) for one in given.inputs)
    return Given(shape=given.shape, kind=given.kind, inputs=inputs, right=())


def _rescale(stage: Stage, shape: Shape, inputs: Arrays) -> Arrays:
    factor = float(stage.rng.uniform(0.5, 1.0))
    constant = stage.operator.constant
    floating = {
        name: values if name in constant else values * factor
        for name, values in inputs.items()
        if values.dtype.kind == "f"
    }
    others = {name: values for name, values in inputs.items() if name not in floating}
    if len(others) == 1:  # what else speaks of groups would no longer fit
        ((name, values),) = others.items()
        if sorted(values.ravel().tolist()) == sorted(shape.groups):
            others = {name: stage.rng.permutation(values)}
    return {**floating, **others}


def keep(stage: Stage, given: Given, kept: tuple[str, ...], *, count: int = 1) -> Given:
    """Fresh values for all inputs but the `kept` ones, which are the first call's, on the same places."""
    first, operator = given.inputs[0], stage.operator
    if all(
        name in (*kept, *operator.constant) for name in first
    ):  # nothing is fresh: the same call, with the answer that is known
        right = tuple((step, (answers[0],) * count) for step, answers in given.right)
        return replace(given, kind="repeated", inputs=(first,) * count, right=right, on_same_place=True, called=())
    inputs = tuple(
        {**operator.draw(given.shape, stage.rng, operator.distributions[0]), **{name: first[name] for name in kept}}
        for _ in range(count)
    )
    return _answer_again(stage, given, inputs, "repeated")


def nudge(stage: Stage, given: Given, name: str | None = None) -> Given:
    """The same places and values, but one element of one input (`name`, or any) changed by much: the output must
    follow.
    """
    inputs = tuple(_change_one(stage, one, name) for one in given.inputs)
    return _answer_again(stage, given, inputs, "nudged")


def permute(stage: Stage, given: Given, name: str) -> Given:
    """The same places and values, but two elements of an input have changed places: every sum over it stays what it
    was.
    """
    inputs = tuple(_swap_two(stage, one, name) for one in given.inputs)
    return _answer_again(stage, given, inputs, "swapped")


def lift(stage: Stage, given: Given, name: str) -> Given:
    """The same places and values, but two or three elements of one row stand far above all others, not equally far."""
    inputs = tuple(_lift_some(stage, one, name) for one in given.inputs)
    return _answer_again(stage, given, inputs, "lifted")


def twin(stage: Stage, given: Given, name: str) -> Given:
    """The same places and values, but one row is what the row before it is, except for one element."""
    inputs = tuple(_copy_row(stage, one, name) for one in given.inputs)
    return _answer_again(stage, given, inputs, "twinned")


def put(
    stage: Stage, shape: Shape, name: str, value: float, *, beside: float | None = None, is_last: bool = False
) -> Given | None:
    """Ordinary inputs with one special element, on request the last of its row; the other inputs all above
    `beside`. None for integers.
    """
    values = stage.device.values
    given = draw_bare(stage, shape)
    inputs = {one: values.copy(array) for one, array in given.inputs[0].items()}
    if not _may_change(stage, name, inputs[name]):
        return None
    for one, array in inputs.items():
        if beside is not None and one != name and _may_change(stage, one, array):
            inputs[one] = values.raise_above(array, beside)
    at = int(stage.rng.integers(0, values.count(inputs[name])))
    width = int(inputs[name].shape[-1])
    values.flatten(inputs[name])[at + width - 1 - at % width if is_last else at] = value
    return replace(given, inputs=(inputs,))


def choose_calls(stage: Stage, given: Given) -> Given:
    """Only some of the inputs, in an order nobody can foresee: what was prepared for the others was for nothing."""
    count = len(given.inputs)
    if count < 2:
        return given
    chosen = stage.rng.permutation(count)[: int(stage.rng.integers(1, count + 1))]
    return replace(given, called=tuple(int(at) for at in chosen))


def _may_change(stage: Stage, name: str, array: Any) -> bool:
    """Whether single elements may be any number: of a float array that obeys no rule of its own, and is not empty."""
    values = stage.device.values
    operator = stage.operator
    return name not in (*operator.steady, *operator.constant) and values.is_real(array) and values.count(array) > 0


def _swap_two(stage: Stage, inputs: Arrays, name: str) -> Arrays:
    """The smallest and the largest, so that the outputs differ visibly, or any two."""
    values, rng = stage.device.values, stage.rng
    changed = {one: values.copy(array) for one, array in inputs.items()}
    if _may_change(stage, name, changed[name]) and values.count(changed[name]) > 1:
        flat = values.flatten(changed[name])
        low, high = values.find_extremes(flat)
        if rng.random() < 0.5:
            low, high = (int(at) for at in rng.integers(0, len(flat), 2))
        kept = float(flat[low])
        flat[low] = flat[high]
        flat[high] = kept
    return changed


def _change_one(stage: Stage, inputs: Arrays, name: str | None) -> Arrays:
    values, rng = stage.device.values, stage.rng
    changed = {one: values.copy(array) for one, array in inputs.items()}
    names = [one for one, array in changed.items() if _may_change(stage, one, array) and name in (None, one)]
    if names:
        array = changed[str(rng.choice(names))]
        at = int(rng.integers(0, values.count(array)))
        flat = values.flatten(array)
        flat[at] = _move(float(flat[at]), float(rng.choice((-8.0, 8.0))) * values.find_spread(array, at))
    return changed


def _lift_some(stage: Stage, inputs: Arrays, name: str) -> Arrays:
    values, rng = stage.device.values, stage.rng
    changed = {one: values.copy(array) for one, array in inputs.items()}
    array = changed[name]
    if not _may_change(stage, name, array):
        return changed
    flat, wide = values.flatten(array), int(array.shape[-1]) if len(array.shape) else 1
    first = wide * int(rng.integers(0, values.count(array) // wide))
    spread = values.find_spread(array, first)
    size = float(rng.choice((16.0, 128.0, 512.0)))
    for step, at in enumerate(rng.permutation(wide)[: int(rng.integers(2, 4))]):
        moved = (size + 5.0 * step) * spread
        flat[first + int(at)] = moved if abs(moved) < _LARGEST else float(flat[first + int(at)])
    return changed


def _copy_row(stage: Stage, inputs: Arrays, name: str) -> Arrays:
    values, rng = stage.device.values, stage.rng
    changed = {one: values.copy(array) for one, array in inputs.items()}
    array = changed[name]
    wide = int(array.shape[-1]) if len(array.shape) else 0
    if not _may_change(stage, name, array) or wide < 2 or values.count(array) < 2 * wide:
        return changed
    flat = values.flatten(array)
    first = wide * int(rng.integers(0, values.count(array) // wide - 1))
    flat[first + wide : first + 2 * wide] = flat[first : first + wide]
    at = first + wide + int(rng.integers(0, wide))
    flat[at] = _move(float(flat[at]), float(rng.choice((-8.0, 8.0))) * values.find_spread(array, at))
    return changed


def _move(value: float, step: float) -> float:
    """Visibly elsewhere, and still a number that float32 and bfloat16 can hold: infinity has another answer."""
    moved = value + step
    return moved if abs(moved) < _LARGEST or math.isinf(value) else value / 2


def _answer_again(stage: Stage, given: Given, inputs: tuple[Arrays, ...], kind: str) -> Given:
    """Other inputs on the same places, with the answers of the passes that were asked for before."""
    fresh = Given(shape=given.shape, kind=kind, inputs=inputs, right=(), on_same_place=True)
    return _with_answers(stage.operator, [name for name, _answers in given.right], fresh)


def _with_answers(operator: Operator, asked: Iterable[str], given: Given) -> Given:
    right = tuple((name, tuple(operator.oracle(name, given.shape, one) for one in given.inputs)) for name in asked)
    return replace(given, right=right, is_exact=given.kind == operator.exact)
