"""Hold a call's outputs against what is right: element by element where there is one answer, else by the operator's own check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from layline.campaign.devices.device import Arrays
from layline.campaign.measure.oracle import Close, Wrong, take_together
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Pass


@dataclass(frozen=True, slots=True)
class Answered:
    """One call: what it was given, what lay in its outputs before, what it left there, what is right."""

    step: Pass
    inputs: Arrays
    poison: Mapping[str, int]
    outputs: Arrays
    right: Arrays


def hold(stage: Stage, call: Answered, *, is_exact: bool = False, is_alike: bool = False) -> Iterator[Close | Wrong]:
    """One finding for each output that has a right answer, and what the operator itself says of the others."""
    operator = stage.operator
    for name in (one for one in call.step.outputs if one in call.right):
        right = call.right[name]
        of = take_together(operator, name, right.shape) if is_alike else operator
        poison = call.poison.get(name, 0)
        yield stage.device.values.check(of, name, call.outputs[name], right, is_exact=is_exact, poison=poison)
    told = operator.examine(call.step.name, call.inputs, call.outputs) if operator.examine is not None else None
    if told:
        yield Wrong(property="correct", reason=f"The operator's own check refuses it: {told}", evidence=())


def find_wrong(stage: Stage, call: Answered) -> Wrong | None:
    """The first of them that is wrong."""
    return next((one for one in hold(stage, call) if isinstance(one, Wrong)), None)
