"""One coupling: where we touch upstream, what became of it, how soon it hurts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from layline.core.evidence import Evidence, Location
from layline.core.why import Reason, Why, say, say_all


class Touch(StrEnum):
    """How downstream code depends on an upstream name."""

    IMPORT = "imports the name"
    MODULE = "imports the module"
    ATTRIBUTE = "reads the attribute"
    CALL = "calls"
    SUBCLASS = "subclasses"
    OVERRIDE = "overrides"
    FIELD = "reads the config field"
    PATCH = "patches"
    SCRIPT = "uses the script"


class State(StrEnum):
    """What became of the upstream name between pin and tip."""

    OK = "ok"
    BODY = "body changed"
    SIGNATURE = "signature changed"
    """It still accepts what we pass."""
    MOVED = "moved"
    RENAMED = "renamed"
    REMOVED = "removed"
    UNBOUND = "no longer re-exported"
    """The module that we take it from stopped importing it; where it is defined nothing changed."""
    NO_LONGER_BINDS = "no longer binds"
    """Our call does not fit the signature of the tip."""
    CANNOT_ACCEPT = "cannot accept"
    """Our override or replacement cannot take what upstream now passes."""
    MISFIT = "replacement fails"
    """The name we patch stays; what our replacement reads, returns or is reached through does not."""
    MISSING = "missing already"
    """Neither the pin nor the tip has it: our line fails today."""
    NEVER_FITTED = "fits neither pin nor tip"
    """Our call fits neither the pin's signature nor the tip's: it fails today."""
    TOO_NEW = "too new"
    """Our call or import fits the tip and not the pin: it fails today."""
    UNDECIDED = "undecided"
    """Not readable from the source: made at run time, or absent at the pin where it may not matter."""


FAILING = frozenset({State.MISSING, State.NEVER_FITTED})
"""What fails at the pin as at the tip."""


class Consequence(StrEnum):
    """What an upgrade to the tip does to this place."""

    WILL_BREAK = "will break"
    MAY_BREAK = "may break"
    LOOK = "look at"
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupling:
    """One place of our code and the upstream name it touches."""

    touch: Touch
    target: str
    location: Location
    state: State
    consequence: Consequence
    why: tuple[Why, ...] = ()
    """Empty where the state says it all."""
    lines: tuple[int, ...] = ()
    """Further lines of the file that do the same."""
    new_target: str | None = None
    """Where the name is now, for moved and renamed."""
    guarded: bool = False
    """Stands in a `try` or behind a condition that may keep it from running."""
    certain: bool = True
    """False where the type of the variable is only guessed from its name."""
    pin_evidence: Evidence | None = None
    tip_evidence: Evidence | None = None
    culprit: str | None = None
    """The upstream commit that first took the name away from where we use it."""
    later: tuple[str, ...] = ()
    """The commits that moved or removed it after that: who stops in between has to follow again."""
    dated: tuple[tuple[Why, str], ...] = ()
    """Where not one commit did all that is told: each part with its own."""
    near: str | None = None
    """Of a name that is gone: a new one that may take its place, told as no more than that."""

    @property
    def fails_already(self) -> bool:
        """Whether it fails at the pin as at the tip. Of an override we only know what upstream passes, not that it
        runs: it is a warning.
        """
        return self.state in FAILING and self.touch is not Touch.OVERRIDE

    @property
    def is_behind(self) -> bool:
        """Whether an import before it keeps it from running at the pin."""
        return any(why.reason is Reason.FAILS_BEFORE for why in self.why)

    @property
    def is_so_already(self) -> bool:
        """Whether our override refuses at the pin what upstream passes there."""
        return any(why.reason is Reason.ALREADY_SO for why in self.why)

    @property
    def causes(self) -> tuple[tuple[str, str], ...]:
        """Of what went and came back, and of what several commits did: what each did, in words, and its hash; else
        empty.
        """
        if self.dated:
            return tuple((say(why), commit) for why, commit in self.dated)
        back = next((one for one in self.why if one.reason is Reason.CAME_BACK), None)
        if back is None:
            return ()
        now = say_all(one for one in self.why if one is not back)
        return (say(Why(Reason.WAS_REMOVED)), back.names[0]), (now, back.names[1])

    @property
    def detail(self) -> str:
        """The reasons in words, for a person."""
        more = Why(Reason.ALSO if len(self.lines) == 1 else Reason.ALSO_LINES, names=tuple(map(str, self.lines)))
        return say_all((*self.why, more) if self.lines else self.why)


def is_flag(target: str) -> bool:
    """Whether it is the destination of a command-line flag, not a name of upstream's code."""
    return target.startswith(FLAG)


FLAG = "args."
_RANK = {Consequence.WILL_BREAK: 0, Consequence.MAY_BREAK: 1, Consequence.LOOK: 2, Consequence.OK: 3}
_TOUCH_RANK = {
    Touch.IMPORT: 0,
    Touch.MODULE: 1,
    Touch.SUBCLASS: 2,
    Touch.PATCH: 3,
    Touch.CALL: 4,
    Touch.ATTRIBUTE: 5,
    Touch.OVERRIDE: 6,
    Touch.FIELD: 7,
    Touch.SCRIPT: 8,
}


def breaks_first(coupling: Coupling) -> tuple[object, ...]:
    """Sort key: what fails earliest (an import at start-up) before what fails when reached (a call), then by place."""
    return (
        _RANK[coupling.consequence],
        coupling.guarded,
        _TOUCH_RANK[coupling.touch],
        coupling.location.path,
        coupling.location.line,
        coupling.target,
    )
