"""Whether upstream's own calls pass what our replacement refuses, and whether the calls in our replacement still fit
upstream's functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.change.binding import check_call, count_taken, find_tested, read_call
from layline.change.comparison import Comparison
from layline.core.drift import Fate
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import compare_returns
from layline.coupling.callee import find_callee, find_written, is_rebound, is_taken, is_told_by_name
from layline.coupling.fit import Refused
from layline.coupling.forwards import find_accepting
from layline.coupling.question import Question
from layline.coupling.refusals import tell_renamed
from layline.coupling.replacements import Replacement
from layline.coupling.surroundings import Imported, find_imports
from layline.coupling.today import tell_today
from layline.source import Definition
from layline.source.fingerprint import dotted_text
from layline.source.walking import find_children, walk

_TODAY = frozenset({Reason.CALLS_REFUSING_TODAY, Reason.CALLS_REFUSING_STILL})


def judge_calls(question: Question) -> Iterator[Finding]:
    """What calls that surely reach us pass and ours does not take: today already, or only at the tip."""
    if not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    then, now = (question.fitter.find_refused(question.comparison, question.ours, side) for side in (0, 1))
    if then:
        yield Finding(severity=Severity.LOOK, why=_sum_up(then, Reason.MISFITS_TODAY))
    told = question.fit.why if question.fit else ()
    new = {name: one for name, one in now.items() if name not in then and not _is_told(one, told)}
    if new:
        yield Finding(severity=Severity.BREAKS, why=_sum_up(new, Reason.MISFITS_PASSED))


def judge_own_calls(question: Question) -> Iterator[Finding]:
    """Calls of upstream's functions in our replacement that do not fit them: at the tip only, or today already."""
    ours = question.ours
    if ours is None or ours.tree is None or not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    found = list(dict.fromkeys(_find_unbound(question, ours, find_imports(ours.tree, ours.node))))
    today = tuple(why for why in found if why.reason in _TODAY)
    parts = tuple(why for why in found if why not in today)
    if today:
        yield tell_today(today)
    if parts:
        yield Finding(severity=Severity.BREAKS, why=Why(Reason.MISREADS, parts=parts))


def judge_own_imports(question: Question) -> Iterator[Finding]:
    """A replacement that imports what the pin does not have fails today, wherever it is put."""
    if question.ours is None or not question.is_decided:
        return
    missing = tuple(dict.fromkeys(question.sides.reader.find_missing(question.ours)))
    if missing:
        yield tell_today(missing)


def _find_unbound(question: Question, ours: Replacement, imports: dict[str, Imported]) -> Iterator[Why]:
    comparer, running = question.sides.comparer, question.sides.running
    for user, node in ((one, below) for one in walk(ours.node) for below in find_children(one)):
        text = dotted_text(node.func) if isinstance(node, ast.Call) else None
        imported = imports.get(text.partition(".")[0]) if text is not None else None
        if text is None or imported is None or imported.guarded or not isinstance(node, ast.Call):
            continue
        found = comparer.compare(f"{imported.name}{text[len(text.partition('.')[0]) :]}")
        if found.kind.facts.fate is not Fate.STAYS:
            continue
        sides = (comparer.pin, found.before), (comparer.tip, found.after)
        callees, call = [find_accepting(side, symbol) for side, symbol in sides], read_call(node)
        if callees[1] is None or (callees[0] is None and not is_taken(found.before, call, bound=False)):
            continue
        # what a decorator of the pin took, fitted there
        then, now = (check_call(call, one[0].parameters or (), bound=one[1]) if one else () for one in callees)
        at = Location(ours.location.path, node.lineno)
        change = (
            compare_returns(found, comparer.pin, comparer.tip)
            if callees[0] and found.body_changed and not now
            else None
        )
        told, last = None, found.name.rpartition(".")[2]
        if now and not then:
            then_written = callees[0] or find_written(found.before)
            named = tell_renamed(now, call, then_written[0], callees[1][0]) if then_written is not None else now
            told = Why(Reason.CALLS_REFUSING, text, parts=tuple(problem.why for problem in named), places=(at,))
        elif change is not None and change.before == count_taken(user, find_tested(ours.node)):
            told = Why(Reason.TAKES_OTHER, text, counts=change, places=(at,))
        elif then and _is_plain(ours.node, node) and _says_all(question, found, callees[0]):
            sure = tuple(problem.why for problem in then if problem.certain)
            still = any(problem.certain for problem in now)
            reason = Reason.CALLS_REFUSING_STILL if still else Reason.CALLS_REFUSING_TODAY
            told = Why(reason, text, parts=sure, places=(at,)) if sure else None
        side = 0 if told is not None and told.reason in _TODAY else 1
        runs = told is not None and (running is None or running.decide(at, last)[side].holds is not False)
        if told is not None and runs:
            yield told


def _says_all(question: Question, found: Comparison, callee: tuple[Definition, bool] | None) -> bool:
    """Whether upstream's signature, as it is written, decides a call by this name."""
    written = find_callee(question.sides.pin, found.before)
    return written == callee and is_told_by_name(found.before) and not is_rebound(found.name, question.sides.targets)


def _is_plain(function: ast.AST, call: ast.Call) -> bool:
    """Whether a call of ours runs without a question that may be about it: in no `try`, and under no test that calls
    something or names what is called.
    """
    names = {one.id for one in walk(call.func) if isinstance(one, ast.Name)}
    around = (one for one in walk(function) if isinstance(one, ast.stmt | ast.IfExp) and one is not function)
    for node in (one for one in around if one.lineno <= call.lineno <= (one.end_lineno or one.lineno)):
        if isinstance(node, ast.Try) and node.handlers:
            return False
        tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else []
        for one in (below for test in tests for below in walk(test)):
            if isinstance(one, ast.Call) or (isinstance(one, ast.Name) and one.id in names):
                return False
    return True


def _is_told(one: Refused, told: tuple[Why, ...]) -> bool:
    """The same reason; or calls that pass too many values, of which the one that is refused was named."""
    if one.problem.why.reason is Reason.TOO_MANY:
        return {place for why in told for place in why.places}.issuperset(one.places)
    return one.problem.why in {part for why in told for part in why.parts}


def _sum_up(refused: dict[str, Refused], reason: Reason) -> Why:
    places = dict.fromkeys(place for one in refused.values() for place in one.places)
    return Why(reason, parts=tuple(one.problem.why for one in refused.values()), places=tuple(places))
