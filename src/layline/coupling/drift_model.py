"""The values of a drift question: both sides of it, and one row per effect."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from layline.change.compare import Comparer, Comparison
from layline.change.homes import Suggestion
from layline.core.drift import DriftKind
from layline.core.evidence import Evidence, Location, Severity
from layline.core.patch import Effect, Style
from layline.core.revision import Commit
from layline.coupling.decide import RefKnowledge
from layline.coupling.fit import Passed
from layline.coupling.reads import LostRead, Reader
from layline.coupling.replacements import Replacements
from layline.source import Resolver

LOST = frozenset({DriftKind.MOVED, DriftKind.RENAMED, DriftKind.REMOVED, DriftKind.BINDING_LOST, DriftKind.ANCHOR_LOST})
_WORST_FIRST = (Severity.BREAKS, Severity.LOOK, Severity.OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What became of one effect's target between pin and tip, and what that means for us."""

    patch: str
    active: bool
    target: str | None
    style: Style
    kind: DriftKind
    severity: Severity
    dead_today: bool
    location: Location
    """The line of the downstream that does it."""
    pin_evidence: Evidence | None = None
    tip_evidence: Evidence | None = None
    suggestion: Suggestion | None = None
    culprit: Commit | None = None
    detail: str = ""
    problems: tuple[str, ...] = ()
    """What our replacement does not take or needs too much, at the tip and not at the pin."""
    passed: Passed | None = None
    """Upstream's calls that break our replacement, where they decide."""
    lost: tuple[LostRead, ...] = ()
    """What of upstream's our replacement reads and the tip does not have."""
    bypassed: bool = False
    """The module still binds the name, and the code that used it is elsewhere."""
    holders: tuple[str, ...] = ()
    """`module:line` of upstream importers that keep the old object after we rebind it."""
    risks: tuple[str, ...] = ()
    """Other reasons why the write may not be seen by the code it is meant for."""
    copied: float | None = None
    """How alike our replacement is to upstream's body at the pin, where it is an edited copy."""
    retire: str | None = None
    """Why the patch can go, where it can."""
    comparison: Comparison | None = None
    effect: Effect | None = None
    repeat: int = 0
    """How many rows before this one say the same of another place."""

    @property
    def id(self) -> str:
        """Stable while patch, target, style, kind and severity stay the same; lines may move."""
        words = (self.patch, self.target or "", self.style.value, self.kind.value, self.severity.value)
        return finding_id(*words, *([str(self.repeat)] if self.repeat else []))

    @property
    def order(self) -> tuple[int, bool, str, int, str]:
        """Worst first, then by place."""
        return (
            _WORST_FIRST.index(self.severity),
            not self.active,
            self.location.path,
            self.location.line,
            self.target or "",
        )


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
    reader: Reader
    """Knows what our replacements read of upstream."""
    foreign: tuple[str, ...] = ()
    """Package roots of the other backends."""
    own: frozenset[str] = frozenset()
    """Top-level names of the downstream's own packages."""
    ground: RefKnowledge | None = None
    """What decides guards; None: they are not asked."""

    @property
    def pin(self) -> Resolver:
        return self.comparer.pin

    @property
    def tip(self) -> Resolver:
        return self.comparer.tip
