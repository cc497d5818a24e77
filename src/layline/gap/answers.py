"""The JSON answers of the gap commands."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from layline.core.answers import OfCommit, Skipped


class Side(TypedDict):
    """One of the two upstream commits."""

    commit: str
    date: str
    subject: str
    version: str | None
    tag: list[str | int] | None


class PinSide(Side):
    path: str | None


class TipSide(Side):
    ref: str
    age_days: int


class Repositories(TypedDict):
    downstream: str
    upstream: str


class Gap(OfCommit):
    """`gap show`."""

    schema: Literal["layline.gap/1"]
    backend: str
    downstream_commit: str
    date: str
    pin: PinSide
    tip: TipSide
    behind: int
    ahead: int
    ahead_own: int
    merge_base: str | None
    relation: str
    files: int
    insertions: int
    deletions: int
    age_days: int
    diff_rule: str
    evidence: dict[str, str | None]
    repositories: Repositories


class AllGaps(OfCommit):
    """`gap show --all`."""

    schema: Literal["layline.gap/1"]
    backends: list[Gap]
    skipped: list[Skipped]


class GapMatch(TypedDict):
    """One pull request, or one commit that names none; `paths` are those that name the word, `adds_in` and `removes_in`
    the files of code that use it more often or less often since.
    """

    number: int | None
    title: str
    kind: str
    date: str
    commits: list[str]
    area: str
    new: bool
    lost: bool
    """The tip has none of the files of code that it added."""
    in_title: bool
    new_files: int
    paths: list[str]
    adds_in: list[str]
    removes_in: list[str]


class LeftOut(TypedDict):
    """Commits that are not searched: undone before the tip; of bots, CI, docs and tests alone."""

    reverted: int
    housekeeping: int


class GapFound(TypedDict):
    """`gap find`."""

    schema: Literal["layline.gap-find/1"]
    backend: str
    word: str
    pin: str
    tip: str
    upstream: str
    searched: int
    searched_code: bool
    """Whether code that is added or removed was looked through: only for a name spelled as code spells it."""
    near: str | None
    """Where nothing matches: the word of a title or path that comes closest."""
    left_out: LeftOut
    changes: list[GapMatch]


class WrittenFile(TypedDict):
    path: str
    changed: bool


class Advice(TypedDict):
    """The recommendation and what it was made from; the figures are null where our code was not compared."""

    label: str
    rule: str
    places_that_break: int | None
    places_to_fix: int | None


class WrittenReport(TypedDict):
    """One report and what the check after writing found."""

    backend: str
    id: str
    pin_guessed: bool
    files: list[WrittenFile]
    problems: list[str]
    recommendation: Advice
    record: dict[str, Any]


class GapReport(TypedDict):
    """`gap report`."""

    schema: Literal["layline.gap-report/1"]
    date: str
    reports: list[WrittenReport]


class Repository(TypedDict):
    repo: str
    commit: str


class FactPlace(TypedDict):
    """`at` is an index into `commits`."""

    at: int
    path: NotRequired[str]
    lines: NotRequired[list[int]]
    command: NotRequired[str]


class Fact(TypedDict):
    name: str
    value: Any
    evidence: list[FactPlace]


class EvidenceFile(TypedDict):
    """Written beside each gap record."""

    schema: Literal["layline.evidence/1"]
    record: str
    made_by: str
    """Layline's version, with a digest of its source."""
    backend: str
    date: str
    ref: str
    before: dict[str, Any] | None
    patches: bool
    downstream_commit: str
    pin: str
    tip: str
    commits: list[Repository]
    facts: list[Fact]
    skipped: list[Skipped]


class AuditedField(TypedDict):
    field: str
    published: Any
    computed: Any
    verdict: str
    evidence: Any


class AuditedRecord(TypedDict):
    path: str
    fields: list[AuditedField]


class Audit(TypedDict):
    """`gap audit`."""

    schema: Literal["layline.audit/1"]
    records: list[AuditedRecord]


class Difference(TypedDict):
    """One fact that no longer holds."""

    what: str
    verdict: str
    was: str
    now: str


class VerifiedRecord(TypedDict):
    path: str
    facts: int
    findings: list[Difference]


class Verified(TypedDict):
    """`gap verify`."""

    schema: Literal["layline.verify/1"]
    records: list[VerifiedRecord]
