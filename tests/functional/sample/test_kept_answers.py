"""Over the whole history of the sample: an answer found in a cache of earlier commits is the one found anew."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layline.core.progress import Progress, silent
from layline.errors import Error
from layline.patches.drift.ask import DriftOptions, find_drift
from layline.patches.drift.kept import KEPT, KeptDrift
from layline.patches.kept import read_inventories
from layline.sample.write import write_sample
from layline.workspace.kept import find_inputs
from layline.workspace.open import open_workspace


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("kept") / "demo"
    write_sample(root)
    return root / "harbor"


def test_every_commit_from_the_caches_of_earlier_ones(
    harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each inventory is found in the cache or not, found anew, and compared (`LAYLINE_CHECK`)."""
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    listed = subprocess.run(
        ["git", "rev-list", "--reverse", "HEAD"], cwd=harbor, capture_output=True, text=True, check=True
    )
    found = [inputs for commit in listed.stdout.split() if (inputs := ask(harbor, commit)) is not None]
    assert len(found) > 20
    assert len(found) - len(set(found)) > 2, "some commits change nothing an inventory is read from"


def test_drift_from_the_caches_of_earlier_commits(
    harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of a drift answer, whole, row by row, file by file, is compared with what is found anew."""
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    listed = subprocess.run(
        ["git", "rev-list", "--reverse", "HEAD"], cwd=harbor, capture_output=True, text=True, check=True
    )
    rows = [len(found.rows) for commit in listed.stdout.split() if (found := find_rows(harbor, commit)) is not None]
    assert len(rows) > 20
    assert max(rows) > 10


def test_rows_of_other_files_are_recalled(harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that changes one file of ours judges what that file is seen by, and nothing else; the answer is the cold one."""
    told: list[tuple[str, int, int]] = []
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    find_rows(harbor, "HEAD~1")
    later = find_rows(harbor, "HEAD", lambda *step: told.append(step))
    recalled, of = next((number, total) for what, number, total in told if what == KEPT)
    assert 0 < of - recalled < of / 2
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "empty"))
    assert later == find_rows(harbor, "HEAD")


def find_rows(harbor: Path, commit: str, progress: Progress = silent) -> KeptDrift | None:
    """None before the pins were written."""
    workspace = open_workspace(harbor / "layline.toml", at=commit)
    try:
        return find_drift(workspace, "keel", DriftOptions(culprits=True), progress)[1]
    except Error as error:
        if "LAYLINE_CHECK" in error.message:
            raise
        return None


def ask(harbor: Path, commit: str) -> str | None:
    """What the inventories of a commit depend on; None before the pins were written."""
    workspace = open_workspace(harbor / "layline.toml", at=commit)
    try:
        read_inventories(workspace, tuple(workspace.settings.backends))
    except Error as error:
        if "LAYLINE_CHECK" in error.message:
            raise
        return None
    return repr(find_inputs(workspace))
