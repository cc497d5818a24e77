"""`kill -9` at every step, a full disk: nothing lost, nothing doubled, `resume` continues."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from campaign_project import begin, copy_project, inside, now, propose, read_manifest, start_project
from commands import layline
from histories import History
from layline.app.campaign import campaign_baseline, campaign_new, campaign_resume, campaign_round, campaign_status
from layline.campaign.folder.derive import derive_folder
from layline.campaign.ledger import crash_points as faults
from layline.campaign.ledger.ledger import Ledger
from layline.errors import BenchError

FOLDER = "agent/workspace/demo"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose baseline is measured."""
    history = start_project(tmp_path_factory.mktemp("template") / "project")
    begin(history.path)
    with inside(history.path):
        campaign_baseline(now=now)
    return history.path


@pytest.fixture
def project(tmp_path: Path, template: Path) -> History:
    return copy_project(template, tmp_path / "project")


def in_child(action: Callable[[], object], *, kill_at: int | None = None, file_size: int | None = None) -> int:
    """Run `action` in a forked process; the signal that ended it, else minus its exit code."""
    pid = os.fork()
    if pid == 0:  # pragma: no cover  the child never returns
        try:
            faults._passed = 0
            if kill_at is not None:
                os.environ[faults.VARIABLE] = str(kill_at)
            if file_size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
            action()
        except BenchError:
            os._exit(3)
        except BaseException:  # noqa: BLE001
            import traceback

            traceback.print_exc()
            os._exit(4)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


def check_whole(history: History, *, rounds: int, kernel: str) -> None:
    """The state after everything settled: as if nothing had ever gone wrong."""
    folder = history.path / FOLDER
    entries = Ledger(folder).read().entries
    kinds = [entry.kind for entry in entries]
    assert kinds.count("opened") == kinds.count("settled") == rounds
    assert (history.path / "kernel.sh").read_text() == kernel
    assert history.git("status", "--porcelain") == ""
    for name, content in derive_folder(entries, FOLDER).items():
        assert (folder / name).read_bytes() == content, name
    assert not list(folder.rglob("*.tmp"))


def tries(every: int, last: int) -> list[object]:
    """Every few kill points in the fast tier, all of them (and some beyond the last) in the slow one."""
    return [at if at % every == 1 and at <= last else pytest.param(at, marks=pytest.mark.slow) for at in range(1, 60)]


@pytest.mark.parametrize("outcome", ["accepted", "rolled back"])
@pytest.mark.parametrize("kill_at", tries(6, 44))
def test_a_round_killed_anywhere_is_resumed_once(project: History, kill_at: int, outcome: str) -> None:
    history = project
    kernel = "COST=0.80\n" if outcome == "accepted" else "COST=1.20\n"
    with inside(history.path):
        (history.path / "kernel.sh").write_text(kernel)
        ended = in_child(lambda: campaign_round(propose(), now=now), kill_at=kill_at)
        if ended != signal.SIGKILL:
            assert ended == 0
            pytest.skip(f"the round has fewer than {kill_at} steps")
        before = len(campaign_status().data["rounds"])
        campaign_resume(now=now)
        if before == 1:  # the round had no number yet: the edit is still there, and the user says it again
            assert (history.path / "kernel.sh").read_text() == kernel
            campaign_round(propose(), now=now)
    check_whole(history, rounds=2, kernel=kernel if outcome == "accepted" else "COST=1.00\n")
    commits = history.git("log", "--format=%s", "main..optimize/demo").splitlines()
    assert len(commits) == (1 if outcome == "accepted" else 0)


@pytest.mark.parametrize("kill_at", tries(8, 36))
def test_a_beginning_killed_anywhere_begins_once(tmp_path: Path, kill_at: int) -> None:
    history = start_project(tmp_path / "project")

    def all_of_it() -> None:
        campaign_new(read_manifest(), now=now)
        campaign_baseline(now=now)

    with inside(history.path):
        if in_child(all_of_it, kill_at=kill_at) != signal.SIGKILL:
            pytest.skip(f"the beginning has fewer than {kill_at} steps")
        entries = Ledger(history.path / FOLDER).read().entries
        if not [entry for entry in entries if entry.kind == "prepared"]:
            campaign_new(read_manifest(), now=now)
        campaign_resume(now=now)
        if not campaign_status().data["rounds"]:
            campaign_baseline(now=now)
    check_whole(history, rounds=1, kernel="COST=1.00\n")


def test_a_full_disk_stops_the_round_and_resume_continues(project: History) -> None:
    history = project
    with inside(history.path):
        (history.path / "kernel.sh").write_text("COST=0.80\n")
        full = (history.path / FOLDER / "ledger.jsonl").stat().st_size + 2500
        assert in_child(lambda: campaign_round(propose(), now=now), file_size=full) == -3
        assert Ledger(history.path / FOLDER).read().torn == b""
        campaign_resume(now=now)
    check_whole(history, rounds=2, kernel="COST=0.80\n")


def test_a_torn_entry_never_happened(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    begin(history.path)
    ledger = history.path / FOLDER / "ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + b'{"n":2,"at":"2026')
    with inside(history.path):
        campaign_baseline(now=now)
    assert [entry.kind for entry in Ledger(history.path / FOLDER).read().entries][2] == "recovered"


def test_edits_made_after_a_crash_are_kept_aside(project: History) -> None:
    history = project
    with inside(history.path):
        (history.path / "kernel.sh").write_text("COST=1.20\n")
        assert in_child(lambda: campaign_round(propose(), now=now), kill_at=10) == signal.SIGKILL
        (history.path / "kernel.sh").write_text("COST=0.70 # my next idea\n")
        campaign_resume(now=now)
    rescued = list((history.path / FOLDER / "rescued").iterdir())
    assert [path.read_text() for path in rescued] == ["COST=0.70 # my next idea\n"]


def test_the_command_line_survives_a_kill(tmp_path: Path) -> None:
    """The same through a command of its own process, as users run it."""
    history = start_project(tmp_path / "project")
    begin(history.path)
    killed = layline("campaign", "baseline", cwd=history.path, env={faults.VARIABLE: "9"})
    assert killed.code == -signal.SIGKILL
    resumed = layline("campaign", "resume", "--format", "json", cwd=history.path)
    assert resumed.code == 0, resumed.err
    check_whole(history, rounds=1, kernel="COST=1.00\n")
