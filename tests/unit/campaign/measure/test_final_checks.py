"""Whether a gain reaches shapes nobody listed: large ones by the median, small ones by the bound."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest

from layline.campaign.devices.machine import read_environment
from layline.campaign.measure.final_checks import REASONS, check_carry
from layline.campaign.measure.pair import PairRun, needs_neighbours
from layline.campaign.values.measurement import Arm, GateResult, Measurement, Plan, Ratio, Status

CASES = [
    # gain on the listed shape, gains of its neighbours by pair, whether it carries over
    (0.074, (-0.018, -0.021, -0.012, -0.020, -0.019), False),  # once passed, for 7 % was below the median's reach
    (0.074, (-0.018, 0.06, 0.11, -0.05, 0.09), True),  # cannot be told: the bound reaches a quarter of the gain
    (0.05, (0.05, 0.04, 0.06, 0.05, 0.05), True),
    (0.05, (0.002, -0.003, 0.001, 0.0, 0.004), False),
    (0.40, (0.02, 0.30, 0.01, 0.03, 0.0), False),
    (0.40, (0.35, 0.38, 0.41, 0.30, 0.44), True),
    (-0.03, (-0.05, -0.05, -0.05, -0.05, -0.05), True),  # there is no gain to carry
]


@pytest.mark.parametrize(("listed", "neighbours", "carries"), CASES)
def test_a_gain_must_reach_neighbours(listed: float, neighbours: tuple[float, ...], carries: bool) -> None:
    gate = _check((listed,) * 5, neighbours)
    assert gate.passed is carries
    assert "5 pairs" in gate.reason


def test_what_is_no_gain_is_not_refused_for_being_one_on_the_listed_shapes_alone() -> None:
    """An edit without effect that read +0.8 % by chance was told to gain on the listed shapes only."""
    assert _check((0.03, -0.02, 0.04, -0.02, 0.01), (-0.012, -0.013, -0.011, -0.012, -0.012)).passed


@pytest.mark.parametrize(
    ("listed", "neighbours", "is_needed"),
    [
        (0.40, (), True),
        (0.40, (0.38, 0.35), True),  # too few to tell
        (0.40, (0.38, 0.35, 0.41), False),
        (0.05, (0.05, 0.04, 0.03), False),
        (0.40, (0.38, 0.10, 0.41), True),  # one shows a quarter of the gain
        (0.05, (0.002, -0.003, 0.001), True),
        (0.40, (0.02, 0.03, 0.01, 0.03, 0.02), False),  # there is enough to refuse it
    ],
)
def test_neighbours_are_timed_until_they_tell(listed: float, neighbours: tuple[float, ...], is_needed: bool) -> None:
    pairs = [PairRun(number=at) for at in range(len(neighbours) + 1)]
    for pair in pairs:
        pair.times[Arm.BEST, "s", "f"] = [(1.0 + listed, 1.0 + listed)]
        pair.times[Arm.CANDIDATE, "s", "f"] = [(1.0, 1.0)]
    for pair, gain in zip(pairs, neighbours, strict=False):
        pair.held_out["s"] = math.log1p(gain)
    assert needs_neighbours(pairs, "cpu") is is_needed


def _check(listed: tuple[float, ...], neighbours: tuple[float, ...]) -> GateResult:
    values = [math.log1p(one) for one in listed]
    ratios = tuple(Ratio(pair=at, leg=Arm.CANDIDATE, shape="s", cpu=one, wall=one) for at, one in enumerate(values))
    measurement = Measurement(
        status=Status.MEASURED,
        operator="gemm",
        shapes=("s",),
        plan=Plan(),
        environment=read_environment(),
        seed_commitment="",
        seed="",
        pairs=5,
        ratios=ratios,
    )
    pairs = [PairRun(number=at) for at in range(5)]
    for pair, gain in zip(pairs, neighbours, strict=True):
        pair.held_out["s"] = math.log1p(gain)
    return check_carry(measurement, pairs)


def _find_reasons() -> set[str]:
    """What a kernel is refused for, wherever that is said in the gate."""
    root = Path(__file__).parents[4] / "src" / "layline" / "campaign"
    found = set(REASONS)
    for file in (
        *(root / "measure").glob("*.py"),
        *(root / "measure" / "probes").glob("*.py"),
        *(root / "devices").glob("*.py"),
    ):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Fault", "Wrong"):
                named = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "property")]
                found |= {str(one.value) for one in named if isinstance(one, ast.Constant)}
    return found


@pytest.mark.parametrize("reason", sorted(_find_reasons()))
def test_every_reason_is_told_in_the_page(reason: str) -> None:
    page = "".join((Path(__file__).parents[4] / "docs" / name).read_text("utf-8") for name in ("gate.md", "gpu.md"))
    assert f"`{reason}`" in page
