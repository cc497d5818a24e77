"""More elements than 32 bits can count: a kernel whose offsets are that narrow writes somewhere else, or not at all."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.faults import Fault
from layline.campaign.devices.gpu_memory import footprint
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.hold import Answered, find_wrong
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Operator, Shape

if TYPE_CHECKING:
    import numpy as np

NAME = "wide offsets"
BEYOND = 1 << 31
MORE = 16
"""Up to this part of the rows more: a kernel may be right for a few of them."""
ROWS = 16
"""Rows that are compared: the first ones, those in the middle, and the last."""
ROOM = 4
"""Times the buffers' size that must be free."""


def find_huge_shape(operator: Operator, rng: np.random.Generator | None = None) -> Shape:
    """The operator's own extents but for the rows, of which there are so many that an output has more than 2³¹
    elements; how many more nobody can foresee, and without a chance as many as there can be.
    """
    assert operator.by_rows is not None  # noqa: S101  the caller asked
    step, axis, _inputs = operator.by_rows
    output = next(one for one in operator.passes if one.name == step).outputs[0]
    listed = max(operator.shapes, key=lambda shape: shape.size(axis))
    sizes = {name: min(value, 64) if name == "K" else value for name, value in listed.sizes}
    width = operator.buffer(output).extent(listed)[-1]
    rows = BEYOND // width
    more = 3 + (int(rng.integers(rows // MORE + 1)) if rng else rows // MORE)
    return Shape(label="beyond~2^31", sizes=tuple({**sizes, axis: rows + more}.items()))


def show_offsets(on: Trial) -> Shown:
    """The start first: where it cannot do it either, nothing is held against the candidate."""
    import torch

    stage, operator = on.stage, on.stage.operator
    if operator.by_rows is None:
        on.left_out[NAME] = "needs an operator whose rows are told apart"
        return
    shape = find_huge_shape(operator, stage.rng)
    # always as much: memory that was shared is kept, and another size in every round would use all of it up
    need = footprint(operator, find_huge_shape(operator)) + (64 << 20)
    free = torch.cuda.mem_get_info()[0]
    if free < ROOM * need:
        on.left_out[NAME] = f"needs {ROOM * need >> 30} GiB of free memory on the device; {free >> 30} are free"
        return
    with closing(on.open_again(need, ())) as waiting:  # it starts up while the start is asked
        try:
            with on.open_start(need).loaded() as start:
                _compare(stage, start, shape)
        except Fault as fault:
            on.left_out[NAME] = f"needs a starting kernel that can do it; {fault.reason}"
            return
        with waiting.loaded() as arm:
            try:
                _compare(stage, arm, shape)
            except Fault as fault:
                told = f"With more than 2³¹ elements ({shape.label}): {fault.reason}"
                raise Fault("wide-offsets", told, *fault.evidence) from None
    sizes = ", ".join(f"{name}={value}" for name, value in shape.sizes)
    yield (
        "wide-offsets",
        f"{operator.by_rows[0]} with {sizes}: more than 2³¹ elements, rows compared at both ends and beyond",
    )


def _compare(stage: Stage, arm: LiveArm, shape: Shape) -> None:
    operator, memory = stage.operator, arm.memory
    assert operator.by_rows is not None  # noqa: S101  the caller asked
    name, axis, by_row = operator.by_rows
    step = next(one for one in operator.passes if one.name == name)
    drawn: dict[str, Any] = dict(operator.draw(shape, stage.rng, operator.distributions[0]))
    inputs = {one: drawn[one] for one in step.inputs}
    drawn.clear()
    filled = memory.fill(step, shape, memory.place(step, shape, stage.rng), inputs)
    memory.flush()
    reply = arm.worker.call((filled,))
    if reply.said:
        raise Fault("wide-offsets", f"the kernel raised an error: {reply.said.splitlines()[0]}")
    found = memory.take((filled,)).outputs[0]
    rows = shape.size(axis)
    middle = BEYOND // 2 // operator.buffer(step.outputs[0]).extent(shape)[-1]
    for first in (0, middle, rows - ROWS - 3, rows - ROWS):
        part = {one: value[first : first + ROWS] if one in by_row else value for one, value in inputs.items()}
        few = replace(shape, sizes=tuple({**dict(shape.sizes), axis: ROWS}.items()))
        right: Any = operator.oracle(name, few, part)
        got = {output: found[output][first : first + ROWS] for output in step.outputs}
        wrong = find_wrong(stage, Answered(step, part, filled.poison, got, right))  # a row nobody wrote is no number
        if wrong:
            raise Fault("wide-offsets", f"rows {first} to {first + ROWS}: {wrong.reason}", *wrong.evidence)
