"""The values of an upgrade: what breaks, what mends it, in which steps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from layline.core.evidence import Evidence, Location
from layline.core.revision import Commit


class MendKind(StrEnum):
    """What an edit of ours follows."""

    IMPORT_MOVED = "import-moved"
    """The name is elsewhere, or only no longer re-exported."""
    IMPORT_RENAMED = "import-renamed"
    TARGET_MOVED = "target-moved"
    """What a patch replaces is elsewhere, or has another name."""
    PARAMETER_PASSED = "parameter-passed"
    """An override or wrapper takes a new optional parameter and hands it on."""
    PARAMETER_RENAMED = "parameter-renamed"
    """A call, override or wrapper uses a parameter by its new name."""
    ANCHOR_UPDATED = "anchor-updated"
    """The text that we search for, as upstream writes it now."""
    FLOOR_RAISED = "floor-raised"
    """A requirement of ours allows what upstream no longer does."""
    BOUND_REFUSES = "bound-refuses"
    """A requirement of ours refuses what upstream is there, or what it asks for."""
    KEY_RENAMED = "key-renamed"
    """A key of our configuration files has another name upstream."""
    GATE_RETIRED = "gate-retired"
    """A test of upstream's version is decided for good; the branch that cannot run is removed."""
    BODY_CHANGED = "body-changed"
    """Our copy of upstream's body is to follow it."""
    SIGNATURE_CHANGED = "signature-changed"
    """What we put there does not take what upstream passes."""
    ANCHOR_LOST = "anchor-lost"
    """The text that we rewrite is gone."""
    REPLACEMENT_FAILS = "replacement-fails"
    """The target stays; what our replacement reads, returns or is reached through does not."""
    CALL_REFUSED = "call-refused"
    OVERRIDE_REFUSED = "override-refused"
    REMOVED = "removed"


SETTINGS = frozenset({MendKind.FLOOR_RAISED, MendKind.BOUND_REFUSES, MendKind.KEY_RENAMED})
"""Mends of files that are no code."""
BESIDE = SETTINGS | {MendKind.GATE_RETIRED}
"""Mends of what does not break; they are not counted as places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """One place of ours that an upgrade breaks, whoever found it."""

    location: Location
    target: str
    way: str
    """How we touch it: `imports the name`, `patches`, `calls` …"""
    why: str
    new_target: str | None = None
    culprit: str | None = None
    """The upstream commit that did it, where it can be told."""
    idle: bool = False
    """It raises nothing: what we put there is not used any more."""
    evidence: Evidence | None = None
    place: Location | None = None
    """The line that `patches drift` counts for it, where that is another: of the patch whose replacement it stands in, or
    the first of its file that uses the name."""
    causes: tuple[tuple[str, str], ...] = ()
    """Where several upstream commits broke it: what each did, and its hash."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.location.path, self.target, self.way

    def say_why(self, commit: str) -> str:
        """What a commit did to it; what others did later is told with them, since it is not true there yet."""
        mine = [why for why, by in self.causes if by == commit]
        later = [f"from {by[:12]} on: {why}" for why, by in self.causes if by != commit]
        return "; ".join((*mine, *later)) if mine else self.why

    @property
    def counted(self) -> Location:
        """The line that is counted."""
        return self.place or self.location


@dataclass(frozen=True, slots=True, kw_only=True)
class Mend:
    """One edit of ours: made where judging again proves it, proposed where a person must decide."""

    file: str
    lines: tuple[int, int]
    kind: MendKind
    mechanical: bool
    diff: str
    """Of a mechanical mend the edit; of a proposed one what helps to make it."""
    why: str
    target: str
    evidence: Evidence | None = None
    example: str = ""
    """How upstream changed its own callers."""
    ours: Location | None = None
    """Where the body of ours begins that a proposed mend is about; `lines` has its length."""
    place: Location | None = None
    """The line of ours that is counted for it, where that is not the first of `lines`."""
    revealed: bool = False
    """It stands behind a name that could not be reached before the mechanical mends, so it is no place that broke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One file of ours before and after the mechanical mends of a step."""

    path: str
    before: str
    """Digest of the bytes that the plan read."""
    after: str
    """The whole new text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move of the pin, with what it asks for."""

    to: str
    date: str
    culprit: Commit | None
    """The commit that breaks our places; None: the last step, to where the upgrade ends."""
    before: str | None = None
    """The commit before that one: the last without these breaks."""
    mends: tuple[Mend, ...] = ()
    edits: tuple[FileEdit, ...] = ()
    left: int = 0
    """Places that no mechanical mend fits, up to this step."""

    @property
    def lines(self) -> int:
        """Size of the work: lines of ours that the proposed mends stand on."""
        return sum(one.lines[1] - one.lines[0] + 1 for one in self.mends if not one.mechanical)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """From one pin to another."""

    backend: str
    commit: str
    """The downstream commit it was made for."""
    start: str
    to: str
    steps: tuple[Step, ...]
    safe_pin: str | None = None
    after_safe: str | None = None
    """The commit after the safe one, which breaks places of ours; None: the safe one is the last that was asked about."""
    last_good: Commit | None = None
    """The commit before the first that is known to break a place; None: not every break could be dated."""
    left: tuple[Break, ...] = ()
    """What no mechanical mend fits at the end."""
    idle: int = 0
    """Places that break nothing and do nothing there any more."""
    today: int = 0
    """Places that do not fit at the pin."""
    before: int = 0
    """Places that would not fit at the end without any mend."""
    after: int = 0
    """Places that do not fit at the end with the mechanical mends."""
    in_drift: int = 0
    """Of the places that break, those that `patches drift` counts."""
    behind: int = 0
    """Further places that `patches drift` counts: calls that do not fit even where the name is imported anew."""
    compared: int = 0
    """Of the places that break, those that only a comparison with the pin shows."""
    lacks: int = 0
    """Commits of the pin that the end does not have: it stands on another branch."""

    @property
    def digest(self) -> str:
        """The same for the same plan; names it in the commits that carry it out."""
        words = [self.backend, self.commit, self.start, self.to]
        words += [word for step in self.steps for word in (step.to, *(edit.after for edit in step.edits))]
        return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def digest_text(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
