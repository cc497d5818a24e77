"""The controls themselves: an instrument that cannot tell right from wrong, or old from new, gives no verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layline.campaign.measure.build import Built
from layline.campaign.measure.controls import check_builds, judge_controls, wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape
from layline.campaign.values.measurement import (
    Arm,
    Build,
    Environment,
    Measurement,
    Plan,
    Ratio,
    Sample,
    Status,
    Timing,
)
from layline.campaign.values.operator import Tolerance
from layline.errors import BenchError

SOFTMAX = load_operator("softmax")
MACHINE = Environment(
    cpu="",
    cores=2,
    governor=None,
    load_before=0,
    load_after=0,
    kernel="",
    python="",
    sandbox=(),
    weaker=(),
    is_contended=False,
)


def test_an_oracle_that_takes_everything_gives_no_verdict() -> None:
    """E63: a vacuous comparison is seen, because the kernel known to be wrong passes it."""
    vacuous = replace(SOFTMAX, tolerance=Tolerance(rtol=1e9, atol=1e9))
    best = wrap(vacuous, vacuous.start("naive"))
    plan = Plan(looks=(2,), calls=6, seconds=0.05, timeout_s=20)
    measurement = measure_pair(
        Request(operator=vacuous, shapes=(shape("small-8x96", 8, 96),), best=best, candidate=best, plan=plan)
    )
    assert measurement.status is Status.CONTROLS_FAILED
    assert next(one.property for one in measurement.controls if not one.passed) == "known-wrong"


def test_an_operator_without_a_start_is_judged_all_the_same() -> None:
    """The kernel known to be wrong was then an empty text, and every candidate was refused for it."""
    bare = replace(SOFTMAX, starts=(), wrong="", mutants=())
    best, candidate = wrap(bare, SOFTMAX.start("naive")), wrap(bare, SOFTMAX.wrong)
    plan = Plan(looks=(2,), calls=6, seconds=0.05, timeout_s=20)
    measurement = measure_pair(
        Request(operator=bare, shapes=(shape("small-8x96", 8, 96),), best=best, candidate=candidate, plan=plan)
    )
    assert [one.property for one in measurement.failed_gates] == ["correct"]
    controls = {one.property: one.passed for one in measurement.controls}
    assert controls["known-wrong"], measurement


@pytest.mark.parametrize(
    ("source", "told"),
    [("int other(void) { return 0; }", "cannot be loaded"), ("int forward(", "does not compile")],
)
def test_what_the_kernel_to_beat_lacks_is_not_the_candidates_fault(source: str, told: str) -> None:
    """A stranger's kernel was refused for the entry point that the other file did not have."""
    best, candidate = wrap(SOFTMAX, source), wrap(SOFTMAX, SOFTMAX.start("naive"))
    plan = Plan(looks=(2,), calls=6, seconds=0.05, timeout_s=20)
    request = Request(operator=SOFTMAX, shapes=(shape("small-8x96", 8, 96),), best=best, candidate=candidate, plan=plan)
    with pytest.raises(BenchError, match=f"The kernel to beat {told}"):
        measure_pair(request)


def built(build_id: str) -> Built:
    build = Build(build_id=build_id, binary_hash="b", command=(), compiler="cc")
    return Built(build=build, path=Path("kernel.so"))


def test_a_build_that_does_not_follow_its_source_is_seen() -> None:
    """E90: a stale build, or a candidate that never reached the compiler."""
    rows = [(("1", "2"), False, True), (("1", "1"), False, False), (("1", "1"), True, True), (("1", "2"), True, False)]
    for (best, candidate), is_same_source, passed in rows:
        assert check_builds(built(best), built(candidate), is_same_source=is_same_source).passed is passed


def measured(again: tuple[float, ...], canary: tuple[float, ...]) -> Measurement:
    """A run whose controls read these gains, pair by pair."""
    timing = Timing(calls=8, low=1.0, median=1.0, mean=1.0, stddev=0.0)
    ratios = tuple(
        Ratio(pair=pair, leg=leg, shape="control:s", cpu=value, wall=value)
        for leg, values in ((Arm.AGAIN, again), (Arm.CANARY, canary))
        for pair, value in enumerate(values)
    )
    samples = tuple(
        Sample(pair=pair, leg=leg, shape="control:s", step="forward", cpu=timing, wall=timing)
        for leg in (Arm.BEST, Arm.AGAIN, Arm.CANARY)
        for pair in range(len(again))
    )
    return Measurement(
        status=Status.MEASURED,
        operator="softmax",
        shapes=("s",),
        plan=Plan(),
        environment=MACHINE,
        samples=samples,
        ratios=ratios,
        pairs=len(again),
        seed_commitment="",
        seed="",
    )


def test_an_instrument_that_sees_a_difference_where_there_is_none_is_not_believed() -> None:
    steady = (-0.14, -0.15, -0.13, -0.14, -0.15)
    assert [one.passed for one in judge_controls(measured((0.001, -0.002, 0.0, 0.002, -0.001), steady))] == [True, True]
    assert [one.passed for one in judge_controls(measured((0.08, 0.081, 0.079, 0.08, 0.08), steady))] == [False, True]


def test_an_instrument_that_does_not_see_the_canary_is_not_believed() -> None:
    still = (0.001, -0.002, 0.0, 0.002, -0.001)
    assert [one.passed for one in judge_controls(measured(still, (0.01, -0.02, 0.02, -0.01, 0.03)))] == [True, False]


def test_a_wrong_kernel_that_cannot_be_loaded_is_not_the_candidates_fault() -> None:
    broken = replace(SOFTMAX, wrong="int something_else(void) { return 0; }\n")
    best = wrap(broken, broken.start("naive"))
    request = Request(operator=broken, shapes=(shape("small-8x96", 8, 96),), best=best, candidate=best)
    with pytest.raises(BenchError, match="known to be wrong could not be loaded"):
        measure_pair(request)
