"""A whole campaign over a real repository and a real benchmark command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import layline
from campaign_project import MANIFEST, begin, copy_project, inside, now, propose, read_manifest, start_project
from histories import History
from layline.app.campaign import (
    campaign_baseline,
    campaign_move,
    campaign_new,
    campaign_note,
    campaign_resume,
    campaign_round,
    campaign_status,
    campaign_stop,
)
from layline.app.campaign_end import campaign_verify
from layline.campaign.audit import find_violations, read_directory
from layline.campaign.ledger.ledger import Ledger
from layline.campaign.session.open import read_campaign
from layline.campaign.values.bench_csv import parse_bench_csv
from layline.campaign.values.manifest import shape_list
from layline.campaign.values.measurement import Bucket
from layline.errors import BenchError, ConfigError, Error, RecordError

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


def edit(history: History, text: str) -> None:
    (history.path / "kernel.sh").write_text(text)


def test_validation_logs_hold_what_the_commands_printed(project: History) -> None:
    edit(project, "COST=0.80\n")
    with inside(project.path):
        campaign_round(propose("cheaper loop"), now=now)
    before = (project.path / FOLDER / "rounds/round-1/artifacts/quick_baseline.log").read_text().splitlines()
    after = (project.path / FOLDER / "rounds/round-2/artifacts/quick_validation.log").read_text().splitlines()
    header = (project.path / FOLDER / "rounds/round-1/artifacts/benchmark.csv").read_text().splitlines()[0]
    for lines in (before, after):
        assert lines[0].startswith("status MEASURED")
        assert header in lines
        assert any(line.startswith("== quick command, kernel ") for line in lines)
        assert "seen by the harness" in lines
    rows = {line.split(",", 1)[0] for line in before[before.index(header) + 1 :] if line.count(",") > 8}
    assert rows == {"small", "middle", "large"}


def test_an_improvement_is_committed_in_the_prescribed_form(project: History) -> None:
    edit(project, "COST=0.80\n")
    with inside(project.path):
        answer = campaign_round(propose("cheaper loop"), now=now)
    assert not answer.needs_person
    assert answer.data["settled"] == "ACCEPTED"
    assert project.git("status", "--porcelain") == ""
    assert project.git("branch", "--show-current") == "optimize/demo"
    subject, _, body = project.git("log", "-1", "--format=%B").partition("\n")
    assert subject == "[optimize] gemm TRITON round-2: cheaper loop"
    assert [line.split(":")[0] for line in body.strip().splitlines() if line] == [
        "Hypothesis",
        "Result",
        "Details",
        "Layline-Campaign",
    ]
    assert project.git("show", "HEAD:kernel.sh") == "COST=0.80"


def test_a_loss_is_rolled_back_exactly(project: History) -> None:
    before = project.git("rev-parse", "HEAD")
    edit(project, "COST=1.10\n")
    (project.path / "kernel.sh").chmod(0o755)
    project.git("add", "kernel.sh")
    with inside(project.path):
        answer = campaign_round(propose("slower"), now=now)
    assert answer.needs_person
    assert (project.path / "kernel.sh").read_text() == "COST=1.00\n"
    assert project.git("status", "--porcelain") == ""
    assert project.git("rev-parse", "HEAD") == before


BROKEN = [
    ("COST=0.5; CHECK=FAIL\n", "correct"),
    ("COST=0.5; CRASH=1\n", "wrote no CSV"),
    ("COST=0.5; CUT=1\n", "not readable"),
    ("COST=0.5; CHECK=NaN\n", "not readable"),
    ("COST=nan\n", "not readable"),
    ("COST=(\n", "test command failed"),
]


@pytest.mark.parametrize(("kernel", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_a_broken_candidate_is_rolled_back_with_its_reason(project: History, kernel: str, said: str) -> None:
    edit(project, kernel)
    with inside(project.path):
        answer = campaign_round(propose("broken"), now=now)
    assert answer.needs_person
    assert said in answer.data["verdict"]["reason"]
    assert (project.path / "kernel.sh").read_text() == "COST=1.00\n"


def test_a_hanging_candidate_is_ended_at_the_time_limit(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    with inside(history.path):
        campaign_new(read_manifest(MANIFEST.replace("time_limit_s: 60", "time_limit_s: 4")), now=now)
        campaign_baseline(now=now)
        edit(history, "COST=0.5; HANG=1\n")
        answer = campaign_round(propose("hangs"), now=now)
    assert "did not end within 4 s" in answer.data["verdict"]["reason"]


def test_a_small_quick_gain_is_measured_on_all_shapes(tmp_path: Path) -> None:
    more = "".join(f"- {{label: {label}, M: 256, N: 256, K: 256}}\n" for label in ("tiny", "wide", "huge"))
    history = start_project(tmp_path / "project")
    with inside(history.path):
        campaign_new(read_manifest(MANIFEST.replace("kernel_source:", f"{more}kernel_source:")), now=now)
        campaign_baseline(now=now)
        assert len(campaign_status().data["representative_shapes"]) == 3
        edit(history, "COST=0.97\n")
        answer = campaign_round(propose("a little cheaper"), now=now)
    assert (answer.data["settled"], answer.data["level"]) == ("ACCEPTED", "full")
    assert len(answer.data["verdict"]["shapes"]) == 6
    assert (history.path / FOLDER / "rounds/round-2/artifacts/quick-1.csv").is_file()


def test_a_rollback_demands_a_diagnosis_and_two_a_review(project: History) -> None:
    with inside(project.path):
        for number, cost in ((2, "1.10"), (3, "1.20")):
            edit(project, f"COST={cost}\n")
            campaign_round(propose("slower"), now=now)
            edit(project, "COST=0.80\n")
            with pytest.raises(ConfigError, match=f"round {number} was rolled back"):
                campaign_round(propose(), now=now)
            campaign_note(number, [("diagnosis", "not on the hot path")], now=now)
        with pytest.raises(ConfigError, match="profile again"):
            campaign_round(propose(), now=now)
        campaign_note(3, [("profile", "bound by memory"), ("direction", "a"), ("direction", "b")], now=now)
        with pytest.raises(ConfigError, match="1 more new directions"):
            campaign_round(propose(), now=now)
        campaign_note(3, [("direction", "c")], now=now)
        assert not campaign_round(propose(), now=now).needs_person


REFUSED = [
    ({"kernel.sh": "COST=1.00\n"}, Bucket.K1, "there is nothing to judge"),
    ({"kernel.sh": "COST=0.8\n", "bench.sh": "exit 0\n"}, Bucket.K1, "bench.sh changed since"),
    ({"kernel.sh": "COST=0.8\n", "README": "x\n"}, Bucket.K1, "More than the kernel changed: README"),
    ({"kernel.sh": "COST=0.8\n"}, Bucket.W2, "W2 is not eligible"),
    ({"kernel.sh": "COST=0.8\n"}, Bucket.W1, "W1 needs its bound"),
]


@pytest.mark.parametrize(("files", "bucket", "said"), REFUSED, ids=[said for *_, said in REFUSED])
def test_what_is_no_round_is_refused_before_it_has_a_number(
    project: History, files: dict[str, str], bucket: Bucket, said: str
) -> None:
    for name, text in files.items():
        (project.path / name).write_text(text)
    with inside(project.path):
        with pytest.raises(Error, match=said):
            campaign_round(propose(bucket=bucket), now=now)
        assert len(campaign_status().data["rounds"]) == 1


def test_another_branch_is_left_alone(project: History) -> None:
    project.git("switch", "-q", "main")
    edit(project, "COST=0.80\n")
    with inside(project.path), pytest.raises(ConfigError, match="works on optimize/demo, you are on main"):
        campaign_round(propose(), now=now)
    assert (project.path / "kernel.sh").read_text() == "COST=0.80\n"


def test_a_dirty_tree_is_refused(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    (history.path / "bench.sh").write_text("# changed\n")
    with inside(history.path), pytest.raises(ConfigError, match=r"not clean: bench\.sh"):
        campaign_new(read_manifest(), now=now)
    assert history.git("branch", "--show-current") == "main"


def test_hooks_of_the_repository_do_not_run(project: History) -> None:
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-checkout"):
        hook = project.path / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch '{project.path}/ran-{name}'\n")
        hook.chmod(0o755)
    edit(project, "COST=0.80\n")
    with inside(project.path):
        assert not campaign_round(propose(), now=now).needs_person
    assert not list(project.path.glob("ran-*"))


def test_stopping_needs_a_condition(project: History) -> None:
    with inside(project.path):
        with pytest.raises(ConfigError, match="None of the rules for stopping applies"):
            campaign_stop(None, now=now)
        campaign_stop("time is up", now=now)
        assert campaign_status().data["phase"] == "REPORT"
    assert "-> Satisfied condition(s): T4" in (project.path / FOLDER / "logs/optimize.md").read_text()


def test_two_processes_do_not_work_on_one_campaign(project: History) -> None:
    with Ledger(project.path / FOLDER).lock(), inside(project.path), pytest.raises(BenchError, match="Another process"):
        campaign_resume(now=now)


def test_a_changed_ledger_is_refused(project: History) -> None:
    ledger = project.path / FOLDER / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"COST=1.00", b"COST=9.99"))
    with inside(project.path), pytest.raises(RecordError, match="it was changed"):
        campaign_status()


def test_an_accepted_round_says_why_it_helped_and_what_comes_next(project: History) -> None:
    kernel = project.path / "kernel.sh"
    with inside(project.path):
        kernel.write_text("COST=0.80\n")
        campaign_round(propose(), now=now)
        kernel.write_text("COST=0.70\n")
        for kind in ("attribution", "next"):
            with pytest.raises(ConfigError, match="was accepted"):
                campaign_round(propose("more"), now=now)
            campaign_note(2, [(kind, "because")], now=now)
        assert not campaign_round(propose("more"), now=now).needs_person


def test_our_own_folder_passes_our_own_audit(project: History) -> None:
    with inside(project.path):
        edit(project, "COST=0.80\n")
        campaign_round(propose(), now=now)
        campaign_note(2, [("attribution", "less work"), ("next", "even less")], now=now)
        edit(project, "COST=0.90\n")
        campaign_round(propose("slower"), now=now)
        campaign_stop("done", now=now)
    found = list(find_violations(read_directory(project.path / FOLDER)))
    assert [item.message for item in found if "lessons" not in item.message] == []


def test_the_folder_can_measure_the_kernel_as_it_stands(project: History, tmp_path: Path) -> None:
    out = tmp_path / "now.csv"
    command = [sys.executable, str(project.path / FOLDER / "quick_test_bench.py"), "--summary-csv", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(Path(layline.__file__).parents[1])}
    subprocess.run(command, cwd=project.path, env=environment, check=True)
    assert [row.label for row in parse_bench_csv(out.read_bytes(), where="now").rows] == ["small", "middle", "large"]


def test_an_edited_manifest_changes_nothing_and_is_found(project: History) -> None:
    """E74: fewer shapes, another metric or a laxer limit in the file; the ledger's manifest is the one that counts."""
    place = project.path / FOLDER / "manifest.yaml"
    asked = place.read_text()
    assert "label: large" in asked
    place.write_text(asked.replace("label: large", "label: small").replace("Combined Step TFLOPS", "Forward TFLOPS"))
    with inside(project.path):
        assert any("manifest.yaml" in line for line in campaign_verify().data["deviations"])
        edit(project, "COST=0.80\n")
        campaign_round(propose(), now=now)
        state = read_campaign(None).state
    assert [shape["label"] for shape in shape_list(state.manifest)] == ["small", "middle", "large"]
    assert state.manifest.primary_metric == "Combined Step TFLOPS"


def test_another_kind_of_machine_is_refused_until_the_campaign_moves(
    project: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(project, "COST=0.80\n")
    with inside(project.path):
        with pytest.raises(ConfigError, match="already"):
            campaign_move(now=now)
        monkeypatch.setattr("layline.campaign.command.run.name_processor", lambda: "Abacus 9")
        monkeypatch.setattr("layline.campaign.devices.machine.name_processor", lambda: "Abacus 9")
        with pytest.raises(ConfigError, match=r"was measured on .*; this machine is Abacus 9") as refused:
            campaign_round(propose("cheaper loop"), now=now)
        assert "campaign move" in (refused.value.hint or "")
        moved = campaign_move(now=now).data
        assert (moved["machine"], [step["machine"] for step in moved["moves"]]) == ("Abacus 9", ["Abacus 9"])
        edit(project, "COST=0.80\n")
        campaign_round(propose("cheaper loop"), now=now)
        assert campaign_status().data["best"] == 2
        assert not campaign_verify().needs_person
    assert "moved from" in (project.path / FOLDER / "logs/optimize.md").read_text()
