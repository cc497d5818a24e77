"""Whether each patch fits one upstream commit: its target, its anchors, what it reads, and who calls what it puts
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layline.change.compare import Comparison
from layline.core.condition import Condition, ConditionKind, is_decidable
from layline.core.drift import DriftKind
from layline.core.patch import Patch, Style
from layline.core.why import Reason, say_all
from layline.coupling.decide import decide, judge_patterns
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.fit import Fitter, called_name, find_new_problems, may_refuse
from layline.coupling.replacements import Replacement
from layline.source import Symbol, SymbolKind
from layline.upgrade.absolute import Judged, Removed

WAY = "patches"
_SHOWN = 3
_CALLED = {Style.BINDING_REPLACEMENT, Style.FUNCTION_WRAPPING}


def find_judged_effects(
    rows: Iterable[Drift], patches: dict[str, Patch], sides: Sides, unheard: frozenset[str]
) -> Iterator[Judged]:
    """One row for each effect that can be decided; both sides of `sides` are the commit asked about.

    `unheard`: names that upstream never had; adding one raises nothing and is mostly meant.
    """
    listed = [row for row in rows if _is_known(row) and row.target not in unheard]
    offs = [_find_off(row, patches.get(row.patch), sides) for row in listed]
    doubts = [_doubt(row, sides) for row, off in zip(listed, offs, strict=True) if off is None]
    # the calls of all of them are read together: each reading goes through all of upstream's files
    fitter = Fitter(sides.comparer, ((), [called_name(one) for one in doubts if one is not None]))
    for row, off in zip(listed, offs, strict=True):
        why = off or _find_misfit(row, sides, fitter)
        yield Judged(
            location=row.location,
            target=row.target or "",
            way=WAY,
            fits=off is not None or not why,
            why=why or "",
            removed=_find_removed(row) if why and off is None else None,
            evidence=row.pin_evidence,
        )


def _is_known(row: Drift) -> bool:
    return row.kind not in {DriftKind.EXTERNAL, DriftKind.UNRESOLVED} and row.target is not None and bool(row.effect)


def _find_off(row: Drift, patch: Patch | None, sides: Sides) -> str | None:
    """Why the patch does not apply at this commit, where that can be read."""
    if not row.active:
        return "the patch is never active"
    ground = sides.ground
    asked = (patch.guard.when if patch else None, row.effect.when if row.effect else None)
    conditions = [one for one in asked if one is not None and is_decidable(one)]
    if ground is not None:
        versions = judge_patterns(patch.version_patterns, ground) if patch is not None else None
        if versions is not None and versions.can_go:
            return "its version pattern is false here"
        if any(decide(condition, ground, 1).holds is False for condition in conditions):
            return "its condition is false here"
    needed = any(_asks_for(condition, row.target or "") for condition in conditions)
    return "it does not exist, but the patch checks for it first" if needed and row.dead_today else None


def _asks_for(condition: Condition, target: str) -> bool:
    """True if the condition needs the target, or something it stands in, to be there."""
    if condition.kind is ConditionKind.NAME:
        return f"{target}.".startswith(f"{condition.text}.")
    return condition.kind is ConditionKind.ALL and any(_asks_for(part, target) for part in condition.parts)


def _find_misfit(row: Drift, sides: Sides, fitter: Fitter) -> str:
    if row.dead_today:
        return say_all(one for one in row.reasons if one.reason is not Reason.HAD_UNTIL)
    comparison, ours = _doubt(row, sides), _read_ours(row, sides)
    if comparison is None:
        return ""
    fit = fitter.check(_alone(comparison), ours)
    if fit.passed is not None:
        return say_all(fit.why)
    refused = fitter.find_refused(comparison, ours, 1)
    told = [f"{one.problem.message} (upstream calls it at {one.places[0]})" for one in refused.values()]
    return f"our replacement {'; '.join(told[:_SHOWN])}" if told else ""


def _find_removed(row: Drift) -> Removed | None:
    last = next((one for one in row.reasons if one.reason is Reason.HAD_UNTIL), None)
    return Removed(commit=last.name, text=say_all([last])) if last is not None else None


def _doubt(row: Drift, sides: Sides) -> Comparison | None:
    """The target of a patch whose replacement does not take all that its signature allows: its callers decide."""
    comparison, ours = row.comparison, _read_ours(row, sides)
    if comparison is None or ours is None or row.dead_today:
        return None
    refused = find_new_problems(_alone(comparison), ours, sides.comparer).why or may_refuse(comparison.after, ours)
    return comparison if refused else None


def _read_ours(row: Drift, sides: Sides) -> Replacement | None:
    effect = row.effect
    if effect is None or effect.style not in _CALLED or effect.anchors:
        return None
    return sides.replacements.read(effect.replacement_at)


def _alone(comparison: Comparison) -> Comparison:
    """The same symbol compared with nothing: every problem counts, not only the new ones."""
    nothing = Symbol(name=comparison.name, kind=SymbolKind.ABSENT)
    return replace(comparison, before=nothing, changes=(), kind=DriftKind.SIGNATURE_CHANGED)
