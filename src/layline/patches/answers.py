"""The JSON answers of the patch commands, declared once: for type checkers, `layline schema` and docs/json.md."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from layline.core.answers import NamedCommit, OfCommit, Place, Skipped


class Removal(TypedDict):
    what: str
    commit: str | None
    date: str | None
    subject: str | None
    elsewhere: str | None


class Effect(TypedDict):
    """One thing a patch does."""

    id: str
    style: str
    target: str | None
    replacement: str | None
    replacement_at: str | None
    replacements_at: list[str]
    otherwise: str | None
    holder: str | None
    reached: str | None
    adds: bool | None
    mutates: list[str]
    location: str
    certain: bool
    reason: str | None
    moment: str
    target_kind: str
    alias_of: str | None
    suggestion: str | None
    removal: Removal | None
    anchors: list[str]
    when: str | None
    state: bool


class Unregistered(Effect):
    """An effect outside any registration."""

    within: str
    called_from: list[str]
    unknown_callers: int


class Guard(TypedDict):
    """When a patch applies."""

    text: str | None
    keys: list[str]
    other: list[str]
    expression: str | None


class Patch(TypedDict):
    """One registered run-time change."""

    id: str
    backend: str | None
    phase: str | None
    priority: int | None
    file: str
    line: int
    handler: str
    description: str
    tags: list[str]
    version_gates: list[str]
    active: bool
    active_reason: str
    guard: Guard
    body_keys: list[str]
    effects: list[Effect]
    implementation: list[str]
    notes: list[str]


class Engine(TypedDict):
    phases: list[str]
    switch: str | None
    switch_values: str | None
    location: str | None


class Patches(OfCommit):
    """`patches list BACKEND`."""

    schema: Literal["layline.patches/1"]
    backend: str
    commit: str
    pin: str | None
    engine: Engine
    patches: list[Patch]
    unregistered: list[Unregistered]
    skipped: list[Skipped]
    balance: dict[str, int | list[str] | dict[str, list[str]]]


class AllPatches(OfCommit):
    """`patches list`."""

    schema: Literal["layline.patches/1"]
    backends: list[Patches]


class Suggestion(TypedDict):
    target: str
    score: float
    reason: str


class Accepted(TypedDict):
    reason: str
    until: str


class Cause(TypedDict):
    """One reason of several, with the commit that made it so."""

    why: str
    commit: str


class DriftRow(TypedDict):
    """What became of one target, and what that means for us."""

    id: str
    effect: str | None
    patch: str
    active: bool
    target: str | None
    style: str
    kind: str
    severity: Literal["breaks", "look", "ok"]
    dead_today: bool
    today: Literal["fits", "dead", "not-run", "does-not-fit"]
    location: str
    replacement_at: str | None
    pin_evidence: Place | None
    tip_evidence: Place | None
    suggestion: Suggestion | None
    culprit: NamedCommit | None
    culprits: list[Cause]
    detail: str
    reasons: list[str]
    explained_by: str | None
    once_mended: Literal["breaks", "look", "ok"] | None
    problems: list[str]
    old_object_held_at: list[str]
    risks: list[str]
    copied: float | None
    retire: str | None
    accepted: Accepted | None


class Elsewhere(TypedDict):
    """A place outside patches that no longer fits."""

    id: str
    touch: str
    target: str
    location: str
    also_at: list[str]
    """Further places that the row tells."""
    severity: Literal["breaks", "look", "ok"]
    today: Literal["fits", "not-run", "does-not-fit"]
    detail: str
    new_target: str | None
    tip_evidence: Place | None
    culprit: str | None
    culprits: list[Cause]
    accepted: Accepted | None


class NotCompared(TypedDict):
    """Effects of the list that are no row."""

    reason: str
    effects: int
    why: str


class Stale(TypedDict):
    """An entry of the baseline that no longer applies."""

    id: str
    reason: str
    until: str


class DriftPlaces(TypedDict):
    """Places of ours, each by the worst of its rows: the numbers of the first line."""

    total: int
    breaks: int
    fails_already: int
    does_nothing: int
    look: int
    fits: int


class Drift(OfCommit):
    """`patches drift BACKEND`."""

    schema: Literal["layline.drift/1"]
    backend: str
    downstream_commit: str
    pin: str
    tip: str
    totals: dict[str, int]
    places: DriftPlaces
    listed: int
    not_compared: list[NotCompared]
    read_keys: int
    """Rows about a config key that a patch reads and upstream dropped; the others are the listed effects that were
    compared."""
    rows: list[DriftRow]
    elsewhere: list[Elsewhere]
    stale: list[Stale]
    skipped: list[Skipped]


class AllDrift(TypedDict):
    """`patches drift --all`."""

    schema: Literal["layline.drift/1"]
    backends: list[Drift]
    skipped: list[Skipped]


class UpstreamSymbol(TypedDict):
    target: str | None
    kind: str
    alias_of: str | None
    signature: str | None
    ours: str | None
    differences: list[str]
    evidence: str | None
    permalink: str | None


class PastCommit(TypedDict):
    commit: str
    date: str
    subject: str


class ShownPatch(OfCommit):
    """`patches show`."""

    schema: Literal["layline.patch/1"]
    commit: str
    pin: str | None
    patch: Patch
    upstream: list[UpstreamSymbol]
    history: list[PastCommit]
    inside: Any


class Hunk(TypedDict):
    first: int
    last: int
    removed: list[str]
    added: list[str]
    conflict: bool


class View(TypedDict):
    """Upstream then, upstream now, ours."""

    row: DriftRow
    then: str
    now: str | None
    ours: str | None
    copied: bool
    hunks: list[Hunk]


class PatchDiff(TypedDict):
    """`patches diff`."""

    schema: Literal["layline.patch-diff/1"]
    patch: str
    backend: str
    pin: str
    tip: str
    effects: list[View]


class Retarget(TypedDict):
    """`patches retarget`."""

    schema: Literal["layline.retarget/1"]
    backend: str
    pin: str
    tip: str
    done: list[str]
    diff: str
    left: list[Skipped]


class Hit(TypedDict):
    backend: str
    patch: str | None
    where: str
    text: str
    location: str
    rank: int


class Found(TypedDict):
    """`patches find`."""

    schema: Literal["layline.patches-find/1"]
    word: str
    commit: str
    near: str | None
    """The nearest word that stands somewhere, where there is no hit."""
    hits: list[Hit]


class Claim(TypedDict):
    """One statement of the notes."""

    line: int
    flag: str
    kind: str
    said: str
    verdict: str
    reason: str
    evidence: str


class Notes(TypedDict):
    """`patches notes`."""

    schema: Literal["layline.patches-notes/1"]
    file: str
    commit: str
    counts: dict[str, int]
    claims: list[Claim]
    searched: list[str]


class Seen(TypedDict):
    """A write that a run made."""

    target: str
    how: str
    value: str
    at: str | None
    effect: NotRequired[str]


class Unseen(TypedDict):
    target: str | None
    effect: str
    patch: str | None
    at: str
    why: str


class Trace(TypedDict):
    """`patches trace`."""

    schema: Literal["layline.patches-trace/1"]
    command: list[str]
    exit: int
    commit: str
    processes: list[Any]
    recall: float | None
    precision: float | None
    seen_and_listed: list[Seen]
    seen_only: list[Seen]
    listed_only: list[Unseen]


class Quote(TypedDict):
    path: str
    lines: list[int]
    text: str


class PortGuard(TypedDict):
    text: str | None
    expression: str | None
    source: list[Quote]


class Consumer(TypedDict):
    """An upstream module that copies the target by value."""

    target: str
    module: str
    path: str
    line: int
    constructs: list[int]


class Port(TypedDict):
    """`patches port`."""

    schema: Literal["layline.port/1"]
    patch: str
    commit: str
    pin: str | None
    package: str
    modules: Any
    needs: list[str]
    stubbed: list[str]
    targets: list[str]
    guard: PortGuard
    consumers: list[Consumer]
    problems: list[str]
    files: list[str]
