"""Measuring through an executor: on a machine of the campaign's kind, written down before it is asked, lost once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign_project import begin, inside, now, propose, start_project
from histories import History
from layline import codec
from layline.app.campaign import campaign_baseline, campaign_move, campaign_new, campaign_resume, campaign_round
from layline.app.campaign_end import campaign_verify
from layline.app.campaign_operators import find_start
from layline.app.campaign_run import campaign_run
from layline.campaign.bench import Measured
from layline.campaign.devices.machine import read_environment
from layline.campaign.elsewhere import BenchElsewhere, choose_kind
from layline.campaign.loop.define import define_target
from layline.campaign.loop.unattended import Limits
from layline.campaign.operators import load_operator
from layline.campaign.session.open import read_campaign
from layline.campaign.trusted import Asked, TrustedBench
from layline.campaign.values.measurement import GateResult, Measurement, Plan, Status
from layline.campaign.values.operator import Snapshot
from layline.campaign.values.training import Training
from layline.errors import BenchError, ConfigError
from layline.executors import Lost, Machine, Plain, Tally, Tell, digest_code
from layline.executors.values import ignore

FAR = Machine(host="far", node="1", processor="Faraway 9", cores=4, python="3.12", code=digest_code())
BOARD = ("GPU-0, Board 1, 550, 700 W", "GPU-1, Board 1, 550, 700 W")
GEMM, ON_DEVICE = load_operator("gemm"), load_operator("gemm_bf16")


class Scripted:
    """An executor whose machines and answers are written down; what is measured there is the test's to say."""

    name = "scripted"

    def __init__(self, *machines: Machine, ledger: Path | None = None, script: Sequence[str] = ()) -> None:
        self.tally = Tally()
        self._machines = machines
        self._ledger = ledger
        self._script = list(script)
        self.asked: list[tuple[str, str]] = []

    def machines(self) -> tuple[Machine, ...]:
        return self._machines

    look = machines

    def choose(self, kind: str) -> Machine | None:
        return next((one.only(kind) for one in self._machines if one.count(kind)), None)

    def measure(self, name: str, job: Plain, on: Machine, limit_s: float, tell: Tell = ignore) -> Plain:
        tell("so far: +1 %")
        self.asked.append((on.host, on.kind))
        if name.endswith(":train_there"):
            trained: Plain = codec.encode(Training(model=codec.decode(Snapshot, job["best"], where="test").files[0][1]))
            return trained
        asked = codec.decode(Asked, job["asked"], where="test")
        if asked.candidate is not None:
            assert self._ledger is not None
            last = json.loads(self._ledger.read_text().splitlines()[-1])
            assert last["kind"] == "attempted"
            assert last["data"]["seed_commitment"] == hashlib.sha256(bytes.fromhex(asked.seed)).hexdigest()
            assert (last["data"]["machine"], last["data"]["host"]) == (on.kind, on.host)
        word = self._script.pop(0)
        if word == "lost":
            raise Lost(name, "the node died")
        if word == "raised":
            raise ConfigError("The best kernel no longer compiles.")
        failed = () if word == "runs" else (GateResult(property="correct", passed=False, reason="wrong"),)
        measurement = Measurement(
            status=Status.REFUSED if failed else Status.MEASURED,
            operator="gemm",
            shapes=asked.labels,
            plan=Plan(alpha=asked.alpha),
            environment=replace(read_environment(), cpu=on.processor),
            seed_commitment="",
            seed=asked.seed,
            gates=failed,
        )
        answer: Plain = codec.encode(Measured(measurement=measurement))
        return answer

    def send(self, receiver: str, parcels: object) -> int:
        raise NotImplementedError

    def map(self, name: str, jobs: object, each: object = None) -> list[Plain]:
        raise NotImplementedError

    def screen(self, name: str, jobs: object, kind: str, note: object = None) -> Generator[tuple[int, Plain]]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


@pytest.fixture
def project(tmp_path: Path) -> History:
    history = History.start(tmp_path / "project")
    history.commit("Start", {"gemm.c": find_start("gemm", "naive")})
    history.git("config", "user.name", "Ada")
    history.git("config", "user.email", "ada@example.org")
    chosen: dict[str, Any] = {"target": None, "branch": "auto", "max_iterations": None, "shapes": ()}
    with inside(history.path):
        campaign_new(define_target("away", None, operator="gemm", kernels=("gemm.c",), **chosen), now=now)
    return history


@pytest.mark.parametrize(
    ("operator", "here", "machines", "kind"),
    [
        (GEMM, "Faraway 9", [FAR], "Faraway 9"),
        (GEMM, "Abacus", [FAR], "Faraway 9"),
        (GEMM, "Abacus", [], "Abacus"),
        (GEMM, "Abacus", [FAR, replace(FAR, processor="Other 1")], "2 kinds: Faraway 9, Other 1"),
        (GEMM, "Faraway 9", [FAR, replace(FAR, processor="Other 1")], "Faraway 9"),
        (ON_DEVICE, "no accelerator named", [FAR, replace(FAR, accelerators=BOARD)], "Board 1"),
        (ON_DEVICE, "no accelerator named", [FAR], "no accelerator named"),
    ],
)
def test_a_campaign_begins_on_this_kind_or_on_the_executors_only_one(
    operator: Any, here: str, machines: list[Machine], kind: str
) -> None:
    if "kinds" not in kind:
        assert choose_kind(operator, here, machines) == kind
        return
    with pytest.raises(ConfigError, match=kind):
        choose_kind(operator, here, machines)


def test_a_machine_is_measured_as_one_kind() -> None:
    both = replace(FAR, accelerators=BOARD)
    assert (both.kind, both.only("Board 1").kind, both.only("Faraway 9").kind) == ("Board 1", "Board 1", "Faraway 9")
    assert both.only("Faraway 9").accelerators == ()


def test_a_verdict_is_measured_where_the_campaign_is_and_a_loss_spends_its_share(
    project: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This machine is an Abacus; the campaign begins on the executor's and stays there."""
    monkeypatch.setattr("layline.campaign.trusted.name_processor", lambda: "Abacus")
    (ledger,) = project.path.glob("agent/workspace/away/ledger.jsonl")
    far = Scripted(FAR, ledger=ledger, script=["runs", "lost", "raised", "refused"])
    with inside(project.path):
        heard: list[str] = []
        campaign_baseline(now=now, progress=heard.append, executor=far)
        assert heard[-1] == "so far: +1 %", "what is said there is heard here, while it runs"
        assert read_campaign(None).state.machine == "Faraway 9"
        kernel = project.path / "gemm.c"
        kernel.write_text(kernel.read_text() + "/* other */ int other;\n")
        with pytest.raises(ConfigError, match=r"was measured on Faraway 9; this machine is Abacus"):
            campaign_round(propose("away"), now=now)
        kernel.write_text(find_start("gemm", "naive"))
        with pytest.raises(ConfigError, match=r"was measured on Faraway 9; this machine is Abacus"):
            campaign_run("search", limits=Limits(rounds=1), now=now)  # before anything is looked at
        kernel.write_text(kernel.read_text() + "/* other */ int other;\n")
        with pytest.raises(BenchError, match=r"could not be measured: The run on far was lost: the node died\."):
            campaign_round(propose("away"), now=now, executor=far)
        with pytest.raises(BenchError, match="no longer compiles"):
            campaign_resume(now=now, executor=far)
        campaign_resume(now=now, executor=far)
        state = read_campaign(None).state
        assert not campaign_verify().needs_person
    entries = [json.loads(line) for line in ledger.read_text().splitlines()]
    shares = [one["data"]["alpha"] for one in entries if one["kind"] == "attempted"]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == 3
    assert [one["kind"] for one in entries if one["kind"] in {"unmeasured", "judged"}] == ["unmeasured", "judged"]
    assert state.rounds[-1].verdict is not None
    assert set(far.asked) == {("far", "Faraway 9")}


def test_training_runs_where_the_campaign_is(project: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the executor's accelerator, which this machine has not; not at all where the loop has no place for it."""
    monkeypatch.setattr("layline.campaign.trusted.has_device", lambda: False)
    start, best = (Snapshot(files=(("k.py", text),)) for text in ("start", "best"))
    with inside(project.path):
        here = read_campaign(None).bench
        assert isinstance(here, TrustedBench)
        for operator, trained in ((ON_DEVICE, "best"), (GEMM, None)):
            here.operator = operator
            far = Scripted(replace(FAR, accelerators=BOARD))
            found = BenchElsewhere(here, far, "Board 1").train(start, best)
            assert (found and found.model, here.train(start, best)) == (trained, None)
            assert far.asked == ([("far", "Board 1")] if trained else [])


def test_a_campaign_moves_to_the_executors_other_kind(project: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layline.campaign.trusted.name_processor", lambda: "Abacus")
    other = replace(FAR, processor="Other 1", node="2", host="other")
    with inside(project.path):
        campaign_baseline(now=now, executor=Scripted(FAR, script=["runs"]))
        with pytest.raises(ConfigError, match="already runs on Faraway 9"):
            campaign_move(now=now, executor=Scripted(FAR))
        with pytest.raises(ConfigError, match="2 kinds: Other 1, Other 2"):
            campaign_move(now=now, executor=Scripted(FAR, other, replace(other, processor="Other 2")))
        far = Scripted(FAR, other, script=["runs"])
        assert campaign_move(now=now, executor=far).data["machine"] == "Other 1"
    assert far.asked == [("other", "Other 1")]


def test_a_command_of_the_users_own_does_not_travel(tmp_path: Path) -> None:
    history = start_project(tmp_path / "project")
    begin(history.path)
    with inside(history.path), pytest.raises(ConfigError, match="cannot run on another machine"):
        campaign_baseline(now=now, executor=Scripted(FAR))
