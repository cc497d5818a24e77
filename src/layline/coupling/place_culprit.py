"""Since when a place outside patches does not fit: the first upstream commit after which what is said of it held."""

from __future__ import annotations

import ast
from dataclasses import replace

from layline.change.compare import Comparer, Comparison
from layline.change.file_trace import Version
from layline.change.signatures import returns_another
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import find_arities
from layline.coupling.lost_attribute import find_history, find_setting
from layline.coupling.model import Consequence, State
from layline.coupling.place import Place
from layline.coupling.refusals import Refusal, find_refusal
from layline.coupling.states import Verdict
from layline.coupling.unreached import find_silencing
from layline.source import DefinitionKind
from layline.source.slices import read_definition, read_node

_OTHER = {Reason.CLASS_NO_MORE, Reason.METHOD_RETURNS, Reason.SILENT, Reason.RESULT_MISFITS}
"""What is looked for in another way than an argument that does not fit."""
_SUMS = {Reason.CALL_MISFITS, Reason.OVERRIDE_MISFITS}
_BREAKING = {Consequence.WILL_BREAK, Consequence.MAY_BREAK}


def find_changes(comparer: Comparer, place: Place, verdict: Verdict) -> Refusal:
    """Who changed a name that is still there so that our place no longer fits it; of one that was gone in between, who
    took it away and who brought it back; of several arguments, who did what to each.
    """
    reasons = {one.reason for one in verdict.why}
    if verdict.consequence not in _BREAKING or Reason.ALREADY_SO in reasons:
        return Refusal()
    found = comparer.compare(place.target)
    if verdict.state in {State.NO_LONGER_BINDS, State.CANNOT_ACCEPT} and not reasons.intersection(_OTHER):
        misfit = next((one for one in verdict.why if one.reason in _SUMS), None)
        refused = find_refusal(comparer, place, found, misfit.parts if misfit is not None else ())
        if refused.commits:
            each = tuple((replace(misfit, parts=(one,)), commit) for one, commit in refused.each if misfit is not None)
            return replace(refused, each=each)
    change = _find_change(comparer, place, verdict, found)
    return Refusal(commits=(change,) if change is not None else ())


def _find_change(comparer: Comparer, place: Place, verdict: Verdict, found: Comparison) -> str | None:
    reasons = {one.reason for one in verdict.why}
    if Reason.CLASS_NO_MORE in reasons:
        return _find_unclassing(comparer, found)
    if Reason.METHOD_RETURNS in reasons:
        return _find_retyping(comparer, found)
    if Reason.DEFAULT_SWITCHES in reasons:
        return _find_switching(comparer, found, verdict.why[0])
    if Reason.SILENT in reasons:
        return find_silencing(comparer, verdict, place.target.rpartition(".")[2])
    if verdict.state is State.MISFIT:
        parts = verdict.why[0].parts
        return find_setting(comparer, found.before, parts[0].name.removeprefix("self.")) if parts else None
    counts = next((one.counts for one in verdict.why if one.reason is Reason.RESULT_MISFITS), ())
    if counts:
        return _find_recounting(comparer, found, counts[0])
    fits = verdict.state not in {State.NO_LONGER_BINDS, State.CANNOT_ACCEPT}
    return None if fits else _find_refielding(comparer, place, found)


def _find_unclassing(comparer: Comparer, found: Comparison) -> str | None:
    history = find_history(comparer, found.before)
    if history is None:
        return None
    tracer, path, qualname = history
    return tracer.find_first(path, qualname, lambda now: now is None or now.kind is not DefinitionKind.CLASS)


def _find_retyping(comparer: Comparer, found: Comparison) -> str | None:
    history, before = find_history(comparer, found.before), found.before.definition
    if history is None or before is None:
        return None

    def is_another(version: Version, name: str) -> bool:
        now = version.read_signature(name)
        return now is None or returns_another(before.returns, now.returns)

    return history[0].find_since(*history[1:], is_another)


def _find_switching(comparer: Comparer, found: Comparison, why: Why) -> str | None:
    history = find_history(comparer, found.before)

    def is_switched(version: Version, name: str) -> bool:
        now = version.read_signature(name)
        return now is None or any((one.name, one.default) == (why.name, why.other) for one in now.parameters or ())

    return history[0].find_since(*history[1:], is_switched) if history is not None else None


def _find_recounting(comparer: Comparer, found: Comparison, taken: int) -> str | None:
    history = find_history(comparer, found.before)
    if history is None:
        return None

    def is_another(version: Version, name: str) -> bool:
        node = read_node(version.text, name)
        return node is not None and set(find_arities(node)) != {taken if taken > 1 else None}

    return history[0].find_since(*history[1:], is_another)


def _find_refielding(comparer: Comparer, place: Place, found: Comparison) -> str | None:
    """Since when the fields of a class whose constructor nobody wrote are not those that our call names."""
    history, made = find_history(comparer, found.before), found.before.definition
    if history is None or place.call is None or made is None or made.kind is not DefinitionKind.CLASS:
        return None
    given = set(place.call.keywords).intersection(_find_fields(read_node(_read_pin(comparer, found), made.qualname)))

    def refuses(version: Version, name: str) -> bool:
        text = version.text
        return read_definition(text, name) is not None and not given.issubset(_find_fields(read_node(text, name)))

    return history[0].find_since(*history[1:], refuses) if given else None


def _read_pin(comparer: Comparer, found: Comparison) -> str:
    return comparer.pin.index.read_text(found.before.module or "")


def _find_fields(node: ast.AST | None) -> set[str]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {one.target.id for one in body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}
