"""A class that stands in the place of upstream's, method by method: what upstream's code calls on its objects.

Classes of ours below upstream's are judged by what they override (`coupling.overrides`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.core.drift import Fate
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.patch import Style
from layline.core.why import Reason, Why
from layline.coupling.question import Question
from layline.coupling.replacements import Replacement, define
from layline.coupling.surroundings import find_imports
from layline.source import DefinitionKind, Symbol
from layline.source.lineage import find_above
from layline.source.resolve import Resolver

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MADE = frozenset({"__init__", "__new__"})
"""What takes the place of the constructor is judged with the class."""


def judge_members(question: Question) -> Iterator[Finding]:
    """Arguments that a method of our class does not take, where upstream's code outside the class surely passes them at
    the tip and did not at the pin; and new methods that it has not and such code calls.
    """
    ours, before, after = question.ours, question.comparison.before, question.comparison.after
    if ours is None or not isinstance(ours.node, ast.ClassDef) or not (_is_class(before) and _is_class(after)):
        return
    if question.effect.style is not Style.BINDING_REPLACEMENT or question.kind.facts.fate is not Fate.STAYS:
        return
    if not question.is_decided or not question.comparison.body_changed or _is_below(question, ours):
        return
    mine = {one.name: one for one in ours.node.body if isinstance(one, _FUNCTIONS)}
    for name in (*mine, *_find_new(question)):
        method = mine.get(name)
        if name not in _MADE and method is not None:
            yield from _judge_method(question, ours, method)
        elif method is None and _is_closed(question, ours, name):
            places = question.fitter.find_outer_calls(f"{after.home}.{name}")
            if places:
                # a method that nobody called before may belong to something that is switched on elsewhere
                yield Finding(severity=Severity.LOOK, why=Why(Reason.MEMBER_MISSING, name, places=places))


def _judge_method(
    question: Question, ours: Replacement, method: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Finding]:
    definition = define(method)
    found = question.sides.comparer.compare(f"{question.target}.{method.name}")
    if definition is None or found.kind.facts.fate is not Fate.STAYS:
        return
    at = Location(ours.location.path, method.lineno)
    stands = Replacement(definition, method, ast.unparse(method), at, ours.tree)
    then, now = (question.fitter.find_refused(found, stands, side, outside=True) for side in (0, 1))
    new = [one for name, one in now.items() if name not in then]
    if new:
        parts = tuple(one.problem.why for one in new)
        places = tuple(dict.fromkeys(place for one in new for place in one.places))
        yield Finding(severity=Severity.BREAKS, why=Why(Reason.MEMBER_REFUSES, method.name, parts=parts, places=places))


def _find_new(question: Question) -> list[str]:
    """Methods that upstream's class has at the tip and had not at the pin."""
    sides = question.sides
    then, now = (
        _list_methods(side, symbol)
        for side, symbol in ((sides.pin, question.comparison.before), (sides.tip, question.comparison.after))
    )
    return [name for name in now if name not in then and not name.startswith("__")]


def _list_methods(side: Resolver, owner: Symbol) -> list[str]:
    holder = side.index.module(owner.module) if owner.module is not None else None
    if holder is None or owner.definition is None:
        return []
    return [
        name
        for name in holder.members(owner.definition.qualname)
        if (found := holder.best(f"{owner.definition.qualname}.{name}")) is not None
        and found.kind is DefinitionKind.FUNCTION
    ]


def _is_closed(question: Question, ours: Replacement, name: str) -> bool:
    """Whether nothing else gives our class a member: it stands on what upstream's class stands on, or on nothing."""
    after = question.comparison.after.definition
    node = ours.node
    if after is None or not isinstance(node, ast.ClassDef) or node.decorator_list or node.keywords:
        return False
    own = {ast.unparse(one).rpartition(".")[2] for one in node.bases} - {"object"}
    theirs = {text.partition("[")[0].rpartition(".")[2] for text in after.bases}
    bound = {one.id for item in node.body for one in ast.walk(item) if isinstance(one, ast.Name)}
    texts = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
    return (
        own <= theirs
        and "__getattr__" not in {getattr(one, "name", "") for one in node.body}
        and (name not in bound | texts)
    )


def _is_below(question: Question, ours: Replacement) -> bool:
    """Whether our class stands below upstream's, or that may be so."""
    node = ours.node
    imports = find_imports(ours.tree, node) if ours.tree is not None else {}
    home = question.comparison.after.home
    for base in node.bases if isinstance(node, ast.ClassDef) else ():
        first, _, rest = ast.unparse(base).partition(".")
        imported = imports.get(first)
        if imported is None:
            if first != "object":
                return True  # a class or a variable of our own: what stands above it is not known here
            continue
        named = f"{imported.name}.{rest}" if rest else imported.name
        if home is not None and home in find_above(named, question.sides.tip):
            return True
    return False


def _is_class(symbol: Symbol) -> bool:
    return symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS
