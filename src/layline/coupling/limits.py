"""Why a row is not as bad as its judges make it look: code of ours that does not run breaks nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from layline.core.condition import Condition, ConditionKind, asks_about, lacks
from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.decide import Decision, Outlook, RefKnowledge, decide
from layline.coupling.drift_model import LOST, MISFITTING, Drift
from layline.coupling.question import Question

FindCondition: TypeAlias = Callable[[Location], Condition | None]
"""What must be true of versions for the function around a line to be called; None: nothing, or not known."""
_NOT_RUN = (
    Reason.GUARD_NEVER,
    Reason.NOT_RUN_AT_ALL,
    Reason.NOT_RUN_NOW,
    Reason.NOT_RUN_ANY_MORE,
    Reason.REFUSES_VERSION,
    Reason.NOT_RUN_YET,
    Reason.GUARD_NOT_YET,
)


def limit_by_guard(question: Question, severity: Severity) -> Iterator[Finding]:
    """What a guard that can no longer be true does: nothing breaks, the patch stops applying; what cannot be decided is
    said.
    """
    found, ground = question.outlook, question.sides.ground
    absent = next((one for one in (ground.packages if ground else ()) if is_for_missing(question, one)), None)
    if absent is not None:
        most = Severity.OK if severity is Severity.OK or question.comparison.after.exists else Severity.LOOK
        yield Finding(severity=most, why=Why(Reason.ONLY_WITHOUT, absent), is_limit=True)
    if found is None:
        return
    raised = _find_raised(question, found)
    if raised is not None:
        refuses = raised.reason is Reason.REFUSES_VERSION
        yield Finding(severity=Severity.LOOK if refuses else Severity.BREAKS, why=raised, is_limit=refuses)
        return
    before = {Reason.NOT_REACHED, Reason.LINE_FAILS}
    failing = any(item.certain and item.why.reason in before for item in question.lost)
    if found.why.reason is Reason.GUARD_NEVER and found.is_planned:  # written for other versions
        yield Finding(severity=Severity.OK, why=found.why, is_limit=True, retires=True)
        return
    if found.is_over and question.sides.reader.is_import_lost(question.comparison, question.effect.location):
        return  # what the target stands in is imported before the condition is asked
    off = found.is_over and severity is Severity.BREAKS and not (found.of_effect and failing)
    yield Finding(severity=Severity.LOOK if off else Severity.OK, why=found.why, is_limit=off, retires=found.can_go)
    if off and not found.is_planned:
        yield Finding(severity=Severity.LOOK, why=Why(Reason.STOPS_APPLYING), is_limit=True)


def _find_raised(question: Question, found: Outlook) -> Why | None:
    """That our code raises at the tip where it went on at the pin: a test whose contrary raises skips nothing."""
    ground = question.sides.ground
    if ground is None or not (found.is_over and found.of_effect):
        return None
    for check in question.effect.checks:
        then, now = decide(check.when, ground, 0), decide(check.when, ground, 1)
        asked = check.before is None or decide(check.before, ground, 1).holds is not False
        if asked and now.holds is False and then.holds is not False:
            of_version = bool(now.why) and all(one.reason is Reason.VERSION_IS for one in now.why)
            reason = Reason.REFUSES_VERSION if of_version else Reason.RAISES_INSTEAD
            return Why(reason, places=(check.raised_at,), parts=tuple(dict.fromkeys(now.why)))
    return None


def limit_by_version(question: Question, severity: Severity) -> Iterator[Finding]:
    """A write that does not run at the tip's version breaks nothing there and can go; one that runs only where upstream
    lost the name adds it.
    """
    running, own = question.sides.running, question.effect.when
    if running is None or asks_about(own, ConditionKind.VERSION):
        return
    decided = running.decide(question.effect.location)
    refused = running.find_refusal(question.effect.location) if decided[1].holds is False else None
    if refused is not None:
        why = Why(Reason.REFUSES_VERSION, places=(refused,), parts=decided[1].why)
        yield Finding(severity=Severity.LOOK, why=why, is_limit=True)
        return
    yield from _tell_not_run(decided, severity, is_lost=question.kind in LOST)


def limit_by_callers(
    rows: Iterable[Drift], find_condition: FindCondition, ground: Callable[[], RefKnowledge]
) -> Iterator[Drift]:
    """The same of a write in a function that is called behind tests of versions alone, wherever these stand: of rows
    that are judged, because whose calls they are only all our files tell.
    """
    for row in rows:
        is_asked = row.effect is not None and row.kind is not DriftKind.EXTERNAL and not row.has(*_NOT_RUN)
        condition = find_condition(row.location) if is_asked else None
        if condition is None:
            yield row
            continue
        decided = decide(condition, ground(), 0), decide(condition, ground(), 1)
        more = tuple(_tell_not_run(decided, row.severity, is_lost=row.kind in LOST))
        never = any(one.why.reason is Reason.NOT_RUN_AT_ALL for one in more)  # what does not run fails nowhere
        told = [one for one in row.findings if not (never and one.why.reason in MISFITTING)]
        yield replace(row, findings=(*told, *more))


def _tell_not_run(decided: tuple[Decision, Decision], severity: Severity, *, is_lost: bool) -> Iterator[Finding]:
    then, now = decided
    breaks = severity is Severity.BREAKS
    if now.holds is False and then.holds is False:
        why = Why(Reason.NOT_RUN_AT_ALL, parts=tuple(dict.fromkeys((*then.why, *now.why))))
        yield Finding(severity=Severity.OK, why=why, is_limit=True, retires=True)
    elif now.holds is False:
        why = Why(Reason.NOT_RUN_NOW if breaks else Reason.NOT_RUN_ANY_MORE, parts=now.why)
        yield Finding(severity=Severity.LOOK if breaks else Severity.OK, why=why, is_limit=breaks, retires=True)
        if breaks:
            yield Finding(severity=Severity.LOOK, why=Why(Reason.STOPS_APPLYING), is_limit=True)
    elif then.holds is False and is_lost and breaks:
        yield Finding(severity=Severity.OK, why=Why(Reason.ADDED_THERE, parts=then.why), is_limit=True)
    elif then.holds is False:
        yield Finding(severity=Severity.OK, why=Why(Reason.NOT_RUN_YET, parts=then.why))


def limit_by_activity(question: Question, severity: Severity) -> Iterator[Finding]:
    """A patch that nobody installs breaks nothing."""
    if not question.patch.active and severity is Severity.BREAKS:
        why = Why(Reason.INACTIVE, text=question.patch.active_reason)
        yield Finding(severity=Severity.LOOK, why=why, is_limit=True)


def is_for_missing(question: Question, name: str) -> bool:
    """True of a write that is made only where the name, or the package, is missing."""
    return any(lacks(one, name) for one in (question.effect.when, question.patch.guard.when))
