"""Whose code is in a worker: the interpreter's own libraries are nobody's trick, what the kernel loads is told."""

from __future__ import annotations

from layline.campaign.devices.machine import read_environment
from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import build_own, examine
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.code import find_foreign_code
from layline.campaign.operators import load_operator
from layline.campaign.values.measurement import Arm, Plan

SOFTMAX = load_operator("softmax")
LOADS = """
#include <dlfcn.h>
#include <stdint.h>
int forward(const float *x, float *y, int64_t R, int64_t C) { dlopen("libz.so.1", RTLD_NOW); return 0; }
"""


def test_what_every_worker_holds_is_not_held_against_a_kernel() -> None:
    shape = SOFTMAX.shapes[0]
    with workshop() as shop:
        stage = set_stage(SOFTMAX, (shape,), Plan(), shop, b"5")
        own = examine(stage, read_environment()).files
        assert any("libc" in file for file in own)
        with open_arm(stage, Arm.BEST, build_own(stage, LOADS)).loaded() as arm:
            before = find_foreign_code(arm, own)
            arm.ask(SOFTMAX.passes[0], draw(stage, shape))
            loaded = find_foreign_code(arm, own)
            assert before == ()
            assert all("libz" in file for file in loaded)
            # on a machine whose interpreter is linked with that library, it is in every worker and means nothing
            assert find_foreign_code(arm, own | frozenset(loaded)) == ()
