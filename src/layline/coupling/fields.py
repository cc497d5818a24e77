"""An object of a class of ours in a field that upstream's class sets: what the methods of that class call on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.change.binding import CallShape, Problem, check_call, read_call
from layline.change.compare import Comparer
from layline.change.file_trace import Version
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.patch import Holder
from layline.core.why import Reason, Why
from layline.coupling.callee import is_reshaped
from layline.coupling.lost_attribute import find_history
from layline.coupling.question import Question
from layline.coupling.replacements import Replacement, define
from layline.source import Definition
from layline.source.lineage import find_above
from layline.source.resolve import Resolver
from layline.source.slices import read_node
from layline.source.walking import walk

_CALLED = ("__call__", "forward")
"""What a call of an object runs: of a module of torch its `forward`."""


def judge_field(question: Question) -> Iterator[Finding]:
    """Arguments that a method of our class does not take, where upstream's class passes them at the tip to what stands in
    its field, and did not at the pin.
    """
    ours, sides = question.ours, question.sides
    if ours is None or not isinstance(ours.node, ast.ClassDef) or not _puts_object(question):
        return
    if not any(why.reason is Reason.SET_BY_METHODS for why in question.comparison.why):
        return
    owner, _, field = question.target.rpartition(".")
    for method in _find_methods(ours.node):
        then, now = (_check_calls(side, owner, field, method) for side in (sides.pin, sides.tip))
        known = {problem.argument for _, problems in then for problem in problems}
        refused = {problem.argument: problem.why for _, problems in now for problem in problems}
        new = {argument: why for argument, why in refused.items() if argument not in known}
        places = tuple(at for at, problems in now if any(one.argument in new for one in problems))
        if new:
            why = Why(Reason.FIELD_REFUSES, method.name, field, parts=tuple(new.values()), places=places)
            # a branch that ours takes may be for another class that upstream puts there itself
            severity = Severity.BREAKS if len(places) == len(now) else Severity.LOOK
            yield Finding(severity=severity, why=why)


def find_field_change(comparer: Comparer, target: str, ours: Replacement, why: Why) -> str | None:
    """Since when a method of upstream's class passes to the object in its field what ours refuses."""
    owner, _, field = target.rpartition(".")
    method = next((one for one in _find_methods(ours.node) if one.name == why.name), None)

    def passes(version: Version, name: str) -> bool:
        node = read_node(version.text, name)
        calls = _find_calls(node, field, why.name) if node is not None else ()
        return any(one.why in why.parts for _, shape in calls for one in (_check(shape, method) if method else ()))

    above = (comparer.pin.resolve(home) for home in dict.fromkeys(find_above(owner, comparer.pin)))
    known = (history for symbol in above if (history := find_history(comparer, symbol)) is not None)
    return next(filter(None, (history[0].find_since(*history[1:], passes) for history in known)), None)


def _puts_object(question: Question) -> bool:
    """Whether the line puts an object in the field, not the class itself."""
    at = question.effect.location
    tree = question.sides.replacements.read_tree(at.path)
    made = (one for one in walk(tree) if isinstance(one, ast.Assign) and one.lineno == at.line) if tree else ()
    is_object = any(isinstance(one.value, ast.Call) for one in made)
    return is_object and question.effect.holder is Holder.OBJECT


def _find_methods(node: ast.stmt) -> list[Definition]:
    """The methods that our class writes itself; what a decorator may have changed is not judged."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    found = (define(one) for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return [one for one in found if one is not None and one.parameters and not is_reshaped(one)]


def _check_calls(side: Resolver, owner: str, field: str, method: Definition) -> list[tuple[Location, list[Problem]]]:
    """Each call of upstream's class on what stands in its field, with what of it does not fit our method."""
    found: list[tuple[Location, list[Problem]]] = []
    for home in dict.fromkeys(find_above(owner, side)):
        symbol = side.resolve(home)
        entry = side.index.entries.get(symbol.module or "")
        node = side.index.read_node(symbol.module, symbol.definition) if symbol.module and symbol.definition else None
        if node is None or entry is None:
            continue
        for line, shape in _find_calls(node, field, method.name):
            found.append((Location(entry.path, line), _check(shape, method)))
    return found


def _find_calls(node: ast.AST, field: str, method: str) -> Iterator[tuple[int, CallShape]]:
    """Calls of the object in a field, or of one of its methods, in the methods of a class."""
    for item in walk(node):
        match item:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=word)) if word == field:
                if method in _CALLED:
                    yield item.lineno, read_call(item)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=word), attr=name)):
                if (word, name) == (field, method):
                    yield item.lineno, read_call(item)


def _check(shape: CallShape, method: Definition) -> list[Problem]:
    bound = "staticmethod" not in method.decorators
    return [one for one in check_call(shape, method.parameters or (), bound=bound) if one.certain]
