"""One campaign as a value: what its ledger says has happened. The folder and every command read this."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from layline.campaign.ledger.snapshot import File, KernelFiles, decode_content
from layline.campaign.values.bench_csv import BenchTable, parse_bench_csv
from layline.campaign.values.manifest import Manifest
from layline.campaign.values.measurement import Bucket, Measurement
from layline.campaign.values.training import Training
from layline.campaign.values.verdict import Verdict
from layline.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Phase(StrEnum):
    """Where a campaign stands."""

    BASELINE = "BASELINE"
    """Prepared; the baseline is the next thing to measure."""
    ANALYZE = "ANALYZE"
    """Between rounds: the next hypothesis is due."""
    VALIDATE = "VALIDATE"
    """A round is open and not settled."""
    REPORT = "REPORT"
    """Stopped; the final report is due."""
    REPORTED = "REPORTED"
    ACCEPTED = "ACCEPTED"
    """Accepted in the project."""


class Settled(StrEnum):
    """What became of a round."""

    BASELINE = "BASELINE"
    ACCEPTED = "ACCEPTED"
    ROLLED_BACK = "ROLLED BACK"


class Level(StrEnum):
    """Which shapes are the active validation set."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measuring run of a round, with the figures derived from it."""

    level: Level
    at: str
    measurement: Measurement
    csv: str
    """The candidate's figures in the frozen form; empty where there are none."""
    best_csv: str
    said: str = ""
    """What the user's own commands printed; ledgers older than this hold none."""

    def table(self, *, best: bool = False) -> BenchTable | None:
        text = self.best_csv if best else self.csv
        if not text:
            return None
        return parse_bench_csv(text.encode(), where="ledger", frozen=text.split("\n", 1)[0].rstrip("\r"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    kind: str
    text: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One hypothesis, one change, one verdict."""

    number: int
    at: str
    hypothesis: str
    change: str
    bucket: Bucket | None
    expect: str | None
    kernel: str
    """Id of the kernel files this round proposes."""
    best: int
    """The round it is compared with."""
    parent: str
    """The commit the change is made on."""
    level: Level
    proposer: str = "person"
    unmeasured: tuple[str, ...] = ()
    """Why earlier attempts to measure it gave nothing."""
    runs: tuple[Run, ...] = ()
    verdict: Verdict | None = None
    judged_at: str = ""
    integration: tuple[bool, str] | None = None
    """Workspace mode: whether the integration gate in the real tree passed, and why."""
    settled: Settled | None = None
    settled_at: str = ""
    commit: str | None = None
    notes: tuple[Note, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether the verdict, and the real tree where one was asked, take the candidate."""
        judged = self.verdict is not None and self.verdict.outcome.is_accepted
        return judged and (self.integration is None or self.integration[0])

    @property
    def last_run(self) -> Run | None:
        return self.runs[-1] if self.runs else None

    def texts(self, kind: str) -> tuple[str, ...]:
        return tuple(note.text for note in self.notes if note.kind == kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination:
    """The check written down before a campaign ends."""

    at: str
    checks: tuple[tuple[str, bool, str], ...]
    """Condition, whether it holds, and why."""

    @property
    def satisfied(self) -> tuple[str, ...]:
        return tuple(name for name, holds, _ in self.checks if holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One campaign as the ledger tells it."""

    manifest: Manifest
    manifest_sha256: str
    created_at: str
    origin: Mapping[str, Any]
    """Where it began: commit, branch, tool version, frozen files, who commits."""
    is_prepared: bool = False
    rounds: tuple[Round, ...] = ()
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kernels: Mapping[str, tuple[tuple[str, str, str], ...]] = field(default_factory=dict)
    """Path, mode and content hash of each file, by kernel id."""
    attempts: tuple[tuple[int, str], ...] = ()
    """Round and level of every measuring run that was begun with a candidate, whatever became of it."""
    moves: tuple[tuple[str, str, str], ...] = ()
    """When the campaign went from which kind of machine to which."""
    representative: tuple[str, ...] = ()
    csv_header: str | None = None
    termination: Termination | None = None
    head_to_head: tuple[Run, Verdict] | None = None
    refused_before: tuple[tuple[str, str], ...] = ()
    """When and why earlier head-to-head runs gave no figure: who measures again does not forget them."""
    ceilings: tuple[float, float, tuple[tuple[str, float, float], ...]] | None = None
    """FLOP/s and byte/s of one core, and each shape's place under them (label, FLOP per byte, FLOP/s)."""
    ceiling_of: str = "One core"
    """Whose ceilings those are."""
    training: Training | None = None
    """A real training loop before and after, where the operator has a place in one."""
    analysis: Mapping[str, Any] | None = None
    """What ANALYZE measured of the machine and of the best kernel: ceilings, counters, what is missing."""
    reported_at: str | None = None
    accepted_at: str | None = None
    acceptance: Mapping[str, Any] = field(default_factory=dict)
    head: str = ""

    @property
    def open_round(self) -> Round | None:
        return self.rounds[-1] if self.rounds and self.rounds[-1].settled is None else None

    @property
    def best(self) -> Round:
        """The last accepted round: its kernel is the working kernel."""
        kept = [item for item in self.rounds if item.settled in (Settled.BASELINE, Settled.ACCEPTED)]
        if not kept:
            raise BenchError("There is no baseline yet.", hint="Run `layline campaign baseline`.")
        return kept[-1]

    @property
    def baseline(self) -> Round | None:
        return self.rounds[0] if self.rounds and self.rounds[0].settled is Settled.BASELINE else None

    @property
    def machine(self) -> str | None:
        """The kind of machine whose times are compared; None before the baseline."""
        if self.moves:
            return self.moves[-1][2]
        run = self.baseline.last_run if self.baseline else None
        return run.measurement.environment.kind if run else None

    @property
    def streak(self) -> tuple[Round, ...]:
        """The rounds rolled back since the last accepted one."""
        found: list[Round] = []
        for item in reversed(self.rounds):
            if item.settled is not Settled.ROLLED_BACK:
                break
            found.append(item)
        return tuple(reversed(found))

    @property
    def phase(self) -> Phase:
        if self.accepted_at:
            return Phase.ACCEPTED
        if self.open_round is not None:
            return Phase.VALIDATE
        if self.baseline is None:
            return Phase.BASELINE
        if self.reported_at:
            return Phase.REPORTED
        return Phase.REPORT if self.termination else Phase.ANALYZE

    def round(self, number: int) -> Round:
        if not 1 <= number <= len(self.rounds):
            raise BenchError(f"There is no round {number}.", hint=f"The campaign has {len(self.rounds)} rounds.")
        return self.rounds[number - 1]

    def kernel(self, kernel_id: str) -> KernelFiles:
        files = (
            File(path=path, mode=mode, data=decode_content(self.contents[sha256]))
            for path, mode, sha256 in self.kernels[kernel_id]
        )
        return KernelFiles(tuple(files))
