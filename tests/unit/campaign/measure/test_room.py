"""Calls of one request never lie on one another: what one wrote there would be taken for a fault of the kernel."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layline.campaign.devices.shared_memory import Arena
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.given import Given
from layline.campaign.measure.probes.processes import CALLS, find_room
from layline.campaign.measure.sizes import find_largest_shape
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Arm
from layline.campaign.values.operator import Operator, Shape

GEMM = load_operator("gemm")
LARGE = Shape(label="large", sizes=(("M", 1000), ("N", 1100), ("K", 900)))


@pytest.mark.parametrize("shape", [GEMM.shapes[0], LARGE], ids=lambda shape: shape.label)
@pytest.mark.parametrize("seed", range(20))
def test_every_call_of_a_request_has_memory_of_its_own(shape: Shape, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arena = Arena(GEMM, find_room(GEMM, shape, calls=CALLS), rng)
    try:
        for step in GEMM.passes * 3:
            taken = sorted(
                (at, at + GEMM.buffer(name).count_bytes(shape))
                for _ in range(CALLS)
                for name, at in arena.place(step, shape, rng)
            )
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(taken))
            assert taken[-1][1] <= arena.size
    finally:
        arena.close()


def test_a_call_that_does_not_fit_is_no_fault_of_a_kernel() -> None:
    rng = np.random.default_rng(0)
    arena = Arena(GEMM, 1 << 20, rng)
    try:
        with pytest.raises(ValueError, match="does not fit"):
            arena.place(GEMM.passes[0], LARGE, rng)
    finally:
        arena.close()


def _moves_little(operator: Operator) -> Operator:
    return replace(operator, passes=tuple(replace(one, bytes_moved=lambda _shape: 8.0) for one in operator.passes))


def test_memory_is_reckoned_by_buffers_not_by_what_is_said_to_be_moved() -> None:
    gather = _moves_little(replace(GEMM, fit=lambda shape: shape))
    assert find_room(gather, LARGE, calls=1) == find_room(GEMM, LARGE, calls=1)
    largest = find_largest_shape(gather, 1e6, 1e12)
    assert largest is not None
    assert gather.count_bytes(largest) <= 1e6 or max(value for _, value in largest.sizes) < 64


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_request_whose_calls_lie_on_one_another_is_our_error(count: int) -> None:
    rng = np.random.default_rng(0)
    step = GEMM.passes[0]
    need = sum(GEMM.buffer(name).count_bytes(LARGE) for name in step.buffers)
    arena = Arena(GEMM, int(2.5 * need), rng)
    stage: Any = SimpleNamespace(operator=GEMM, rng=rng, device=SimpleNamespace(values=None))
    worker: Any = None  # nothing is called
    inputs = GEMM.draw(LARGE, rng, GEMM.distributions[0])
    given = Given(shape=LARGE, kind="normal", inputs=(inputs,) * count, right=((step.name, ({},) * count),))
    try:
        arm = LiveArm(Arm.BEST, stage, arena, worker)
        if count < 3:
            assert len(arm.fill(step, given)) == count
            return
        with pytest.raises(ValueError, match="on one another"):
            arm.fill(step, given)
    finally:
        arena.close()
