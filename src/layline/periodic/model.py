"""What a periodic report tells, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from layline.core.evidence import Skipped
from layline.core.period import Period
from layline.core.policy import Recommendation
from layline.core.revision import Commit
from layline.history.commits import Distance


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time a report looks at, both ends included; its end is also when the report is made."""

    period: Period
    timezone: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One first-parent commit of the window, with the pull request it names and the paths it brought in."""

    commit: Commit
    paths: tuple[str, ...]
    number: int | None
    """A pull or merge request; None where the commit names none."""
    title: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """One merged pull request, told by the squash or merge commit that names it."""

    number: int
    title: str
    author: str
    merged: datetime
    """In the window's time zone."""
    commit: Commit
    category: str
    reason: str
    """Why that category."""
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PinMove:
    """A submodule or commit variable that one commit of the window moved."""

    kind: Literal["submodule", "variable"]
    name: str
    """The submodule's path, the variable, the requirement, or the key of the backend whose commit a file holds."""
    file: str
    line: int | None
    before: str | None
    """None where the pin is new."""
    after: str | None
    """None where the pin is gone."""
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedMove:
    """A move with its distance, where the objects to count with are here."""

    move: PinMove
    distance: Distance | None
    why: str = ""
    """Why there is no distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable:
    """One upstream change worth telling."""

    area: str
    number: int | None
    title: str
    commit: str
    ours: int = 0
    """How many files it touches that hold what we use; known where couplings were judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What the tip does to our code."""

    will_break: int
    """Places of ours that break at the tip."""
    to_fix: int
    """How many of them have to be edited; the others only wait behind these."""
    used_files: frozenset[str]
    """Upstream files that hold what we use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """What a backend's distance was before."""

    since: str
    """The id of the report that told it, or a moment where there is none."""
    behind: int
    tip: str
    recommendation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far one backend is behind its upstream at the window's end."""

    key: str
    label: str
    repo: str
    """The upstream's address, or its name where it has none."""
    ref: str
    pin: Commit
    tip: Commit
    distance: Distance
    previous: Previous | None
    old_pin: str | None
    """The pin when the window began, where it was another one."""
    bump: Commit | None = None
    """The downstream commit of the window that moved the pin last."""
    recommendation: Recommendation
    stale_days: int = 0
    """Days from the tip to the window's end, where the tip is also the newest commit at hand: newer ones may be
    missing."""
    notable: tuple[Notable, ...] = ()
    upstream_changes: int = 0
    """Pull requests since `previous`, those told in `notable` included."""

    @property
    def change(self) -> int | None:
        return None if self.previous is None else self.distance.behind - self.previous.behind

    @property
    def age_days(self) -> int | None:
        return self.recommendation.inputs.age_days


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedCommit:
    """One commit variable now, when the month or quarter began, and how far it went."""

    name: str
    variable: str
    file: str
    line: int | None
    current: str | None
    base: str | None
    """When the month or quarter began."""
    start: str | None
    """When the window began."""
    counted: bool
    distance: Distance | None = None
    window_distance: Distance | None = None
    """How far it went inside the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoDrift:
    """How far the commit variables of one target moved inside the downstream."""

    key: str
    label: str
    unit: Literal["month", "quarter"]
    base: datetime
    pins: tuple[TrackedCommit, ...]
    upstream: Drift | None
    """The same target against its upstream, where that can be measured."""
    recommendation: Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Everything a periodic report tells, in no particular order."""

    window: Window
    repo: str
    ref: str
    before: str | None
    """The downstream commit just before the window; None where history begins later."""
    tip: str
    """The downstream commit at the window's end."""
    pulls: tuple[PullRequest, ...]
    """Newest first."""
    direct: tuple[Commit, ...]
    """First-parent commits of the window that name no pull request."""
    moves: tuple[CountedMove, ...]
    drifts: tuple[Drift, ...]
    repo_drifts: tuple[RepoDrift, ...]
    submodules: int
    """Submodules at the window's end."""
    ended: str = ""
    """The date of our newest commit, where the window begins after it: what was merged in it is not known."""
    unmeasured: tuple[Skipped, ...] = ()
    """Required targets that could not be measured, by key; the record says so."""
    skipped: tuple[Skipped, ...] = ()
