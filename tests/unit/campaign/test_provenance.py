"""Whose code is in a worker: the interpreter's own libraries are nobody's trick, what the kernel loads is told."""

from __future__ import annotations

import numpy as np

from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.build import workshop
from layline.campaign.measure.controls import build_own, measure_empty_call
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.calls import find_foreign_code
from layline.campaign.operators import load_operator
from layline.campaign.values.model import Leg, Plan

SOFTMAX = load_operator("softmax")
LOADS = """
#include <dlfcn.h>
#include <stdint.h>
int forward(const float *x, float *y, int64_t R, int64_t C) { dlopen("libz.so.1", RTLD_NOW); return 0; }
"""


def test_what_every_worker_holds_is_not_held_against_a_kernel() -> None:
    shape = SOFTMAX.shapes[0]
    rng = np.random.default_rng(5)
    with workshop() as shop:
        setup = Setup(operator=SOFTMAX, shapes=(shape,), plan=Plan(), shop=shop, arena_bytes=64 << 20)
        empty = measure_empty_call(setup, rng)
        assert any("libc" in file for file in empty.files)
        with LiveLeg(Leg.BEST, build_own(setup, LOADS), setup, rng) as leg:
            leg.worker.load()
            before = find_foreign_code(leg, empty.files)
            leg.call_unchecked(SOFTMAX.passes[0], draw(SOFTMAX, shape, rng, SOFTMAX.distributions[0]))
            loaded = find_foreign_code(leg, empty.files)
            assert before == ()
            assert all("libz" in file for file in loaded)
            # on a machine whose interpreter is linked with that library, it is in every worker and means nothing
            assert find_foreign_code(leg, empty.files | frozenset(loaded)) == ()
