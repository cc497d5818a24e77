"""Whether our replacement returns, and takes apart, what upstream's callers and the original now expect."""

from __future__ import annotations

from dataclasses import replace

from layline.change.signatures import returns_another
from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.coupling.binding_kind import compare_returns, find_shape_problems, find_used_attributes
from layline.coupling.calls_original import calls_sometimes
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.replacements import Replacement
from layline.coupling.surroundings import find_held, find_originals
from layline.source import DefinitionKind

_STAYS = frozenset({DriftKind.UNCHANGED, DriftKind.BODY_CHANGED, DriftKind.SIGNATURE_CHANGED})


def judge_returns(row: Drift, ours: Replacement | None, sides: Sides) -> Drift:
    """A row of a function whose declared return type, or number of returned values, became another."""
    comparison = row.comparison
    if comparison is None or row.kind not in _STAYS:
        return row
    before, after = comparison.before.definition, comparison.after.definition
    if before is None or after is None or before.kind is not DefinitionKind.FUNCTION:
        return row
    tree = sides.replacements.read_tree(ours.location.path) if ours is not None else None
    held = find_originals(tree, ours.node, comparison.name) if ours is not None and tree is not None else frozenset()
    if comparison.body_changed and (change := compare_returns(comparison, sides.pin, sides.tip)) is not None:
        found = tuple(item.message for item in find_shape_problems(change, ours.node, held)) if ours is not None else ()
        held_here = find_held(ours.tree, ours.node, comparison.name) if ours is not None else frozenset()
        if not found and ours is not None and calls_sometimes(ours.node, held_here):
            found = (f"returns what it makes itself on some paths, made for {change.before} values",)
        told = f"our replacement {', '.join(found)}" if found else ""
        severity = Severity.BREAKS if found else Severity.LOOK if row.severity is Severity.OK else row.severity
        row = replace(
            row, severity=severity, problems=(*row.problems, *found), detail=_join(row.detail, str(change), told)
        )
    if not returns_another(before.returns, after.returns):
        return row
    used = find_used_attributes(ours.node, held) if ours is not None else []
    told = f"our wrapper reads {', '.join(f'.{word}' for word in used)} of it" if used else ""
    text = f"it returned {before.returns} and returns {after.returns} now"
    severity = Severity.LOOK if row.severity is Severity.OK else row.severity
    return replace(row, kind=DriftKind.SIGNATURE_CHANGED, severity=severity, detail=_join(row.detail, text, told))


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
