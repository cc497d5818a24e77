"""The JSON answers of `upgrade`, `patches matrix`, `gap trend`, `watch`, `impact` and `fleet`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from layline.core.answers import NamedCommit, OfCommit, Skipped
from layline.upgrade.news import Remembered

_From = TypedDict("_From", {"from": str})
"""A name that Python keeps for itself."""


class DoesNotFit(TypedDict):
    """Places of ours that do not fit: today, and at the end without and with the edits."""

    today: int
    before: int
    after: int


class Counted(TypedDict):
    """Places of ours that break on the way: all, those that `patches drift` counts, those that only a comparison
    shows.
    """

    places: int
    in_drift: int
    only_compared: int


class ChangedFile(TypedDict):
    path: str
    sha256: str


class Mend(TypedDict):
    """One edit that follows upstream."""

    file: str
    lines: list[int]
    kind: str
    mechanical: bool
    target: str
    diff: str
    why: str
    example: str
    ours: str | None
    """Where our replacement stands, of a proposed mend."""
    evidence: str | None
    revealed: bool
    """It does not fit only after the mechanical mends."""


class Step(TypedDict):
    """One move of the pin."""

    to: str
    date: str
    culprit: NamedCommit | None
    before: str | None
    """The commit before the culprit: the last without these breaks."""
    lines: int
    left: int
    files: list[ChangedFile]
    mends: list[Mend]


class Broken(TypedDict):
    file: str
    line: int
    target: str
    way: str
    why: str


class Plan(OfCommit, _From):
    """`upgrade plan`."""

    schema: Literal["layline.upgrade/1"]
    backend: str
    commit: str
    plan: str
    to: str
    last_good: str | None
    """The commit before the first that breaks a place; None where a break could not be dated."""
    safe_pin: str | None
    after_safe: str | None
    """The commit after the safe one, which breaks places of ours."""
    apply_refuses: str | None
    """Why `upgrade apply` cannot write the pin."""
    does_not_fit: DoesNotFit
    breaks: Counted
    steps: list[Step]
    left: list[Broken]


class MadeCommit(TypedDict):
    step: int
    commit: str
    tests: str | None
    output: str


class Applied(TypedDict):
    """`upgrade apply`."""

    schema: Literal["layline.upgrade-apply/1"]
    backend: str
    branch: str
    plan: str
    steps: int
    done: int
    commits: list[MadeCommit]
    mended: int
    left: int
    does_not_fit: DoesNotFit


class Judged(TypedDict):
    """One place of ours against one upstream commit."""

    file: str
    line: int
    target: str
    way: str
    fits: bool
    why: str
    evidence: str | None
    misfit_today: bool


class Checked(OfCommit):
    """`upgrade check`."""

    schema: Literal["layline.upgrade-check/1"]
    backend: str
    commit: str
    pin: str
    places: list[Judged]
    does_not_fit: int
    does_not_fit_today: int
    planned: int | None
    skipped: list[Skipped]


class Ref(TypedDict):
    ref: str
    commit: str
    date: str


class SafeRef(Ref):
    commits_ahead: int
    commits_lacking: int
    """Commits of the pin that are not in it: the pin stands on a branch of its own."""


class MatrixRef(Ref):
    other_places: int
    """Places outside patches that break there."""
    failing_already: int
    """Places of ours that fail there as they do at the pin; they do not count as broken."""
    elsewhere: list[str]
    """The same places, `path:line`."""


class MatrixRow(TypedDict):
    """One patch at every upstream commit asked for."""

    patch: str
    target: str | None
    location: str
    cells: list[Literal["ok", "look", "breaks", "absent"]]
    first_break: str | None
    culprit: NamedCommit | None
    needs_after: str | None
    """The last ref of older code, or of another branch, at which it breaks."""


class Matrix(TypedDict):
    """`patches matrix`."""

    schema: Literal["layline.matrix/1"]
    backend: str
    refs: list[MatrixRef]
    rows: list[MatrixRow]
    usable: list[str]
    failing_already: int
    """Places outside patches that fail at the pin already; they are not counted."""
    safe_pin: SafeRef | None


class Point(TypedDict):
    """One day."""

    date: str
    commit: str
    pin: str
    tip: str
    behind: int
    patches: int
    breaks: int
    moved: bool


class Trend(TypedDict):
    """`gap trend`."""

    schema: Literal["layline.trend/1"]
    backend: str
    points: list[Point]
    skipped: list[Skipped]


class Event(TypedDict):
    """One thing that is new."""

    kind: Literal["broke", "mended", "safe", "can-go"]
    backend: str
    place: str
    target: str
    culprit: str | None


class News(TypedDict):
    """`watch`."""

    schema: Literal["layline.news/1"]
    since: str | None
    upto: str
    tips: dict[str, str]
    events: list[Event]
    skipped: list[Skipped]


class Hit(TypedDict):
    place: str
    target: str
    way: str
    why: str


class Project(TypedDict):
    project: str
    backend: str
    breaks: list[Hit]


class Impact(TypedDict):
    """`impact`."""

    schema: Literal["layline.impact/1"]
    ref: str
    projects: list[Project]
    skipped: list[Skipped]


class FleetRow(TypedDict):
    place: str
    code: str
    message: str


class Member(TypedDict):
    """One backend of one project."""

    project: str
    backend: str
    commit: str
    pin: str
    pin_date: str
    tip: str
    behind: int
    patched_places: int
    breaks: int
    breaks_elsewhere: int
    dead: int
    rows: list[FleetRow]


class Fleet(TypedDict):
    """`fleet`."""

    schema: Literal["layline.fleet/1"]
    projects: list[Member]
    skipped: list[Skipped]


class WatchState(TypedDict):
    """The file that `watch` remembers its last answer in."""

    schema: Literal["layline.watch-state/1"]
    date: str
    backends: dict[str, Remembered]
