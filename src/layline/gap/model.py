"""All that a gap report is built from: values with their evidence, nothing rendered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.change.surface import StaleKey, Surface
    from layline.core.evidence import Evidence, Location, Skipped
    from layline.core.policy import Recommendation
    from layline.core.revision import Commit
    from layline.coupling.drift_model import Drift
    from layline.coupling.model import Coupling
    from layline.gap.areas import AreaChange, PackageChange
    from layline.gap.changes import Changes
    from layline.gap.churn import Churn
    from layline.gap.dependencies import Conflict, Difference, LockedSet, Unread
    from layline.gap.effort import Effort
    from layline.gap.follow import Follow
    from layline.gap.platform import PlatformChange
    from layline.gap.refused import Bound, Refused
    from layline.gap.successors import Successor
    from layline.history.changes import Diff
    from layline.history.commits import Distance
    from layline.history.tags import Release, ReleaseBranch
    from layline.source.declared_version import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Pin or tip."""

    commit: Commit
    version: Version | None
    tag: tuple[str, int] | None
    """Nearest tag and how many commits it lies before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Files of the downstream that are written for this backend: three different figures."""

    folders: tuple[str, ...]
    tracked: int
    non_empty: int
    python: int
    beyond: tuple[tuple[str, int], ...] = ()
    """Folders and files elsewhere that are called like the backend, with their number of files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastMove:
    """The commit of ours that moved the pin last, and what it changed: evidence for how large such work is."""

    commit: Commit
    files: int
    insertions: int
    deletions: int
    new_files: int = 0
    """Of these files: those that it added, which may be a feature of their own."""
    new_lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    differences: tuple[Difference, ...]
    conflicts: tuple[Conflict, ...]
    locks: tuple[tuple[LockedSet | None, LockedSet | None], ...]
    """Each lock file at pin and tip."""
    files: tuple[str, ...]
    """Everything that was read."""
    platform: tuple[PlatformChange, ...] = ()
    """Wheel channels, images and CI matrices, over all files of each side."""
    unread: tuple[tuple[Unread, ...], tuple[Unread, ...]] = ((), ())
    """Parts of the package metadata that could not be read, at the pin and at the tip: what stands there is neither the
    same nor another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What one upstream commit asks of us beside our code."""

    deletes: tuple[str, ...] = ()
    """Packages that it deletes although our configuration names them."""
    keys: tuple[str, ...] = ()
    """Keys of our configuration that upstream does not know after it."""
    lines: int = 0
    """Lines of ours that set them."""
    needs: tuple[str, ...] = ()
    """What a run needs after it: `Python >=3.11`, `grain==0.2.18`."""
    methods: int = 0
    """Methods of ours that override one which it changes, in a class that has a new address."""
    off: tuple[str, ...] = ()
    """Platforms that upstream's CI does not run on after it."""


NOTHING = Demand()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """Upgrade to this commit, then mend what the next stretch breaks."""

    commit: str
    date: str
    reason: str
    """Why to stop here: a release, or the last commit before a breaking change."""
    behind: int
    """Commits from the pin to here."""
    breaks_next: tuple[str, ...] = ()
    """Upstream names of ours that the commit after this step breaks."""
    places: int = 0
    """Places of our code that it breaks first."""
    lines: int = 0
    """Lines of ours behind all of them."""
    again: int = 0
    """Places that an earlier change breaks first, and that it breaks again, by this or another name."""
    asks: Demand = NOTHING
    """What it asks of us beside our code."""
    next: str | None = None
    """The commit that does all this; None at a release and at the tip."""
    number: int | None = None
    """Its pull request."""
    ahead: int = 1
    """Commits from here to the one that breaks them; several where the commits before it are too few to stop for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One upstream commit, and the places of ours that work before it and not after."""

    commit: str
    number: int | None
    places: tuple[str, ...]
    """`file:line`, in order."""
    targets: tuple[str, ...]
    """The upstream names that it takes away, in the order of the places."""
    again: tuple[str, ...] = ()
    """Places that an earlier change breaks first, and that this one breaks too: another name on the line, or the same
    one where the earlier change had put it."""
    lines: int = 0
    """Lines of ours behind all these places."""
    asks: Demand = NOTHING
    """What it asks of us beside our code."""

    @property
    def name(self) -> str:
        return f"#{self.number}" if self.number else self.commit[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Everything measured between pin and tip of one backend."""

    key: str
    label: str
    ref: str
    slug: str
    project: str
    downstream: str
    downstream_commit: Commit
    upstream: str
    source_path: str | None
    pin: Side
    tip: Side
    pin_evidence: Evidence
    guess: str
    """What a reader must know of a pin that `init` guessed; empty where a file names it."""
    distance: Distance
    diff: Diff
    releases: tuple[tuple[str, str], ...]
    """Tags on commits that the tip has and the pin has not."""
    other_tags: tuple[str, ...]
    """Tags dated between pin and tip that the tip does not hold, oldest first."""
    release: Release | None
    """The newest one, wherever it was cut."""
    branch: ReleaseBranch | None
    """A release in the making: cut on a branch, not tagged yet."""
    last_move: LastMove | None
    """How the pin moved last; None where its history has no move."""
    footprint: Footprint
    churn: tuple[Churn, ...]
    areas: tuple[AreaChange, ...]
    packages: tuple[PackageChange, ...]
    shims: tuple[tuple[str, int], ...]
    """Modules of the tip that only warn and forward, with the line of the warning."""
    changes: Changes
    dependencies: Dependencies
    surface: Surface | None
    couplings: tuple[Coupling, ...]
    stale_keys: tuple[StaleKey, ...]
    recommendation: Recommendation
    plan: tuple[PlanStep, ...]
    around: tuple[str | None, str | None] = (None, None)
    """Around the first change that breaks us: the newest release after the pin without it, the first one with it."""
    allowing: Bound | None = None
    """What of ours asks for upstream and takes newer versions than the pin, too."""
    refused: tuple[Refused, ...] = ()
    """Bounds of ours that fit the pin and not the tip."""
    holding: tuple[Refused, ...] = ()
    """Those on upstream itself that do not allow the last commit before something of ours breaks either."""
    causes: tuple[Cause, ...] = ()
    """Upstream changes that break places of ours, the weightiest first; each place has one."""
    effort: Effort | None = None
    """The size of the work; None where our code was not compared."""
    outside: tuple[str, ...] = ()
    """Places that break in files that no package of ours holds."""
    patches: tuple[Drift, ...] | None = None
    """None: the patch explorer was not asked."""
    unnamed: int = 0
    """Patches whose target cannot be named without running the code: nobody compared them."""
    tests: tuple[Location, ...] = ()
    """Imports in our tests of names that the tip no longer has; they are no places of the code that ships."""
    follows: tuple[Follow, ...] = ()
    """Methods of ours that override classes with a new address, and what changed in these."""
    successors: tuple[Successor, ...] = ()
    """What is known of the place that lost names left."""
    done: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Patched places whose target at the tip reads the same new names as our replacement."""
    asked: tuple[tuple[str, tuple[Location, ...]], ...] = ()
    """Stale keys that our code asks for by name, with its lines."""
    read_files: tuple[tuple[str, tuple[Location, ...]], ...] = ()
    """Files of upstream that our code names and the tip no longer has, with its lines."""
    mentions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Packages that upstream deleted, each with our YAML files that name it."""
    defaults: tuple[tuple[str, str, str], ...] = ()
    """Stale keys whose new name has another number as its default: key, default at the pin, default at the tip."""
    skipped: tuple[Skipped, ...] = field(default=())

    @property
    def numbers(self) -> dict[str, int | None]:
        """Upstream commits that brought a change of code, each with its pull request."""
        return {commit: change.number for change in self.changes.kept for commit in change.commits}

    @property
    def age_days(self) -> int:
        return (date.fromisoformat(self.tip.commit.date) - date.fromisoformat(self.pin.commit.date)).days
