"""Whether the calls in our replacement fit upstream's functions: those it imports, and methods of the object that it
is put on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from layline.change.binding import Problem, check_call, count_taken, find_tested, read_call
from layline.change.comparison import Comparison
from layline.core.drift import Fate
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.below import is_overridden
from layline.coupling.binding_kind import compare_returns
from layline.coupling.callee import find_callee, find_written, is_rebound, is_taken, is_told_by_name
from layline.coupling.forwards import UNBOUND, find_accepting
from layline.coupling.question import Question
from layline.coupling.refusals import tell_renamed
from layline.coupling.replacements import Replacement
from layline.coupling.results import find_beside
from layline.coupling.surroundings import find_imports
from layline.coupling.today import tell_today
from layline.source import Definition
from layline.source.fingerprint import dotted_text
from layline.source.resolve import Resolver
from layline.source.walking import find_children, walk

_TODAY = frozenset({Reason.CALLS_REFUSING_TODAY, Reason.CALLS_REFUSING_STILL})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call in our replacement of what is upstream's."""

    node: ast.Call
    user: ast.AST
    """What stands around it and takes its result."""
    within: ast.AST
    """The function in which it stands."""
    text: str
    name: str
    """Dotted name of what is called."""
    owner: str | None = None
    """Of a method: the class of the object that our replacement is put on."""


def judge_own_calls(question: Question) -> Iterator[Finding]:
    """Calls of upstream's functions in our replacement that do not fit them: at the tip only, or today already."""
    ours = question.ours
    if ours is None or ours.tree is None or not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    told = (_judge(question, ours, call) for call in (*_find_imported(ours), *_find_methods(question, ours)))
    found = list(dict.fromkeys(why for why in told if why is not None))
    today = tuple(why for why in found if why.reason in _TODAY)
    parts = tuple(why for why in found if why not in today)
    if today:
        yield tell_today(today)
    if parts:
        yield Finding(severity=Severity.BREAKS, why=Why(Reason.MISREADS, parts=parts))


def _find_calls(function: ast.AST) -> Iterator[tuple[ast.Call, ast.AST, str]]:
    """Calls of a dotted name, with what takes their results."""
    for user, node in ((one, below) for one in walk(function) for below in find_children(one)):
        text = dotted_text(node.func) if isinstance(node, ast.Call) else None
        if text is not None and isinstance(node, ast.Call):
            yield node, user, text


def _find_imported(ours: Replacement) -> Iterator[_Call]:
    imports = find_imports(ours.tree, ours.node) if ours.tree is not None else {}
    for node, user, text in _find_calls(ours.node):
        first = text.partition(".")[0]
        imported = imports.get(first)
        if imported is not None and not imported.guarded:
            name = f"{imported.name}{text[len(first) :]}"
            yield _Call(node=node, user=user, within=ours.node, text=text, name=name)


def _find_methods(question: Question, ours: Replacement) -> Iterator[_Call]:
    """Calls of methods of the object that our method is put on, also in the functions beside it that are handed it."""
    before = question.comparison.before
    definition, node = before.definition, ours.node
    if definition is None or not definition.owner or UNBOUND.intersection(definition.decorators):
        return
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.args.args:
        return
    me, owner = node.args.args[0].arg, question.comparison.name.rpartition(".")[0]
    for function, object_ in ((node, me), *find_beside(ours, me)):
        for call, user, text in _find_calls(function):
            first, _, word = text.partition(".")
            if first == object_ and word and "." not in word:
                yield _Call(node=call, user=user, within=function, text=text, name=f"{owner}.{word}", owner=owner)


def _judge(question: Question, ours: Replacement, one: _Call) -> Why | None:
    """What is to be told of a call."""
    comparer, running = question.sides.comparer, question.sides.running
    found = comparer.compare(one.name)
    goes = one.owner is not None and found.kind.facts.fate is Fate.GONE  # that it is gone is told elsewhere
    if not (found.kind.facts.fate is Fate.STAYS or goes) or not _is_their_own(question, one):
        return None
    sides = (comparer.pin, found.before), (comparer.tip, found.after)
    callees, call = [find_accepting(side, symbol) for side, symbol in sides], read_call(one.node)
    if (callees[1] is None and not goes) or (
        callees[0] is None and not is_taken(found.before, call, bound=one.owner is not None)
    ):
        return None
    # what a decorator of the pin took, fitted there
    then, now = (
        check_call(call, it[0].parameters or (), bound=_is_bound(one, it)) if it is not None else () for it in callees
    )
    told = _tell(question, one, found, callees, (then, now))
    side = 0 if told is not None and told.reason in _TODAY else 1
    last = found.name.rpartition(".")[2]
    runs = told is not None and (running is None or running.decide(told.places[0], last)[side].holds is not False)
    return told if runs else None


def _tell(
    question: Question,
    one: _Call,
    found: Comparison,
    callees: list[tuple[Definition, bool] | None],
    problems: tuple[tuple[Problem, ...], tuple[Problem, ...]],
) -> Why | None:
    """How a call does not fit, or its result is taken."""
    (then, now), call, sides = problems, read_call(one.node), question.sides
    at = Location(question.ours.location.path if question.ours is not None else "", one.node.lineno)
    changed = callees[0] is not None and callees[1] is not None and found.body_changed and not now
    change = compare_returns(found, sides.pin, sides.tip) if changed else None
    if now and not then and callees[1] is not None:
        written = callees[0] or find_written(found.before)
        named = tell_renamed(now, call, written[0], callees[1][0]) if written is not None else now
        return Why(Reason.CALLS_REFUSING, one.text, parts=tuple(problem.why for problem in named), places=(at,))
    if change is not None and change.before == count_taken(one.user, find_tested(one.within)):
        return Why(Reason.TAKES_OTHER, one.text, counts=change, places=(at,))
    if then and _is_plain(one) and _says_all(question, one, found, callees[0]):
        sure = tuple(problem.why for problem in then if problem.certain)
        still = any(problem.certain for problem in now)
        reason = Reason.CALLS_REFUSING_STILL if still else Reason.CALLS_REFUSING_TODAY
        return Why(reason, one.text, parts=sure, places=(at,)) if sure else None
    return None


def _is_bound(one: _Call, callee: tuple[Definition, bool]) -> bool:
    return callee[1] or (one.owner is not None and "staticmethod" not in callee[0].decorators)


def _is_their_own(question: Question, one: _Call) -> bool:
    """Whether a method is the one that upstream's class has: no class below it writes its own, and nor do we."""
    if one.owner is None:
        return True
    if is_rebound(one.name, question.sides.targets):
        return False
    return not any(_is_overridden(side, one) for side in (question.sides.pin, question.sides.tip))


def _is_overridden(side: Resolver, one: _Call) -> bool:
    owner = side.resolve(one.owner or "")
    return owner.exists and is_overridden(side, owner.home, one.name)


def _says_all(question: Question, one: _Call, found: Comparison, callee: tuple[Definition, bool] | None) -> bool:
    """Whether upstream's signature, as it is written, decides a call by this name."""
    written = find_callee(question.sides.pin, found.before)
    told = one.owner is not None or is_told_by_name(found.before)
    return written == callee and told and not is_rebound(found.name, question.sides.targets)


def _is_plain(one: _Call) -> bool:
    """Whether a call of ours runs without a question that may be about it: in no `try`, and under no test that calls
    something or names what is called.
    """
    names = {item.id for item in walk(one.node.func) if isinstance(item, ast.Name)} if one.owner is None else set()
    word, line = one.name.rpartition(".")[2], one.node.lineno
    statements = (
        item for item in walk(one.within) if isinstance(item, ast.stmt | ast.IfExp) and item is not one.within
    )
    for node in (item for item in statements if item.lineno <= line <= (item.end_lineno or item.lineno)):
        if isinstance(node, ast.Try) and node.handlers:
            return False
        tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else []
        for item in (below for test in tests for below in walk(test)):
            named = item.id in names if isinstance(item, ast.Name) else getattr(item, "attr", "") == word
            if isinstance(item, ast.Call) or named:
                return False
    return True
