"""Make the inputs of calls: fresh values, the same again, one element changed; with the right answers beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layline.campaign.measure.arm import Given
from layline.campaign.values.model import Arrays, Operator, Shape

if TYPE_CHECKING:
    import numpy as np


def draw(operator: Operator, shape: Shape, rng: np.random.Generator, kind: str, *, count: int = 1) -> Given:
    """Fresh inputs of a distribution for `count` calls."""
    inputs = tuple(operator.draw(shape, rng, kind) for _ in range(count))
    return _with_answers(operator, shape, inputs, kind)


def repeat(operator: Operator, given: Given) -> Given:
    """The same values once more."""
    return replace(_with_answers(operator, given.shape, given.inputs, "repeated"), is_exact=given.is_exact)


def keep(operator: Operator, given: Given, rng: np.random.Generator, kept: tuple[str, ...], *, count: int = 1) -> Given:
    """Fresh values for all inputs but the `kept` ones, which are the first call's, on the same places."""
    first = given.inputs[0]
    inputs = tuple(
        {**operator.draw(given.shape, rng, operator.distributions[0]), **{name: first[name] for name in kept}}
        for _ in range(count)
    )
    return replace(_with_answers(operator, given.shape, inputs, "repeated"), on_same_place=True)


def nudge(operator: Operator, given: Given, rng: np.random.Generator, name: str | None = None) -> Given:
    """The same places and values, but one element of one input (`name`, or any) changed by much: the output must
    follow.
    """
    inputs = tuple(_change_one(one, rng, name) for one in given.inputs)
    return replace(_with_answers(operator, given.shape, inputs, "nudged"), on_same_place=True)


def permute(operator: Operator, given: Given, rng: np.random.Generator, name: str) -> Given:
    """The same places and values, but two elements of an input have changed places: every sum over it stays what it was."""
    inputs = tuple(_swap_two(one, rng, name) for one in given.inputs)
    return replace(_with_answers(operator, given.shape, inputs, "nudged"), on_same_place=True)


def _swap_two(inputs: Arrays, rng: np.random.Generator, name: str) -> Arrays:
    """The smallest and the largest of a random stretch, so that the outputs differ visibly."""
    import numpy as np

    changed: dict[str, np.ndarray[Any, Any]] = {one: array.copy() for one, array in inputs.items()}
    array = changed[name]
    if array.dtype == np.float32 and array.size > 1:
        flat = array.reshape(-1)
        low, high = int(np.argmin(flat)), int(np.argmax(flat))
        if rng.random() < 0.5:  # any two
            low, high = (int(at) for at in rng.choice(flat.size, 2, replace=False))
        flat[low], flat[high] = flat[high], flat[low]
    return changed


def choose_calls(given: Given, rng: np.random.Generator) -> Given:
    """Only some of the inputs, in an order nobody can foresee: what was prepared for the others was for nothing."""
    count = len(given.inputs)
    if count < 2:
        return given
    chosen = rng.permutation(count)[: int(rng.integers(1, count + 1))]
    return replace(given, called=tuple(int(at) for at in chosen))


def _change_one(inputs: Arrays, rng: np.random.Generator, name: str | None) -> Arrays:
    import numpy as np

    changed: dict[str, np.ndarray[Any, Any]] = {name: array.copy() for name, array in inputs.items()}
    names = [one for one, array in changed.items() if array.dtype == np.float32 and array.size and name in (None, one)]
    if names:
        array = changed[str(rng.choice(names))]
        at = int(rng.integers(0, array.size))
        row = array.reshape(-1, array.shape[-1])[at // array.shape[-1]]
        spread = float(np.median(np.abs(row))) or 1.0  # of its row; a median, because masks hold the largest of numbers
        array.flat[at] += np.float32(rng.choice((-8.0, 8.0)) * spread)
    return changed


def _with_answers(operator: Operator, shape: Shape, inputs: tuple[Arrays, ...], kind: str) -> Given:
    right = tuple(
        (step.name, tuple(operator.oracle(step.name, shape, one) for one in inputs)) for step in operator.passes
    )
    return Given(shape=shape, kind=kind, inputs=inputs, right=right, is_exact=kind == operator.exact)
