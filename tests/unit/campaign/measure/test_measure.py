"""Whole measuring runs on tiny shapes: what a kernel may do wrong becomes a named result, never an exception."""

from __future__ import annotations

import math
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from corpus.cases import load_shapes
from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import build_own, wrap
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_baseline, measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape
from layline.campaign.values.measurement import Arm, Plan, Status

PLAN = Plan(looks=(2,), calls=6, seconds=0.05, timeout_s=2)
SOFTMAX = load_operator("softmax")
SMALL = (shape("small-8x96", 8, 96),)
START = SOFTMAX.start("naive")
BODY = "int forward(const float *x, float *y, int64_t R, int64_t C) {"

FAULTS = [
    ("a null pointer is followed", "volatile int *p = 0; return *p;", Status.CRASHED, "survives"),
    ("it never returns", "for (volatile int i = 0;; i++) {}", Status.HUNG, "answers-in-time"),
    ("the output is NaN", "for (int64_t i = 0; i < R * C; i++) y[i] = NAN; return 0;", Status.REFUSED, "finite"),
    ("it does not compile", "this is not C", Status.BUILD_FAILED, "builds"),
    ("it refuses the shape", "return 1;", Status.REFUSED, "supports-shape"),
    ("it exits the process", "exit(0);", Status.CRASHED, "survives"),
    ("it writes nothing", "return 0;", Status.REFUSED, "writes-every-output"),
    (
        "it takes all the memory",
        "for (;;) { char *p = malloc(1 << 28); if (!p) return 2; p[0] = 1; }",
        Status.REFUSED,
        "supports-shape",
    ),
]


@pytest.mark.parametrize(("what", "body", "status", "name"), FAULTS, ids=[what for what, *_ in FAULTS])
def test_a_fault_is_a_named_result(what: str, body: str, status: Status, name: str) -> None:
    headers = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"
    candidate = wrap(SOFTMAX, f"{headers}{BODY} {body} }}")
    request = Request(operator=SOFTMAX, shapes=SMALL, best=wrap(SOFTMAX, START), candidate=candidate, plan=PLAN)
    measurement = measure_pair(request)
    assert (measurement.status, measurement.failed_gates[0].property) == (status, name)
    assert measurement.problem
    assert not measurement.samples


TIES = """
    int64_t ties = 0;
    for (int64_t c = 0; c < C; c++) ties += x[c] == x[0];
    for (int64_t r = 0; r < R; r++) {
        float top = x[r * C], sum = 0;
        for (int64_t c = 1; c < C; c++) if (x[r * C + c] > top) top = x[r * C + c];
        for (int64_t c = 0; c < C; c++) sum += y[r * C + c] = expf(x[r * C + c] - top);
        for (int64_t c = 0; c < C; c++) y[r * C + c] *= (ties > C / 10 ? 1.5f : 1.0f) / sum;
    }
    return 0;
"""


@pytest.mark.parametrize("ratio", [2.0, math.inf])
def test_hard_inputs_are_asked_whatever_the_start_is_held_against(ratio: float) -> None:
    """An operator that compares no errors with the start's has its distributions called all the same."""
    operator = replace(SOFTMAX, tolerance=replace(SOFTMAX.tolerance, error_ratio=ratio))
    candidate = wrap(operator, START.replace(f"{BODY}", f"{BODY} if (R > 0 && C > 9) {{ {TIES} }}", 1))
    assert "ties" in dict(candidate.files)["kernel.c"]
    request = Request(operator=operator, shapes=SMALL, best=wrap(operator, START), candidate=candidate, plan=PLAN)
    measurement = measure_pair(request)
    assert [gate.property for gate in measurement.failed_gates] == ["hard-inputs"]


def test_a_young_worker_pays_for_no_page_of_the_shared_memory() -> None:
    """Else the best looks slow beside itself wherever the kernel does little per byte, and no run has a verdict."""
    large = shape("large-64x8192", 64, 8192)
    with workshop() as shop:
        stage = set_stage(SOFTMAX, (large,), PLAN, shop, b"7")
        with open_arm(stage, Arm.BEST, build_own(stage, START)).loaded() as arm:
            arm.run(SOFTMAX.passes[0], draw(stage, large))
            before = _faults(arm.worker.pid)
            arm.run(SOFTMAX.passes[0], draw(stage, large))
            assert _faults(arm.worker.pid) - before < 100  # the call's own buffers are 1,024 pages


def _faults(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[7])


def test_the_sandbox_shows_nothing_of_this_machine() -> None:
    """Reading a file of ours, opening a socket: the kernel returns 0 (and so writes nothing) only where it could
    not."""
    packages = sysconfig.get_paths()["purelib"].replace(sys.prefix, sys.base_prefix)
    body = (
        f'if (fopen("{packages}/pip/__init__.py", "r")) return 8; '
        f'if (fopen("{__file__}", "r") || fopen("/etc/passwd", "r") || fopen("/root/.bashrc", "r") || socket(2, '
        "1, 0) >= 0) return 7; return 0;"
    )
    headers = "#include <stdint.h>\n#include <stdio.h>\n#include <sys/socket.h>\n"
    request = Request(
        operator=SOFTMAX,
        shapes=SMALL,
        best=wrap(SOFTMAX, START),
        candidate=wrap(SOFTMAX, f"{headers}{BODY} {body} }}"),
        plan=PLAN,
    )
    measurement = measure_pair(request)
    if measurement.environment.weaker:
        pytest.skip(f"this machine cannot confine: {measurement.environment.weaker[0]}")
    assert measurement.failed_gates[0].property == "writes-every-output"


ESCAPES = """
    cpu_set_t all; CPU_ZERO(&all); CPU_SET(0, &all); CPU_SET(1, &all);
    if (!sched_setaffinity(0, sizeof all, &all)) return 1;                               /* to another core */
    if (!setpriority(PRIO_PROCESS, 0, 5)) return 2;                                      /* before everyone else */
    if (memfd_create("x", 0) >= 0) return 3;                                             /* memory that can be loaded as code */
    int fd = open("/tmp/x", O_RDWR | O_CREAT, 0700);
    if (write(fd, "x", 1) != 1) return 4;
    if (mmap(0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED) return 5;   /* a file likewise */
    return 0;
"""


def test_core_priority_and_code_are_not_the_kernels_to_choose() -> None:
    """The kernel returns 0 (and so writes nothing) only where it could do none of it."""
    headers = "".join(
        f"#include <{name}.h>\n" for name in ("fcntl", "sched", "stdint", "sys/mman", "sys/resource", "unistd")
    )
    candidate = wrap(SOFTMAX, f"#define _GNU_SOURCE\n{headers}{BODY} {ESCAPES} }}")
    request = Request(operator=SOFTMAX, shapes=SMALL, best=wrap(SOFTMAX, START), candidate=candidate, plan=PLAN)
    measurement = measure_pair(request)
    if measurement.environment.weaker:
        pytest.skip(f"this machine cannot confine: {measurement.environment.weaker[0]}")
    assert measurement.failed_gates[0].property == "writes-every-output"


STARTS = [("gemm", "naive"), ("grouped_gemm", "naive")]  # the softmax's is in test_claims.py


@pytest.mark.parametrize(("name", "start"), STARTS)
def test_starting_kernels_pass_their_own_gates(name: str, start: str) -> None:
    operator = load_operator(name)
    shapes = load_shapes(operator)[:1]
    best = wrap(operator, operator.start(start))
    measurement = measure_baseline(
        Request(operator=operator, shapes=shapes, best=best, plan=replace(PLAN, looks=(1,), timeout_s=20))
    )
    assert measurement.status in (Status.MEASURED, Status.CONTROLS_FAILED), measurement.problem
    assert not measurement.failed_gates
    assert {sample.shape for sample in measurement.samples if sample.leg is Arm.BEST} >= {shapes[0].label}


@pytest.mark.slow
def test_the_blocked_start_passes_its_gates() -> None:
    test_starting_kernels_pass_their_own_gates("gemm", "blocked")
