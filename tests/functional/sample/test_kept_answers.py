"""Over the whole history of the sample: an answer found in a cache of earlier commits is the one found anew."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layline.app.patches import find_inputs, read_inventories
from layline.app.patches_drift import DriftOptions, find_drift
from layline.app.workspace import open_workspace
from layline.errors import Error
from layline.sample.write import write_sample


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
    """What is kept of a drift answer, whole or by lost names, is compared with what is found anew."""
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    rows = [
        find_drift(open_workspace(harbor / "layline.toml", at=commit), "keel", DriftOptions(culprits=True))[1].rows
        for commit in ("HEAD~4", "HEAD~2", "HEAD", "HEAD")
    ]
    assert rows[-1] == rows[-2]
    assert all(len(found) > 10 for found in rows)


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
