"""Workspace mode: iterate in a minimal copy, sync only the kernel back, let the real tree have the last word."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign_project import HARNESS, MANIFEST, inside, now, propose, read_manifest, start_project
from histories import History
from layline.app.campaign import campaign_baseline, campaign_new, campaign_round
from layline.errors import ConfigError

FOLDER = "agent/workspace/demo"
WORKSPACE = (
    MANIFEST.replace("execution_mode: repo", "execution_mode: workspace")
    .replace("kernel_source: kernel.sh", "kernel_source: lib/kernel.sh")
    .replace("quick_command: sh bench.sh", "quick_command: KERNEL=src/lib/kernel.sh sh bench/tools/bench.sh")
    .replace("test_command: sh -n kernel.sh", "test_command: sh check.sh")
    + "workspace_files: {src: [lib/kernel.sh, lib/common.sh], bench: [tools/bench.sh]}\n"
)


@pytest.fixture
def project(tmp_path: Path) -> History:
    history = start_project(
        tmp_path / "project",
        **{
            "lib/kernel.sh": "COST=1.00\n",
            "lib/common.sh": "# direct dependency\n",
            "tools/bench.sh": HARNESS,
            "check.sh": '. ./lib/kernel.sh; [ "$COST" != 0.70 ]\n',
        },
    )
    with inside(history.path):
        campaign_new(read_manifest(WORKSPACE), now=now)
        campaign_baseline(now=now)
    return history


def test_the_copy_is_minimal_and_recorded(project: History) -> None:
    copied = sorted(
        path.relative_to(project.path / FOLDER).as_posix()
        for part in ("src", "tests", "bench")
        for path in (project.path / FOLDER / part).rglob("*.sh")
    )
    assert copied == ["bench/tools/bench.sh", "src/lib/common.sh", "src/lib/kernel.sh"]
    assert project.git("status", "--porcelain") == ""


def test_only_the_kernel_is_synced_back(project: History) -> None:
    (project.path / FOLDER / "src/lib/kernel.sh").write_text("COST=0.80\n")
    (project.path / FOLDER / "src/lib/common.sh").write_text("# scaffolding\n")
    with inside(project.path):
        assert not campaign_round(propose(), now=now).needs_person
    assert project.git("show", "--name-only", "--format=", "HEAD") == "lib/kernel.sh"
    assert (project.path / "lib/kernel.sh").read_text() == "COST=0.80\n"
    assert project.git("status", "--porcelain") == ""


def test_the_integration_gate_has_the_last_word(project: History) -> None:
    before = project.git("rev-parse", "HEAD")
    (project.path / FOLDER / "src/lib/kernel.sh").write_text("COST=0.70\n")
    with inside(project.path):
        answer = campaign_round(propose(), now=now)
    assert answer.needs_person
    assert answer.data["verdict"]["outcome"] == "ACCEPT"
    for place in (project.path / "lib/kernel.sh", project.path / FOLDER / "src/lib/kernel.sh"):
        assert place.read_text() == "COST=1.00\n"
    assert project.git("rev-parse", "HEAD") == before
    assert project.git("status", "--porcelain") == ""
    assert "integration gate, test: failed" in (project.path / FOLDER / "rounds/round-2/summary.md").read_text()


def test_the_real_kernel_is_not_edited_beside_the_copy(project: History) -> None:
    (project.path / "lib/kernel.sh").write_text("COST=0.10\n")
    (project.path / FOLDER / "src/lib/kernel.sh").write_text("COST=0.80\n")
    with inside(project.path), pytest.raises(ConfigError, match=r"More than the kernel changed: lib/kernel\.sh"):
        campaign_round(propose(), now=now)
