"""Over commits of a real project and of its upstream: answers from the cache of earlier commits are those found anew.

LAYLINE_REAL_PROJECT names a folder with a layline.toml, LAYLINE_REAL_COMMITS how many first-parent commits (default 40),
LAYLINE_REAL_BACKEND a backend of it (default: its first) and LAYLINE_REAL_TIPS how many upstream commits (default 20).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from commands import layline


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project = os.environ.get("LAYLINE_REAL_PROJECT")
    if project is None:
        pytest.skip("LAYLINE_REAL_PROJECT is not set")
    found = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", project, str(found)], check=True)
    shutil.copy(Path(project) / "layline.toml", found)
    return found


@pytest.mark.real
def test_lists_of_a_real_project(place: Path, tmp_path: Path) -> None:
    for commit in list_commits(place, "LAYLINE_REAL_COMMITS", "40", "HEAD"):
        ask(tmp_path, place, "patches", "list", "--at", commit)


@pytest.mark.real
def test_drift_of_a_real_project(place: Path, tmp_path: Path) -> None:
    for commit in list_commits(place, "LAYLINE_REAL_COMMITS", "40", "HEAD"):
        ask(
            tmp_path,
            place,
            "patches",
            "drift",
            find_backend(place)[0],
            "--culprits",
            "--fail-on",
            "none",
            "--at",
            commit,
        )


@pytest.mark.real
def test_drift_over_days_of_upstream(place: Path, tmp_path: Path) -> None:
    key, objects, ref = find_backend(place)
    for tip in list_commits(Path(objects), "LAYLINE_REAL_TIPS", "20", ref):
        ask(tmp_path, place, "patches", "drift", key, "--culprits", "--fail-on", "none", "--to", tip)


def find_backend(place: Path) -> tuple[str, str, str]:
    """Key, objects and ref of the backend that is asked about."""
    backends = tomllib.loads((place / "layline.toml").read_text(encoding="utf-8"))["backends"]
    key = os.environ.get("LAYLINE_REAL_BACKEND") or next(iter(backends))
    return key, str(backends[key]["objects"]), str(backends[key]["ref"])


def list_commits(place: Path, variable: str, default: str, ref: str) -> list[str]:
    """The oldest first."""
    count = os.environ.get(variable, default)
    command = ["git", "rev-list", "--first-parent", f"-{count}", ref]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.split()[::-1]


def ask(tmp_path: Path, place: Path, *words: str) -> None:
    env = {"LAYLINE_CACHE": str(tmp_path / "cache"), "LAYLINE_CHECK": "1"}
    answer = layline(*words, "--format", "json", cwd=place, env=env)
    assert answer.code == 0, f"{words}: {answer.err}"
