from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from layline.campaign.ledger.round_time import SLACK, estimate_round
from layline.campaign.ledger.state import State
from layline.campaign.measure.build import FLAGS
from layline.campaign.operators import load_operator
from layline.campaign.proposers import Brief, Declined, Proposed
from layline.campaign.proposers.bounds import Bound
from layline.campaign.proposers.knobs import set_knobs
from layline.campaign.proposers.screen import screen
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.proposers.search import Search, _find_slower, _read_gain
from layline.campaign.values.measurement import Plan
from layline.campaign.values.operator import Operator, Shape, Snapshot

LOOKED = [
    (
        [Screened(name=TODAY, score=2.0), Screened(name="a", score=1.0), Screened(name="b", score=3.0)],
        "a",
        {TODAY, "b"},
    ),
    ([Screened(name=TODAY, score=1.0), Screened(name="a", score=2.0)], "a", {TODAY, "a"}),
    (
        [
            Screened(name=TODAY, score=2.0),
            Screened(name="a", score=1.5),
            Screened(name="early", score=1.0, is_out=True),
        ],
        "a",
        {TODAY},
    ),
    (
        [Screened(name=TODAY, score=2.0), Screened(name="broken", score=None, reason="does not build")],
        None,
        {TODAY, "broken"},
    ),
]


@pytest.mark.parametrize(("looked", "best", "slower"), LOOKED)
def test_a_look_names_the_fastest_and_what_need_not_be_seen_again(
    looked: list[Screened], best: str | None, slower: set[str]
) -> None:
    assert _read_gain(looked)[1] == best
    assert set(_find_slower(looked)) == slower


@pytest.fixture(scope="module")
def gemm() -> tuple[Operator, tuple[Shape, ...]]:
    operator = load_operator("gemm")
    return operator, operator.shapes[:1]


def _brief(text: str) -> Brief:
    return Brief(
        campaign="c",
        operator="gemm",
        language="C",
        hardware="cpu",
        metric="m",
        allowed_files=("k.c",),
        best_round=1,
        effective=(),
        ineffective=(),
        inconclusive=(),
        slowest=(),
        lessons=(),
        demanded=(),
        time_limit_s=5.0,
        kernel=(("k.c", text),),
    )


@dataclass
class Scripted:
    """Looks whose outcome is given: which kernel is faster on this machine is no business of the search's rules."""

    faster: tuple[str, ...]
    seen: list[set[str]] = field(default_factory=list)

    def __call__(self, *given: Any, may_go_on: Any) -> list[Screened]:
        names = set(given[2])
        self.seen.append(names - {TODAY})
        scores = {name: 1.0 - 0.1 * self.faster.index(name) if name in self.faster else 3.0 for name in names}
        return [Screened(name=name, score=2.0 if name == TODAY else score) for name, score in scores.items()]


def test_structures_come_first_and_nothing_is_proposed_twice(gemm: tuple[Operator, tuple[Shape, ...]]) -> None:
    operator, shapes = gemm
    operator = replace(operator, variants=(("knobless", "int one;"), ("other", "int two;")))
    looks = Scripted(faster=("other", "knobless"))
    search = Search(operator, shapes, settings=1, few=1, look=looks)
    naive = dict(operator.starts)["naive"]
    # as if each had been refused by the gate: the next best follows, while any is seen to be faster
    answers = [search.propose(_brief(naive)) for _turn in range(4)]
    changes = [answer.change for answer in answers if isinstance(answer, Proposed)]
    assert changes == ["all variants: knobless", "all variants: other"]
    assert looks.seen[0] == {"blocked", "knobless", "other"}
    assert all(isinstance(answer, Declined) and answer.is_final for answer in answers[2:])


def test_where_no_structure_is_faster_nothing_is_proposed(gemm: tuple[Operator, tuple[Shape, ...]]) -> None:
    operator, shapes = gemm
    answer = Search(operator, shapes, look=Scripted(faster=())).propose(_brief(dict(operator.starts)["naive"]))
    assert isinstance(answer, Declined)
    assert "none faster" in answer.reason


def test_a_look_runs_what_it_is_given(gemm: tuple[Operator, tuple[Shape, ...]]) -> None:
    """Built, run, checked and timed; what does not compile or is wrong has no time, whatever the others have."""
    operator, shapes = gemm
    naive = dict(operator.starts)["naive"]
    texts = {TODAY: naive, "turned": f"{naive}\nint unused;\n", "broken": "int", "wrong": operator.wrong}
    looked = screen(
        operator, shapes, {name: Snapshot(files=(("k.c", text),)) for name, text in texts.items()}, calls=(2,)
    )
    assert {item.name for item in looked if item.score is not None} == {TODAY, "turned"}
    assert {item.name for item in looked if item.score is None} == {"broken", "wrong"}


def test_a_kernel_at_the_roof_needs_no_search(gemm: tuple[Operator, tuple[Shape, ...]]) -> None:
    operator, shapes = gemm
    bound = Bound(shape="tiny-48", rate=100.0, intensity=8.0, reading="", roof_share=0.97)
    answer = Search(operator, shapes).propose(replace(_brief("int f;"), bounds=(bound,)))
    assert isinstance(answer, Declined)
    assert "roof" in answer.reason


def test_a_search_without_time_says_so(gemm: tuple[Operator, tuple[Shape, ...]]) -> None:
    operator, shapes = gemm
    answer = Search(operator, shapes, lambda: False).propose(_brief(dict(operator.starts)["naive"]))
    assert answer == Declined(reason="the time is used up", is_final=True)


HALF = int("avx512f" in Path("/proc/cpuinfo").read_text("utf-8", "replace"))
SETTINGS = [
    {},
    {"HALF": HALF, "ROWS": 4, "VECTORS": 3, "DEPTH": 128, "COPY": 1},
    {"ROWS": 6, "VECTORS": 4 if HALF else 2, "UNROLL": 4},  # four vectors fit only where there are 32 wide registers
]
SIZES = [(1, 1, 1), (13, 70, 0), (0, 4, 5), (17, 33, 65), (48, 64, 48), (97, 113, 600)]


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_direct_variant_is_right_whatever_its_setting(tmp_path: Path, setting: dict[str, int]) -> None:
    source, library = tmp_path / "k.c", tmp_path / "k.so"
    source.write_text(set_knobs(dict(load_operator("gemm").variants)["direct"], setting))
    subprocess.run(["cc", *FLAGS, "-o", str(library), str(source)], check=True)
    kernel = ctypes.CDLL(str(library))
    rng = np.random.default_rng(3)
    for m, n, k in SIZES:
        a, b, dout = (rng.standard_normal(extent, dtype=np.float32) for extent in ((m, k), (n, k), (m, n)))
        out, da, db = (np.full(extent, np.nan, dtype=np.float32) for extent in ((m, n), (m, k), (n, k)))
        places = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, dout, out, da, db)]
        sizes = [ctypes.c_int64(size) for size in (m, n, k)]
        kernel.forward(places[0], places[1], places[3], *sizes)
        kernel.backward(*places[:3], *places[4:], *sizes)
        for found, expected in ((out, a @ b.T), (da, dout @ b), (db, dout.T @ a)):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def _run(number: int, pairs: int, **seconds: float) -> SimpleNamespace:
    measurement = SimpleNamespace(seconds=tuple(seconds.items()), pairs=pairs, plan=Plan(), shapes=("a", "b", "c", "d"))
    return SimpleNamespace(number=number, runs=(SimpleNamespace(measurement=measurement),))


PACE = [
    ((), 0.0),
    # the baseline alone: two legs on half of the shapes
    ((_run(1, 3, build=1.0, controls=4.0, timing=3.0, gates=2.0),), SLACK * 10.0),
    # a round that took all sixteen pairs: the next may end after five
    ((_run(1, 3, timing=3.0), _run(2, 16, build=1.0, controls=5.0, timing=16.0, gates=2.0)), SLACK * 13.0),
]


@pytest.mark.parametrize(("rounds", "expected"), PACE)
def test_the_shortest_round_is_estimated_from_those_before(rounds: tuple[Any, ...], expected: float) -> None:
    state = SimpleNamespace(rounds=rounds, representative=("a", "b"))
    assert estimate_round(cast("State", state)) == pytest.approx(expected)
