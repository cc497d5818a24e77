"""The gate's calls that hold a candidate's accuracy against the starting kernel's: on the whole, at worst, element by
element.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.oracle import Error, Wrong, compare_errors, compare_lost
from layline.campaign.values.describe import describe_inputs, describe_shape
from layline.campaign.values.model import Shape

if TYPE_CHECKING:
    import numpy as np


def probe_errors(setup: Setup, leg: LiveLeg, start: LiveLeg, rng: np.random.Generator) -> dict[str, list[Error]]:
    """On the same inputs, the candidate's error may not be a multiple of the starting kernel's, which is returned by
    shape.
    """
    operator = setup.operator
    yardstick: dict[str, list[Error]] = {}
    for shape in setup.shapes:
        for kind in operator.distributions[:2]:
            ours: list[Error] = []
            theirs: list[Error] = []
            for count in (1, 4):  # alone and one after the other
                given = draw(operator, shape, rng, kind, count=count)
                for step in operator.passes:
                    ours += leg.run(step, given).errors
                    theirs += start.run(step, given).errors
            _refuse_first(compare_errors(operator.tolerance.error_ratio, ours, theirs), shape, kind)
            yardstick.setdefault(shape.label, theirs)  # of the timed distribution
        for kind in operator.distributions:
            _probe_lost(setup, (leg, start), shape, kind, rng)
    return yardstick


def _probe_lost(setup: Setup, legs: tuple[LiveLeg, LiveLeg], shape: Shape, kind: str, rng: np.random.Generator) -> None:
    """Elements that are small beside others: the tolerance, which goes by the row, does not see them."""
    given = draw(setup.operator, shape, rng, kind)
    for step in setup.operator.passes:
        mine, its = (leg.run(step, given).outputs[0] for leg in legs)
        right = dict(given.right)[step.name][0]
        for name in step.outputs:
            _refuse_first(compare_lost(name, (mine[name], its[name]), right[name]), shape, kind)


def _refuse_first(wrongs: Iterator[Wrong], shape: Shape, kind: str) -> None:
    for wrong in wrongs:
        told = f"{describe_shape(shape)}: {wrong.reason}"
        raise Fault(wrong.property, told, *wrong.evidence, f"inputs: {describe_inputs(kind)}")


def probe_contract(setup: Setup, leg: LiveLeg, start: LiveLeg, rng: np.random.Generator) -> None:
    """Arguments the starting kernel refuses must be refused: a caller's mistake may not become silent."""
    operator = setup.operator
    if operator.misuse is None:
        return
    for shape in setup.shapes:
        given = draw(operator, shape, rng, operator.distributions[0])
        given = replace(given, inputs=(operator.misuse(shape, given.inputs[0]),))
        for step in operator.passes:
            ours, its = (one.call_unchecked(step, given).status for one in (leg, start))
            if its != 0 and ours == 0:
                raise Fault(
                    "keeps-contract",
                    f"{step.symbol} on {describe_shape(shape)}, called with arguments that do not fit one another, "
                    "returns 0; "
                    f"the starting kernel returns {its}: a caller's mistake would go unnoticed.",
                    *(
                        f"{name}: {given.inputs[0][name].tolist()}"
                        for name in step.inputs
                        if given.inputs[0][name].ndim == 1
                    ),
                )
