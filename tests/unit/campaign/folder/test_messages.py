"""What a refusal says: each row is a sentence a reader did not understand, and what has taken its place."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from layline.campaign.devices.exit_words import describe_ending
from layline.campaign.devices.machine import read_environment
from layline.campaign.measure.final_checks import check_state
from layline.campaign.measure.oracle import Wrong, check_output, compare_lost
from layline.campaign.measure.sanitize import describe_complaint
from layline.campaign.measure.sizes import find_far_shapes, walk_sizes
from layline.campaign.operators import load_operator
from layline.campaign.values.describe import describe_inputs, describe_mode, describe_shape
from layline.campaign.values.measurement import Bucket, Measurement, Plan, Status
from layline.campaign.values.operator import Shape

FLUSHED, X87_SINGLE, UPWARDS = 0x9FC0 << 16 | 0x37F, 0x1F80 << 16 | 0x07F, 0x5F80 << 16 | 0x37F
UNTOUCHED = 0x1F80 << 16 | 0x37F


@pytest.mark.parametrize(
    ("code", "before", "after"),
    [
        (139, "exit code 11", "SIGSEGV (it accessed memory that does not exist"),
        (-signal.SIGFPE, "SIGFPE", "SIGFPE (an integer was divided by zero)"),
        (134, "SIGABRT", "the C library found the heap damaged or freed twice"),
        (11, "exit code 11", "it ended itself with exit code 11"),
    ],
)
def test_a_death_names_the_signal_and_its_usual_cause(code: int, before: str, after: str) -> None:
    said = describe_ending(code)
    assert after in said
    assert said != before


@pytest.mark.parametrize(
    ("label", "after"),
    [
        ("square-96", "square-96 (M=1, N=2, K=3)"),
        ("square-96~one", "square-96~one (M=1, N=2, K=3: a neighbour of square-96 that nobody listed, every extent 1)"),
        ("far~K", "far~K (M=1, N=2, K=3: K beyond every listed extent, the others thin)"),
        ("wide~odd", "wide~odd (M=1, N=2, K=3: a neighbour of wide that nobody listed, extents one more or one less)"),
        ("none~K~moved", "none~K~moved (M=1, N=2, K=3: as near as the operator allows to: K is 0)"),
        ("edge~K", "edge~K (M=1, N=2, K=3: K as far as the operator allows beside the others)"),
        ("walk~K129", "walk~K129 (M=1, N=2, K=3: K goes up through 129 and down again in one process)"),
    ],
)
def test_a_shape_nobody_listed_is_explained(label: str, after: str) -> None:
    assert describe_shape(Shape(label=label, sizes=(("M", 1), ("N", 2), ("K", 3)))) == after


@pytest.mark.parametrize("name", ["gemm", "softmax", "grouped_gemm"])
def test_every_name_the_gate_uses_is_explained(name: str) -> None:
    operator, rng = load_operator(name), np.random.default_rng(1)
    drawn = (*operator.distributions, "nudged", "repeated")
    assert [kind for kind in drawn if describe_inputs(kind) == kind] == []
    near = [shape for listed in operator.shapes for shape in operator.neighbours(listed, rng)]
    unlisted = (*near, *find_far_shapes(operator.shapes, rng), *walk_sizes(operator))
    assert [shape.label for shape in unlisted if ": " not in describe_shape(shape)] == []


@pytest.mark.parametrize(
    ("mode", "after"),
    [
        (FLUSHED, "flush-to-zero on, denormals-are-zero on"),
        (X87_SINGLE, "another precision or rounding of the x87 unit"),
        (UPWARDS, "rounding up"),
    ],
)
def test_a_changed_mode_is_told_by_its_bits(mode: int, after: str) -> None:
    assert describe_mode(UNTOUCHED, mode, "x86_64") == after


COMPLAINT = """==7==ERROR: AddressSanitizer: unknown-crash on address 0x52 at pc 0x55 bp 0x7f sp 0x7f
READ of size 64 at 0x52 thread T0
    #0 0x55 in _mm512_loadu_ps /usr/lib/gcc/x86_64-linux-gnu/12/include/avx512fintrin.h:6333
    #1 0x55 in peek /tmp/x/kernel.c:57
    #2 0x55 in forward /tmp/x/kernel.c:61
0x52 is located 0 bytes to the right of 96-byte region [0x51,0x52)
"""


def test_memory_outside_a_buffer_is_told_by_call_buffer_and_own_line() -> None:
    operator = load_operator("softmax")
    shape = Shape(label="s", sizes=(("R", 3), ("C", 8)))
    said = describe_complaint(operator, (operator.passes[0], shape), COMPLAINT)
    assert said[0] == (
        "forward on s (R=3, C=8) touches memory partly outside a buffer, 0 bytes after x or y (96 bytes), "
        "in peek at kernel.c:57."
    )
    assert said[1] == "AddressSanitizer: unknown-crash, READ of size 64"


def test_numbers_are_numbers() -> None:
    operator = load_operator("gemm")
    got, want = np.zeros((2, 2), np.float32), np.ones((2, 2))
    wrong = check_output(operator, "out", got, want, is_exact=False, poison=1)
    assert isinstance(wrong, Wrong)
    assert "worst: out[0, 0] is 0 where the oracle has 1" in wrong.evidence
    assert "np.float" not in " ".join(wrong.evidence)


def test_small_elements_beside_large_ones_count() -> None:
    want = np.full((4, 8), 1e-20)
    want[:, 0] = 1.0
    exact = want.astype(np.float32)
    lossy = np.where(exact < 1e-13, np.float32(0), exact)
    assert list(compare_lost("y", (exact, exact), want)) == []
    (wrong,) = compare_lost("y", (lossy, exact), want)
    assert wrong.reason.startswith(
        "28 of 32 elements of y are off by more than 0.01% of themselves, none of the starting"
    )


@pytest.mark.parametrize(
    ("bucket", "passed", "after"),
    [
        (None, True, "Repeating inputs makes nothing faster."),
        (Bucket.W1, True, "W1: a cache of the weight"),
        (Bucket.W3, False, "W3: a memory of whole calls; in training no call comes twice, so the gain is not there."),
    ],
)
def test_state_is_told_without_letters_to_guess(bucket: Bucket | None, passed: bool, after: str) -> None:
    measurement = Measurement(
        status=Status.MEASURED,
        operator="gemm",
        shapes=("s",),
        plan=Plan(),
        environment=read_environment(),
        seed_commitment="",
        seed="",
        bucket=bucket,
        state="repeating a makes s faster" if bucket else "",
        hit_trace="mm" * 8,
    )
    gate = check_state(measurement)
    assert gate.passed is passed
    assert after in gate.reason
    (told,) = gate.evidence
    assert told.startswith("8 simulated training steps with fresh activations, 0 of 16 passes served from memory (m: ")
    assert told.endswith("one word per step): mm mm mm mm mm mm mm mm")
