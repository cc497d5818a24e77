"""Probes that no clock decides run side by side, and what they find is told as if they had run in order."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.measure.cast import Cast
from layline.campaign.measure.probes.beside import FEW, deal, find_ahead, run_beside, split
from layline.campaign.measure.probes.probe import AGAIN, Probe, Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.probes.table import BEFORE_ACCEPTING, EARLY, PROBES
from layline.campaign.values.operator import Snapshot
from layline.errors import BenchError


def set_stage(*, forks: bool) -> Any:
    device = SimpleNamespace(starts_slowly=False, forks=forks, spread=nullcontext)
    return SimpleNamespace(device=device, rng=np.random.default_rng(7))


TIMED = {"stalls", "values", "state", "endurance", "between the listed sizes"}


def nobody(*_asked: object, **_more: object) -> Any:
    raise AssertionError("no process is needed here")


def make(run: Callable[[Trial], Shown], name: str = "one", *, is_apart: bool = True) -> Probe:
    return Probe(name=name, run=run, is_beside=not is_apart, is_apart=is_apart, opens_own=True)


def try_all(*probes: Probe, lanes: int = 4, forks: bool = False) -> Trial:
    nothing: Any = None
    on = Trial(
        stage=set_stage(forks=forks),
        trial=nothing,
        open_start=nobody,
        open_again=nobody,
        open_best=nobody,
        snapshot=Snapshot(files=()),
        shown={"held-out-shape": "neighbours"},
    )
    run_beside(probes, on, frozenset(), lambda _said: None, lanes)
    return on


def show(*shown: tuple[str, str]) -> Callable[[Trial], Shown]:
    return lambda _on: iter(shown)


def raise_(name: str) -> Callable[[Trial], Shown]:
    def run(_on: Trial) -> Shown:
        yield from ()
        raise Fault(name, f"{name} was found")

    return run


def test_no_probe_that_reads_a_clock_runs_beside_another() -> None:
    sequential = {one.name for one in (*PROBES, *BEFORE_ACCEPTING) if not one.is_beside and not one.is_apart}
    assert sequential >= TIMED
    assert "stream order" in sequential


@pytest.mark.parametrize("lanes", [0, 1, 3, 5, 10])
def test_every_probe_is_dealt_once_whatever_lanes_there_are(lanes: int) -> None:
    probes = tuple(one for one in PROBES if one.is_beside or one.is_apart)
    shared, apart = split(probes, lanes)
    assert sorted(one.name for one in (*shared, *apart)) == sorted(one.name for one in probes)
    assert all(one.is_apart for one in apart)
    assert bool(apart) is bool(lanes)
    started = list(find_ahead(probes, lanes, probes))
    with_trial, beside = split(probes, lanes, is_slow=True)
    assert sorted(one.name for share in deal(beside, lanes) for one in share) == sorted(one.name for one in beside)
    theirs = {one.name for one in beside} | {one.name for one in probes if one.opens_own}
    assert len(started) == sum(one.name in theirs or what != AGAIN for one in probes for what in one.ahead)
    assert ("changed inputs" in {one.name for one in with_trial}) is (lanes <= FEW)
    assert all(lane or not lanes or what != AGAIN for what, lane in started)
    early = tuple(one for one in EARLY if one.is_beside or one.is_apart)
    more = [*started, *find_ahead((*probes, *early), lanes, early)]
    assert sorted(more) == sorted(find_ahead((*probes, *early), lanes, (*probes, *early)))  # nobody changes lanes
    assert (AGAIN, 0) in more[len(started) :]  # a young process beside the old one


def test_who_was_started_first_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe waited seconds for a process that had just been started, while an older one was ready."""
    started = iter(range(9))
    monkeypatch.setattr(Cast, "_open_again", lambda _cast, _room: next(started))
    nothing: Any = SimpleNamespace(candidate=None, device=SimpleNamespace(starts_slowly=True))
    cast: Any = Cast(nothing, nothing)
    cast.start_ahead(0, [(AGAIN, 3), (AGAIN, 0)])
    cast.start_ahead(0, [(AGAIN, 3), (AGAIN, 0)])
    assert cast.idle == [1, 3]
    assert [cast.open_again(None, (), lane=3) for _ in range(3)] == [0, 2, 4]


def test_they_run_at_the_same_time() -> None:
    met = threading.Barrier(3, timeout=20)

    def wait(_on: Trial) -> Shown:
        met.wait()
        yield from ()

    try_all(*(make(wait, name) for name in "abc"))


@pytest.mark.parametrize("forks", [False, True])
def test_a_property_that_two_show_has_the_evidence_of_both(forks: bool) -> None:
    first = make(show(("memory-safe", "a sanitizer")), "a")
    second = make(show(("memory-safe", "the end of memory"), ("held-out-shape", "far extents")), "b", is_apart=False)
    found = try_all(first, second, forks=forks).shown
    assert found["held-out-shape"] == "neighbours; far extents"
    assert sorted(found["memory-safe"].split("; ")) == ["a sanitizer", "the end of memory"]


def test_of_several_faults_the_first_of_the_table_is_told() -> None:
    late = threading.Event()

    def wait(_on: Trial) -> Shown:
        yield from ()
        assert late.wait(20)
        raise Fault("hard-inputs", "found last")

    def end(_on: Trial) -> Shown:
        yield from ()
        late.set()
        raise Fault("memory-safe", "found first")

    with pytest.raises(Fault) as caught:
        try_all(make(show()), make(wait, "a"), make(end, "b"), make(raise_("special-values"), "c"))
    assert caught.value.property == "hard-inputs"


def test_the_longest_begin_first_and_what_comes_before_a_fault_is_still_made() -> None:
    table = (make(raise_("correct"), "a"), make(show(), "b"), replace(make(raise_("memory-safe"), "c"), is_long=True))
    assert [one.name for one in split(table, 1)[1]] == ["c", "a", "b"]
    with pytest.raises(Fault, match="correct was found"):
        try_all(*table, lanes=1)


def test_forks_tell_their_faults_and_draw_by_chances_of_their_own() -> None:
    def draw(on: Trial) -> Shown:
        yield "repeatable", str(on.stage.rng.integers(0, 1 << 40))

    probes = (make(draw, "a"), make(draw, "b"), make(draw, "c", is_apart=False))
    drawn = try_all(*probes, forks=True).shown["repeatable"].split("; ")
    assert len(set(drawn)) == len(drawn) == len(probes)
    with pytest.raises(Fault) as caught:
        try_all(make(show(), "a"), make(raise_("memory-safe"), "b"), make(raise_("correct"), "c"), forks=True)
    assert (caught.value.property, caught.value.reason) == ("memory-safe", "memory-safe was found")


def test_what_a_probe_draws_does_not_depend_on_who_was_free() -> None:
    """One lane or many: the seed alone decides, so that a run can be repeated."""

    def draw(name: str) -> Callable[[Trial], Shown]:
        return lambda on: iter([(name, str(on.stage.rng.integers(0, 1 << 40)))])

    probes = [make(draw(name), name) for name in "abcdef"]
    found = [try_all(*probes, lanes=lanes, forks=True).shown for lanes in (1, 3, 6)]
    assert found[0] == found[1] == found[2]
    assert len(set(found[0].values())) == len(probes) + 1


def test_nobody_waits_for_a_lane_that_is_busy(tmp_path: Path) -> None:
    """Dealt beforehand, the third would have stood behind the first, which ends only after it."""

    def wait(_on: Trial) -> Shown:
        yield from ()
        for _try in range(2000):
            if (tmp_path / "c").exists():
                return
            time.sleep(0.01)
        raise AssertionError("nobody came")

    def end(_on: Trial) -> Shown:
        yield from ()
        (tmp_path / "c").touch()

    try_all(make(wait, "a"), make(show(), "b"), make(show(), "d"), make(end, "c"), lanes=2, forks=True)


def test_a_fork_that_ends_without_an_answer_is_no_verdict() -> None:
    def end(_on: Trial) -> Shown:
        yield from ()
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(BenchError, match="ended without an answer"):
        try_all(make(end, "a"), make(show(), "b", is_apart=False), forks=True)


def test_faults_and_disturbances_survive_a_pipe() -> None:
    for one in (Fault("correct", "wrong", "by much"), Disturbed("Busy.")):
        again = pickle.loads(pickle.dumps(one))
        assert (str(again), vars(again)) == (str(one), vars(one))
