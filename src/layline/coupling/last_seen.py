"""Whether upstream ever had a name that the pin does not have: taken away before, added and removed since, or a typo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layline.core.condition import ConditionKind, needs
from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.removals import find_losses, find_removals, guess_places, name_removal
from layline.git import Repository
from layline.source.names import parents
from layline.source.symbols import SymbolKind

_KNOWN = frozenset({Reason.HAD_UNTIL, Reason.CAME_AND_WENT, Reason.NEVER_HAD_OWNER})
"""What makes a test for the name false: it is no mark of ours."""


def find_last_seen(rows: Iterable[Drift], sides: Sides, upstream: Repository, pin: str, tip: str) -> Iterator[Drift]:
    """Tells, of targets that are dead at the pin, whether upstream ever had them, before the pin or after it: else they
    are a typo or an addition.
    """
    listed = list(rows)
    places = {
        row.target: tuple(guess_places(row.target, sides.pin, sides.part))
        for row in listed
        if _is_unknown(row) and row.target
    }
    before = find_losses(upstream, pin, tip, places.values())
    since = find_removals(upstream, pin, tip, list(places.values()))
    for row in listed:
        if not _is_unknown(row) or row.target is None:
            yield row
            continue
        comes = row.comparison is not None and row.comparison.after.exists
        lost = before.get(places[row.target])
        gone = since.get(places[row.target]) if not comes else None
        if gone is not None and gone != lost:
            why = name_removal(Reason.CAME_AND_WENT, gone, upstream)
        elif lost is not None:
            why = name_removal(Reason.HAD_UNTIL, lost, upstream)
        else:
            why = Why(Reason.COMES_LATER) if comes else _doubt(row, sides)
        told = (*_tell_asked(row, sides), Finding(severity=Severity.OK, why=why))
        yield replace(row, findings=(*row.findings, *(told if why.reason in _KNOWN else told[-1:])))


def _tell_asked(row: Drift, sides: Sides) -> Iterator[Finding]:
    """Of a write to a name that upstream once had, or to a class that it never had, made only where it has it: written
    for those versions.
    """
    asked = row.effect.when if row.effect is not None else None
    names = [row.target, *parents(row.target)] if row.target is not None else []
    lacking = (
        one
        for one in names
        if needs(asked, one) and not (sides.pin.resolve(one).exists or sides.tip.resolve(one).exists)
    )
    for name in list(lacking)[:1] if not row.has(Reason.GUARD_NEVER) else ():
        parts = (Why(Reason.SIDE_LACKS, name, "pin"), Why(Reason.SIDE_LACKS, name, "tip"))
        why = Why(Reason.GUARD_NEVER, "the condition of this effect", parts=parts)
        yield Finding(severity=Severity.OK, why=why, is_limit=True, retires=True)


def _doubt(row: Drift, sides: Sides) -> Why:
    effect = row.effect
    owner = _find_missing_owner(row.target or "", sides)
    if owner is not None:
        return Why(Reason.NEVER_HAD_OWNER, owner)  # nothing can be added to it
    asked = effect.when.walk() if effect is not None and effect.when is not None else ()
    if any(part.kind is ConditionKind.NAME and part.text == row.target for part in asked):
        return Why(Reason.NEVER_HAD_ASKED)  # a probe of several names is no typo
    meant = effect.suggestion if effect is not None and effect.suggestion != row.target else None
    return Why(Reason.TYPO, meant) if meant else Why(Reason.NEVER_HAD)


def _find_missing_owner(target: str, sides: Sides) -> str | None:
    """The outermost part of a target that neither ref has, where that is not the name itself."""
    both = (sides.pin, sides.tip)
    missing = [one for one in parents(target) if all(side.resolve(one).kind is SymbolKind.ABSENT for side in both)]
    return missing[-1] if missing else None


def _is_unknown(row: Drift) -> bool:
    """A name that the pin does not have; a row may be dead for another reason."""
    found = row.comparison
    return (
        row.kind is DriftKind.DEAD_AT_PIN and found is not None and found.kind is row.kind and not found.before.exists
    )
