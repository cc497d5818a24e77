"""The values of a drift question: both sides of it, and one row per effect."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from layline.change.comparison import Comparison
from layline.core.drift import DOES_NOT_FIT, NOT_INSTALLED, DriftKind, Fate
from layline.core.evidence import Evidence, Location, Severity
from layline.core.finding import WORST_FIRST, Finding, Suggestion, name_kind, weigh
from layline.core.patch import Effect, Style
from layline.core.revision import Commit
from layline.core.why import ASIDE, PROBLEMS, RISKS, Reason, Why, say_all
from layline.coupling.row_parts import LostRead, Passed

if TYPE_CHECKING:
    from layline.change.compare import Comparer
    from layline.coupling.decide import RefKnowledge
    from layline.coupling.reads import Reader
    from layline.coupling.replacements import Replacements
    from layline.coupling.version_guards import Running
    from layline.source.resolve import Resolver

_NOT_REACHED = (Reason.AROUND_FAILS, Reason.NEVER_MADE)
"""The line fails before it is reached, whatever becomes of its target."""
MISFITTING = (Reason.MISFITS_TODAY, Reason.MISREADS_TODAY, *_NOT_REACHED)
_ALREADY = frozenset({*MISFITTING, Reason.RAISES_TODAY})
_NOT_RUN = (Reason.GUARD_NEVER, Reason.GUARD_NOT_YET, Reason.NOT_RUN_AT_ALL, Reason.NOT_RUN_YET, Reason.ADDED_THERE)
"""What does not run at the pin."""
_NOT_JUDGED = frozenset({DriftKind.UNRESOLVED, DriftKind.EXTERNAL})
LOST = frozenset(kind for kind in DriftKind if kind.facts.fate is Fate.GONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One of several reasons of a row with the commit that made it so."""

    why: Why
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What became of one effect's target between pin and tip, and what that means for us."""

    patch: str
    active: bool
    target: str | None
    style: Style
    location: Location
    """The line of the downstream that does it."""
    findings: tuple[Finding, ...]
    """All that the judges said; what is below follows from it."""
    pin_evidence: Evidence | None = None
    tip_evidence: Evidence | None = None
    culprit: Commit | None = None
    causes: tuple[Cause, ...] = ()
    """Where several commits made it so: the reasons, each with its own."""
    commits: tuple[str, ...] = ()
    """The upstream commits that moved its target, and the one that removed it; with culprits, also those that our
    replacement has to follow on the way."""
    passed: Passed | None = None
    """Upstream's calls that break our replacement, where they decide."""
    lost: tuple[LostRead, ...] = ()
    """What of upstream's our replacement reads and the tip does not have."""
    copied: float | None = None
    """How alike our replacement is to upstream's body at the pin, where it is an edited copy."""
    comparison: Comparison | None = None
    effect: Effect | None = None
    repeat: int = 0
    """How many rows before this one say the same of another place."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Where the target is at pin and tip."""
        return tuple(one for one in (self.pin_evidence, self.tip_evidence) if one is not None)

    @property
    def kind(self) -> DriftKind:
        return name_kind(self.findings)

    @property
    def severity(self) -> Severity:
        return weigh(self.findings)

    @property
    def dead_today(self) -> bool:
        return self.kind is DriftKind.DEAD_AT_PIN

    @property
    def today(self) -> Literal["fits", "dead", "not-run", "does-not-fit"]:
        """What it does at the pin; `dead`: the pin has no such name, `not-run`: our code does not run it there."""
        if self.has(*_NOT_RUN):
            return "dead" if self.dead_today else "not-run"
        if self.has(Reason.RAISES_TODAY):
            return "does-not-fit"
        if self.dead_today:
            return "dead"
        return "does-not-fit" if self.has(*MISFITTING) else "fits"

    @property
    def fails_already(self) -> bool:
        """It does not work at the pin, for what is wrong at the tip, too: no upgrade breaks it."""
        broken = {one.why.reason for one in self.findings if one.severity is Severity.BREAKS}
        return self.severity is Severity.BREAKS and (self.has(*_NOT_REACHED) or broken <= _ALREADY)

    @property
    def reasons(self) -> tuple[Why, ...]:
        """Why it is so, in the order in which it is told: what is wrong with our replacement first, and what keeps it
        from being installed before all, where nothing else breaks it.
        """
        untold = {*ASIDE, Reason.KIND_ALONE}
        told = [one.why for one in self.findings if one.why.reason not in untold]
        worst = {one.why for one in self.findings if one.severity is self.severity and one.why.reason in PROBLEMS}
        told.sort(key=lambda why: why not in worst)
        broken = {one.why.reason for one in self.findings if one.severity is Severity.BREAKS}
        if broken == {Reason.NOT_INSTALLED}:
            told.sort(key=lambda why: why.reason is not Reason.NOT_INSTALLED)
        return tuple(told)

    @property
    def detail(self) -> str:
        """The reasons in words, for a person."""
        return say_all(self.reasons)

    @property
    def problems(self) -> tuple[Why, ...]:
        """What is wrong with our replacement at the tip and not at the pin."""
        return tuple(part for one in self.findings if one.why.reason in PROBLEMS for part in one.why.parts)

    @property
    def fails_by_itself(self) -> bool:
        """It breaks, and only because of what our replacement reads, returns or is reached through: the target takes
        and gets what it did.
        """
        broken = {one.why.reason for one in self.findings if one.severity is Severity.BREAKS}
        stays = self.kind.facts.fate is Fate.STAYS and self.severity is Severity.BREAKS
        return stays and broken <= {Reason.MISREADS, Reason.MISREADS_TODAY, Reason.MISRETURNS, Reason.NOT_INSTALLED}

    @property
    def code(self) -> str:
        """The word that answers print for it: the kind; where that is not what is wrong, what it means for us."""
        if self.breaks_elsewhere:
            return NOT_INSTALLED if self.has(Reason.NOT_INSTALLED) else DOES_NOT_FIT
        unlike = self.kind is DriftKind.UNCHANGED and self.severity is not Severity.OK
        return DOES_NOT_FIT if unlike or self.fails_by_itself else self.kind.value

    @property
    def breaks_elsewhere(self) -> bool:
        """It breaks, though nothing is known to be wrong with its target: that was not decided, or is not upstream's."""
        return self.severity is Severity.BREAKS and self.kind in _NOT_JUDGED

    @property
    def own(self) -> Drift:
        """The same row as it is once what fails before it is mended."""
        return replace(self, findings=tuple(one for one in self.findings if one.why.reason is not Reason.NOT_INSTALLED))

    @property
    def risks(self) -> tuple[Why, ...]:
        """Why the write may not be seen by the code it is meant for."""
        return tuple(one.why for one in self.findings if one.why.reason in RISKS)

    @property
    def holders(self) -> tuple[str, ...]:
        """`file:line` of upstream importers that keep the old object after we rebind it."""
        return next((one.why.names for one in self.findings if one.why.reason is Reason.HELD), ())

    @property
    def retire(self) -> Why | None:
        """Why the patch can be deleted, where it can."""
        return next((one.why for one in self.findings if one.retires), None)

    @property
    def suggestion(self) -> Suggestion | None:
        """What to use instead, by the last finding that knows."""
        return next((one.suggestion for one in reversed(self.findings) if one.suggestion is not None), None)

    def has(self, *reasons: Reason) -> bool:
        return any(one.why.reason in reasons for one in self.findings)

    def settle(self, finding: Finding) -> Drift:
        """The same row with one answer instead of its reasons; risks are told on."""
        aside = tuple(one for one in self.findings if one.why.reason in ASIDE)
        return replace(self, findings=(finding, *aside))

    @property
    def id(self) -> str:
        """Stable while patch, target, style, kind and severity stay the same; lines may move."""
        words = (self.patch, self.target or "", self.style.value, self.kind.value, self.severity.value)
        return finding_id(*words, *([str(self.repeat)] if self.repeat else []))

    @property
    def order(self) -> tuple[int, bool, str, int, str]:
        """Worst first, then by place."""
        return (
            WORST_FIRST.index(self.severity),
            not self.active,
            self.location.path,
            self.location.line,
            self.target or "",
        )


def find_breaking(patches: Iterable[Drift]) -> Iterator[Drift]:
    """Patches that an upgrade breaks; what nobody installs, or fails already, it does not."""
    yield from (row for row in patches if row.severity is Severity.BREAKS and row.active and not row.fails_already)


def finding_id(*words: str) -> str:
    """The same for the same words in every run; what was accepted as `look` is another finding once it breaks."""
    return f"drift-{hashlib.blake2b(chr(0).join(words).encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Both sides of a drift question: upstream at pin and tip, and our replacements."""

    comparer: Comparer
    replacements: Replacements
    part: int
    """Which part of the upstream indexes is the backend asked about."""
    keys: dict[str, tuple[bool, bool]]
    """Config keys and `env:NAME`s → whether upstream's text knows them at pin and tip."""
    targets: frozenset[str]
    """Everything the inventory rebinds."""
    named: frozenset[str]
    """Dotted names that our code imports, or gives as text to what may import them."""
    reader: Reader
    """Knows what our replacements read of upstream."""
    foreign: tuple[str, ...] = ()
    """Package roots of the other backends."""
    own: frozenset[str] = frozenset()
    """Top-level names of the downstream's own packages."""
    ground: RefKnowledge | None = None
    """What decides guards; None: they are not asked."""
    running: Running | None = None
    """Knows which lines of ours run at pin and tip."""

    @property
    def pin(self) -> Resolver:
        return self.comparer.pin

    @property
    def tip(self) -> Resolver:
        return self.comparer.tip
