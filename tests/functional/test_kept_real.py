"""Over commits of a real project: answers from the cache of earlier commits are those found anew.

LAYLINE_REAL_PROJECT names a folder with a layline.toml, LAYLINE_REAL_COMMITS how many first-parent commits (default 40).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commands import layline


@pytest.mark.real
def test_commits_of_a_real_project(tmp_path: Path) -> None:
    project = os.environ.get("LAYLINE_REAL_PROJECT")
    if project is None:
        pytest.skip("LAYLINE_REAL_PROJECT is not set")
    place = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--shared", "--no-checkout", project, str(place)], check=True)
    shutil.copy(Path(project) / "layline.toml", place)
    count = os.environ.get("LAYLINE_REAL_COMMITS", "40")
    command = ["git", "rev-list", "--first-parent", f"-{count}", "HEAD"]
    listed = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout.split()
    env = {"LAYLINE_CACHE": str(tmp_path / "cache"), "LAYLINE_CHECK": "1"}
    for commit in reversed(listed):
        answer = layline("patches", "list", "--at", commit, "--format", "json", cwd=place, env=env)
        assert answer.code == 0, f"{commit}: {answer.err}"
