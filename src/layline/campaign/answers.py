"""The JSON answers of the campaign commands and `bench csv`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from layline.campaign.proposers.bounds import Bottleneck, Bound
from layline.campaign.proposers.brief import Direction, ShapeTime
from layline.campaign.values.measurement import Accuracy, Environment, GateResult, Measurement
from layline.campaign.values.verdict import Verdict


class Duty(TypedDict):
    """What must be done before the next round."""

    note: str
    why: str


class Round(TypedDict):
    """`campaign show N`, `campaign round`."""

    schema: Literal["layline.round/1"]
    round: int
    settled: str | None
    hypothesis: str
    change: str
    bucket: str | None
    proposer: str
    level: str
    score: float | None
    compared_with: int | None
    commit: str | None
    kernel: str
    diff: str
    verdict: Verdict | None
    alarm: str | None


class KnownLesson(TypedDict):
    id: str
    takeaway: str


class Move(TypedDict):
    """The campaign went to another kind of machine; figures before and after are not compared."""

    at: str
    was: str
    machine: str


class CampaignState(TypedDict):
    """What status and report have in common."""

    name: str
    phase: str
    best: int | None
    rollbacks_in_a_row: int
    duties: list[Duty]
    representative_shapes: list[str]
    machine: str | None
    moves: list[Move]
    ledger: str
    rounds: list[Round]
    lessons: NotRequired[list[KnownLesson]]


class Campaign(CampaignState):
    """`campaign status` and what changes a campaign."""

    schema: Literal["layline.campaign/1"]


class Attribution(TypedDict):
    """How much of the gain real training keeps."""

    S_benchmark: float | None
    S_real: float | None
    W_benchmark: float | None
    W_real: float | None
    R: float | None
    headline: float | None
    real: float | None
    inflation_gap: float | None
    verdict: str


class RoofPoint(TypedDict):
    label: str
    intensity: float
    flops_per_s: float


class Roofline(TypedDict):
    what: str
    flops_per_s: float
    bytes_per_s: float
    points: list[RoofPoint]


class CampaignReport(CampaignState):
    """`campaign report`."""

    schema: Literal["layline.campaign-report/1"]
    head_to_head: Measurement | None
    roofline: Roofline | None
    attribution: Attribution
    termination: list[list[Any]] | None


class RunRound(TypedDict):
    round: int
    change: str
    became: str
    reason: str


class Declined(TypedDict):
    round: int
    reason: str


class Run(TypedDict):
    """`campaign run`."""

    schema: Literal["layline.campaign-run/1"]
    campaign: str
    rounds: list[RunRound]
    declined: list[Declined]
    ended: str


class CampaignVerify(TypedDict):
    """`campaign verify`."""

    schema: Literal["layline.campaign-verify/1"]
    entries: int
    head: str
    deviations: list[str]


class LogEntry(TypedDict):
    n: int
    at: str
    kind: str
    round: int | None
    gist: str
    hash: str


class Log(TypedDict):
    """`campaign log`."""

    schema: Literal["layline.campaign-log/1"]
    entries: list[LogEntry]


class Accept(TypedDict):
    """`campaign accept`."""

    schema: Literal["layline.campaign-accept/1"]
    accepted: bool
    problems: list[str]
    suite: str | None


class Violation(TypedDict):
    rule: str
    severity: str
    message: str
    path: str
    line: int | None


class CampaignAudit(TypedDict):
    """`campaign audit`."""

    schema: Literal["layline.campaign-audit/1"]
    campaign: str
    folder: str
    rounds: list[int]
    violations: list[Violation]
    skipped: list[str]


class CacheState(TypedDict):
    what: str
    bucket: str | None
    hit_trace: str
    weight_share: float | None


class Confinement(TypedDict):
    sandbox: list[str]
    weaker: list[str]


class Explained(TypedDict):
    """`campaign explain`."""

    schema: Literal["layline.campaign-explain/1"]
    round: int
    recorded: Verdict | None
    verdict: Verdict
    gates: list[GateResult]
    controls: list[GateResult]
    state: CacheState
    accuracy: list[Accuracy]
    confinement: Confinement


class Prerequisite(TypedDict):
    name: str
    value: str | None
    found: str


class Harness(TypedDict):
    path: str
    text: str


class Handoff(TypedDict):
    """`campaign handoff`."""

    schema: Literal["layline.handoff/1"]
    prerequisites: list[Prerequisite]
    environment: list[Prerequisite]
    contradictions: list[str]
    missing: list[str]
    draft: str
    harness: Harness | None


class CheckFinding(TypedDict):
    what: str
    passed: bool
    told: str
    hint: NotRequired[str]


class CheckedOperator(TypedDict):
    """`campaign check-operator`."""

    schema: Literal["layline.check-operator/1"]
    operator: str
    passed: bool
    findings: list[CheckFinding]


class Judged(TypedDict):
    """`campaign judge`."""

    schema: Literal["layline.judge/1"]
    candidate: str
    against: str
    verdict: Verdict
    status: str
    against_fault: str | None
    failed: list[GateResult]
    left_out: list[str]
    environment: Environment
    seed: str
    gate: str


class Brief(TypedDict):
    """`campaign brief`."""

    schema: Literal["layline.brief/1"]
    campaign: str
    operator: str
    language: str
    hardware: str
    metric: str
    allowed_files: list[str]
    best_round: int
    effective: list[Direction]
    ineffective: list[Direction]
    inconclusive: list[Direction]
    slowest: list[ShapeTime]
    lessons: list[str]
    demanded: list[str]
    time_limit_s: float
    kernel: dict[str, str]
    diff: str
    bounds: list[Bound]
    bottleneck: Bottleneck | None
    escalation: str


class Operators(TypedDict):
    """`campaign operators`."""

    schema: Literal["layline.operators/1"]
    operators: list[str]


class Operator(TypedDict):
    """`campaign operators NAME`."""

    schema: Literal["layline.operators/1"]
    operator: str
    shapes: list[str]
    kernel: NotRequired[str]


class Lessons(TypedDict):
    """`campaign lessons`: each with `id`, `file`, `line`, `at`, `origin`, `withdrawn` and the fields that it was given."""

    schema: Literal["layline.lessons/1"]
    lessons: list[dict[str, str | int | None]]


class BenchChecks(TypedDict):
    header_sha256: str
    frozen_gemm_header: bool
    shapes: int
    passed: int
    failed: list[str]
    has_backward: bool
    inconsistent: list[str]
    low_snr: list[str]


class BenchDifference(TypedDict):
    label: str
    before: float | None
    after: float | None
    change: float | None
    regression: bool
    within_noise: bool


class Bench(TypedDict):
    """`bench csv`."""

    schema: Literal["layline.bench/1"]
    rows: list[dict[str, str | float | None]]
    aggregates: dict[str, float | None]
    score: float | None
    primary_metric: str
    checks: BenchChecks
    other: NotRequired[Bench]
    differences: NotRequired[list[BenchDifference]]
