"""Over the whole history of the sample: an answer found in a cache of earlier commits is the one found anew."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Never

import pytest

from layline.app.gap_handed import read_patches
from layline.core.evidence import Severity
from layline.core.progress import Progress, silent
from layline.coupling.agree import find_owned
from layline.coupling.drift_model import Drift
from layline.coupling.judge import Judge
from layline.coupling.model import Consequence, Touch
from layline.coupling.pair import Pair
from layline.coupling.place import Place
from layline.coupling.states import Verdict
from layline.errors import Error
from layline.gap.endpoints import find_endpoints
from layline.gap.measure import Beside, measure_between
from layline.patches.drift import read
from layline.patches.drift.ask import DriftOptions, find_drift
from layline.patches.drift.kept import KEPT, KeptDrift
from layline.patches.kept import read_inventories
from layline.sample.write import write_sample
from layline.upgrade.judging import judge_between
from layline.workspace.kept import find_inputs
from layline.workspace.open import open_workspace


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kept") / "demo"
    write_sample(root)
    return root / "harbor"


@dataclass(frozen=True)
class Asked:
    """A commit of ours, and what was found there beside what earlier commits had left in the cache."""

    inputs: str
    """What its inventories depend on."""
    rows: int


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_every_inventory_and_drift_from_the_caches_of_earlier_commits(
    step: int, harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every commit since the pins were written or every third, oldest first; all that is kept, whole, row by row and
    file by file, is found anew too, and compared (`LAYLINE_CHECK`)."""
    listed = subprocess.run(["git", "rev-list", "HEAD"], cwd=harbor, capture_output=True, text=True, check=True)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path))
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    asked = [ask(harbor, commit) for commit in reversed(listed.stdout.split()[::step])]
    history = [one for one in asked if one is not None]
    assert len(history) > 20 / step
    assert max(one.rows for one in history) > 10
    if step == 1:
        assert len(history) - len({one.inputs for one in history}) > 2, "some commits change nothing one is read from"


def test_rows_of_other_files_are_recalled(harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that changes one file of ours judges what that file is seen by, and nothing else; the answer is the cold one."""
    told: list[tuple[str, int, int]] = []
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    find_rows(harbor, "HEAD~1")
    later = find_rows(harbor, "HEAD", lambda what, done, total, at="": told.append((what, done, total)))
    recalled, of = next((number, total) for what, number, total in told if what == KEPT)
    assert 0 < of - recalled < of / 2
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "empty"))
    assert later == find_rows(harbor, "HEAD")


def test_a_gap_report_and_a_drift_judge_each_place_once(
    harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the report judged the drift recalls, row by row and file by file; both tell the same places. A patched line
    that a row decides is judged by no name, and `upgrade` and `patches matrix` judge nothing again.
    """
    told: list[tuple[str, int, int]] = []
    by_name = watch_judge(monkeypatch)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    workspace = open_workspace(harbor / "layline.toml")
    upstream = workspace.open_backend("keel")
    threads: list[threading.Thread] = []

    def read_here(pair: Pair) -> tuple[tuple[Drift, ...] | None, Beside]:
        threads.append(threading.current_thread())
        return read_patches(pair)

    gap = measure_between(workspace, upstream, "keel", find_endpoints(workspace, upstream, "keel"), read_here)
    assert threads == [threading.main_thread()], "an interrupt ends what takes long"
    drift = find_rows(harbor, "HEAD", lambda what, done, total, at="": told.append((what, done, total)))
    assert [number == total for what, number, total in told if what == KEPT] == [True]
    broken = {one.location for one in gap.couplings if one.consequence is Consequence.WILL_BREAK}
    outside = {one.location for one in drift.elsewhere if one.severity is Severity.BREAKS}
    assert outside
    assert outside <= broken
    assert broken - outside <= {row.location for row in drift.rows}
    patched = [(one.location, one.target) for one in by_name if one.touch is Touch.PATCH]
    assert len(by_name) > 20
    assert not find_owned(drift.rows).intersection(patched)
    assert any(one.touch is Touch.PATCH and one.consequence is Consequence.WILL_BREAK for one in gap.couplings)
    monkeypatch.setattr(Judge, "_judge", refuse)
    monkeypatch.setattr(read, "judge_subjects", refuse)
    between = judge_between(workspace, "keel", gap.tip.commit.hash)
    assert {row.location for row in between.rows} == {row.location for row in drift.rows}
    assert any(row.comparison is not None for row in between.rows)


def watch_judge(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """The places that are judged by their name alone."""
    seen: list[Place] = []
    judge = Judge._judge

    def look(self: Judge, place: Place) -> Verdict | None:
        seen.append(place)
        return judge(self, place)

    monkeypatch.setattr(Judge, "_judge", look)
    return seen


def refuse(*_: object, **__: object) -> Never:
    raise AssertionError("judged again")


def find_rows(harbor: Path, commit: str, progress: Progress = silent) -> KeptDrift:
    workspace = open_workspace(harbor / "layline.toml", at=commit)
    return find_drift(workspace, "keel", DriftOptions(culprits=True), progress)[1]


def ask(harbor: Path, commit: str) -> Asked | None:
    """The inventories of a commit, one of them on the way to its drift; None before the pins were written."""
    workspace = open_workspace(harbor / "layline.toml", at=commit)
    try:
        others = tuple(key for key in workspace.settings.backends if key != "keel")
        read_inventories(workspace, others)
        rows = find_drift(workspace, "keel", DriftOptions(culprits=True))[1].rows
    except Error as error:
        if "LAYLINE_CHECK" in error.message:
            raise
        return None
    return Asked(repr(find_inputs(workspace)), len(rows))
