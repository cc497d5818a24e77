"""Special values: what the starting kernel does with NaN, infinity and overflow, the candidate does too.

Nothing is right or wrong about them by itself; but a kernel that turns NaN into 0, or saturates where the start overflows,
hides a fault of training that the start would show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import Given, LiveLeg, Setup
from layline.campaign.measure.inputs import draw
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.model import Arrays, Shape

if TYPE_CHECKING:
    import numpy as np

SPECIAL = (("NaN", float("nan")), ("infinity", float("inf")), ("minus infinity", float("-inf")), ("3.4e38", 3.4e38))


def probe_special(setup: Setup, leg: LiveLeg, start: LiveLeg, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """One special element in each input in turn, of the smallest shape: both kernels answer it in the same way."""
    operator = setup.operator
    shape = min(setup.shapes, key=operator.passes[0].flops)
    made = 0
    for step in operator.passes:
        for name in step.inputs:
            for what, value in SPECIAL:
                given = _put(setup, shape, rng, name, value)
                if given is None:
                    continue
                ours, theirs = (one.run_raw(step, given) for one in (leg, start))
                _compare(f"{step.symbol} on {describe_shape(shape)}, one element of {name} being {what}", ours, theirs)
                made += 1
    if made:
        yield "special-values", f"{made} calls of both kernels with one NaN, infinity or overflowing element"


def _put(setup: Setup, shape: Shape, rng: np.random.Generator, name: str, value: float) -> Given | None:
    import numpy as np

    operator = setup.operator
    given = draw(operator, shape, rng, operator.distributions[0])
    inputs: dict[str, Any] = {one: array.copy() for one, array in given.inputs[0].items()}
    if inputs[name].dtype != np.float32 or not inputs[name].size:
        return None
    for one, array in inputs.items():  # the others large enough that a product with 3.4e38 overflows whatever its order
        if array.dtype == np.float32 and one != name and value == SPECIAL[-1][1]:
            array[...] = np.abs(array) + 4
    inputs[name].flat[int(rng.integers(0, inputs[name].size))] = value
    return replace(given, inputs=(inputs,))


def _compare(where: str, ours: Arrays, theirs: Arrays) -> None:
    import numpy as np

    for name, mine in ours.items():
        its = theirs[name]
        differs = (np.isnan(mine) != np.isnan(its)) | (np.isinf(mine) != np.isinf(its))
        differs |= np.isinf(mine) & np.isinf(its) & (np.signbit(mine) != np.signbit(its))
        if differs.any():
            at = tuple(int(one) for one in np.argwhere(differs)[0])
            raise Fault(
                "special-values",
                f"{where}: {int(differs.sum())} elements of {name} are not what the starting kernel makes of it.",
                f"{name}{list(at)} is {float(mine[at]):g}, the starting kernel's {float(its[at]):g}",
            )
