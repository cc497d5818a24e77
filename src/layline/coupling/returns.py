"""Whether our replacement returns, and takes apart, what upstream's callers and the original now expect."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.core.drift import DriftKind, Fate
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import compare_returns, find_shape_problems, find_used_attributes, retypes, walk_own
from layline.coupling.calls_original import calls_sometimes
from layline.coupling.question import Question
from layline.coupling.surroundings import find_held, find_originals
from layline.coupling.today import tell_today
from layline.source import DefinitionKind


def judge_returns(question: Question) -> Iterator[Finding]:
    """Of a function whose declared return type, or number of returned values, became another."""
    comparison, ours = question.comparison, question.ours
    before, after = comparison.before.definition, comparison.after.definition
    if not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    if before is None or after is None or before.kind is not DefinitionKind.FUNCTION:
        return
    tree = question.sides.replacements.read_tree(ours.location.path) if ours is not None else None
    held = find_originals(tree, ours.node, comparison.name) if ours is not None and tree is not None else frozenset()
    yield from _judge_count(question, held)
    if retypes(comparison, question.sides.pin):
        why = Why(Reason.RETURN_TYPE, str(before.returns), str(after.returns))
        used = find_used_attributes(ours.node, held) if ours is not None else []
        severity = Severity.OK if not used and _hands_back(question) else Severity.LOOK
        yield Finding(kind=DriftKind.SIGNATURE_CHANGED, severity=severity, why=why)
        if used:
            why = Why(Reason.READS_OF_RETURNED, names=tuple(f".{word}" for word in used))
            yield Finding(severity=Severity.LOOK, why=why)


def _hands_back(question: Question) -> bool:
    """Whether a replacement of ours gives back what the original returned, and nothing else, without a look at it."""
    ours = question.ours
    if ours is None or not isinstance(ours.node, ast.FunctionDef):
        return False
    held = find_held(ours.tree, ours.node, question.comparison.name)
    returned = [item.value for item in walk_own(ours.node) if isinstance(item, ast.Return)]
    return bool(returned) and all(
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in held for value in returned
    )


def judge_results(question: Question) -> Iterator[Finding]:
    """A replacement that reads today already what the results of upstream's functions, or what its own object holds,
    do not have.
    """
    ours = question.ours
    if ours is None or not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    reader, comparison = question.sides.reader, question.comparison
    found = (*reader.find_lacking(comparison, ours), *reader.find_too_new(comparison, ours))
    if found:
        yield tell_today(found)


def _judge_count(question: Question, held: frozenset[str]) -> Iterator[Finding]:
    comparison, ours = question.comparison, question.ours
    change = compare_returns(comparison, question.sides.pin, question.sides.tip) if comparison.body_changed else None
    if change is None:
        return
    yield Finding(severity=Severity.LOOK, why=Why(Reason.RETURN_COUNT, counts=change))
    if ours is None:
        return
    found = tuple(item.why for item in find_shape_problems(change, ours.node, held))
    if not found and calls_sometimes(ours.node, find_held(ours.tree, ours.node, comparison.name)):
        found = (Why(Reason.MAKES_OLD, counts=(change.before,)),)
    if found:
        callers = question.fitter.find_callers(comparison)
        if callers and callers <= question.sides.targets:
            names = tuple(sorted(callers))
            yield Finding(severity=Severity.OK, why=Why(Reason.CALLERS_REPLACED, names=names))
            return
        yield Finding(severity=Severity.BREAKS, why=Why(Reason.MISRETURNS, parts=found))
