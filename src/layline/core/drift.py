"""Drift kinds: what became of a symbol between pin and tip, and all that is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from layline.core.evidence import Severity

DOES_NOT_FIT, NOT_INSTALLED = "does-not-fit", "not-installed"
"""What answers print of a row beside the kinds."""


class DriftKind(StrEnum):
    """In the order of how much is known to be well; `unchanged` first."""

    UNCHANGED = "unchanged"
    BODY_CHANGED = "body-changed"
    SIGNATURE_CHANGED = "signature-changed"
    MOVED = "moved"
    """The same object has a new home."""
    RENAMED = "renamed"
    REMOVED = "removed"
    DEAD_AT_PIN = "dead-at-pin"
    """It is not there at the pin either: what relies on it does nothing today."""
    BINDING_LOST = "binding-lost"
    """The module no longer imports or re-exports the name, though the object lives elsewhere."""
    ANCHOR_LOST = "anchor-lost"
    """A source rewrite searches for text that is gone."""
    EXTERNAL = "external"
    """Not this upstream."""
    UNRESOLVED = "unresolved"
    """Cannot be decided by reading; the detail says why."""

    @property
    def facts(self) -> KindFacts:
        return KINDS[self]


class Fate(StrEnum):
    """Where a name is at the tip."""

    STAYS = "stays"
    """Where it was."""
    GONE = "gone"
    """Not there; perhaps elsewhere."""
    OPEN = "open"
    """Nothing to compare: of another package, not there at the pin, or not decided by reading."""


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What every judge and every page needs to know of a kind: a new one is one row here, and a judge that gives it."""

    fate: Fate
    severity: Severity
    """How bad it is by itself for what we put in the place of the name."""
    message: str
    """The sentence a row begins with."""
    rule: tuple[int, str, str]
    """Number, name and text for tools that annotate code; an id never changes its meaning."""
    rank: int = 3
    """Of several kinds found for one effect the highest is told."""


KINDS = {
    DriftKind.UNCHANGED: KindFacts(
        Fate.STAYS,
        Severity.OK,
        "{target} is unchanged",
        (100, "TargetUnchanged", "The target has the same signature and the same body at the tip."),
        rank=0,
    ),
    DriftKind.BODY_CHANGED: KindFacts(
        Fate.STAYS,
        Severity.LOOK,
        "the body of {target} changed",
        (
            101,
            "TargetBodyChanged",
            (
                "The target has the same signature but a different body at the tip. A replacement copied "
                "from the old body misses what upstream changed."
            ),
        ),
        rank=1,
    ),
    DriftKind.SIGNATURE_CHANGED: KindFacts(
        Fate.STAYS,
        Severity.LOOK,
        "the signature of {target} changed",
        (
            102,
            "TargetSignatureChanged",
            (
                "Parameters, defaults, decorators or sync/async of the target differ at the tip. A replacement that "
                "does not take what upstream passes raises TypeError."
            ),
        ),
        rank=2,
    ),
    DriftKind.MOVED: KindFacts(
        Fate.GONE,
        Severity.BREAKS,
        "{target} moved",
        (
            103,
            "TargetMoved",
            (
                "The target is in another module at the tip. Assigning to the old name raises no error and "
                "has no effect."
            ),
        ),
    ),
    DriftKind.RENAMED: KindFacts(
        Fate.GONE,
        Severity.BREAKS,
        "{target} was renamed",
        (
            104,
            "TargetRenamed",
            "The target has another name at the tip. Assigning to the old name raises no error and has no effect.",
        ),
    ),
    DriftKind.REMOVED: KindFacts(
        Fate.GONE,
        Severity.BREAKS,
        "{target} was removed",
        (105, "TargetRemoved", "The target is gone at the tip. Assigning to it raises no error and has no effect."),
    ),
    DriftKind.DEAD_AT_PIN: KindFacts(
        Fate.OPEN,
        Severity.LOOK,
        "dead patch: {target} does not exist at the pin",
        (106, "TargetAbsentAtPin", "Upstream does not have the target at the pin, so the patch does nothing today."),
        rank=11,
    ),
    DriftKind.BINDING_LOST: KindFacts(
        Fate.GONE,
        Severity.BREAKS,
        "{target} no longer exists: its module stopped importing it",
        (
            107,
            "BindingLost",
            "The module no longer imports the name that we rebind, though the object lives elsewhere.",
        ),
    ),
    DriftKind.ANCHOR_LOST: KindFacts(
        Fate.GONE,
        Severity.BREAKS,
        "the text that we rewrite is gone from {target}",
        (108, "AnchorLost", "Our patch rewrites upstream's source and searches for a text that is no longer there."),
        rank=10,
    ),
    DriftKind.EXTERNAL: KindFacts(
        Fate.OPEN,
        Severity.OK,
        "{target} is not code of this upstream",
        (109, "TargetExternal", "The target does not belong to this upstream."),
    ),
    DriftKind.UNRESOLVED: KindFacts(
        Fate.OPEN,
        Severity.LOOK,
        "{target} cannot be decided without running the code",
        (
            110,
            "TargetUnresolved",
            "What the target is cannot be decided without running the code; the message says why.",
        ),
    ),
}


class Uncompared(StrEnum):
    """Why an effect that `patches list` has is no row of `patches drift`."""

    SETTING = "setting"
    """It sets a config key or an environment variable."""
    NO_TARGET = "no-target"
    OTHER_PACKAGE = "other-package"
    REPEATED = "repeated"
    FILTERED = "filtered"


UNCOMPARED = {
    Uncompared.SETTING: "it sets a config key or an environment variable, not a name of upstream",
    Uncompared.NO_TARGET: "the target cannot be named without running the code",
    Uncompared.OTHER_PACKAGE: "the target is in a package that is not this upstream",
    Uncompared.REPEATED: "another row reports the same for the same line",
    Uncompared.FILTERED: "left out by the filters of this question",
}
