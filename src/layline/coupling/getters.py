"""Variables of a module that its functions hand out: what we set there reaches who asks as long as they return it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from layline.change.compare import Comparer
from layline.change.comparison import Comparison
from layline.change.file_trace import Version
from layline.core.drift import Fate
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.prose import listed
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import walk_own
from layline.coupling.question import Question
from layline.source.definitions import DefinitionKind
from layline.source.excerpts import find_around
from layline.source.resolve import Resolver
from layline.source.slices import read_node
from layline.source.walking import walk

RETURNED = frozenset({Reason.NO_LONGER_RETURNED, Reason.RETURNED_WHERE, Reason.RETURNED_MAYBE})
"""What a function does with a variable that it returned at the pin."""


def judge_getters(question: Question) -> Iterator[Finding]:
    """A variable that a function of its module returned at the pin, where the same function does not at the tip."""
    before, after, sides = question.comparison.before, question.comparison.after, question.sides
    definition, module = before.definition, before.module
    if question.kind.facts.fate is not Fate.STAYS or definition is None or module is None or after.module != module:
        return
    if definition.kind is not DefinitionKind.ASSIGNMENT or definition.owner:
        return
    for getter in _find_getters(sides.pin, module, definition.name):
        symbol = sides.tip.resolve(f"{module}.{getter.name}")
        now = sides.tip.index.read_node(module, symbol.definition) if symbol.definition is not None else None
        if symbol.module == module and isinstance(now, ast.FunctionDef) and not _returns(now, definition.name):
            came = tuple(name for name in _find_read(now) if name not in _find_read(getter))
            held = [name for name in came if _is_variable(sides.tip, module, name)]
            why = _tell_reading(now, definition.name)
            told = replace(why, name=getter.name, other=listed(held) if held else "")
            yield Finding(severity=Severity.LOOK, why=told)


def find_keeping(comparison: Comparison | None, getter: str, comparer: Comparer) -> str | None:
    """Since when a function does not return the variable as it is."""
    before = comparison.before if comparison is not None else None
    tracer = comparer.tracer(before.module) if before is not None and before.module is not None else None
    if before is None or before.module is None or before.definition is None or tracer is None:
        return None
    name = before.definition.name

    def keeps(version: Version) -> bool:
        node = read_node(version.text, getter)
        return not (isinstance(node, ast.FunctionDef) and _returns(node, name))

    return tracer.find_first_version(comparer.pin.index.entries[before.module].path, keeps)


def _tell_reading(function: ast.FunctionDef, name: str) -> Why:
    """What a function that does not return a variable as it is does with it."""
    if name not in _find_read(function):
        return Why(Reason.NO_LONGER_RETURNED)
    where = _find_tests(function, name)
    return Why(Reason.RETURNED_WHERE, text=where) if where else Why(Reason.RETURNED_MAYBE)


def _find_tests(node: ast.AST, name: str) -> str:
    """What has to hold where a function reads a name, if that is in one branch alone."""
    reading = [child for child in ast.iter_child_nodes(node) if _mentions(child, name)]
    if len(reading) != 1:
        return ""
    if not isinstance(node, (ast.If, ast.IfExp)) or _mentions(node.test, name):
        return _find_tests(reading[0], name)
    others = node.orelse if isinstance(node, ast.If) else [node.orelse]
    test = ast.UnaryOp(ast.Not(), node.test) if reading[0] in others else node.test
    return " and ".join(filter(None, (ast.unparse(test), _find_tests(reading[0], name))))


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for item in walk(node))


def _find_getters(side: Resolver, module: str, name: str) -> Iterator[ast.FunctionDef]:
    """Functions of a module that return one of its variables as it is."""
    data, holder = side.index.read_blob(module), side.index.module(module)
    word = re.compile(rb"\breturn " + re.escape(name.encode()) + rb"[ \t]*$", re.MULTILINE)
    trees = find_around(data, holder, word) if holder is not None and word.search(data) else ()
    for node in (item for tree in trees for item in tree.body):
        if isinstance(node, ast.FunctionDef) and _returns(node, name):
            yield node


def _returns(function: ast.FunctionDef, name: str) -> bool:
    values = (item.value for item in walk_own(function) if isinstance(item, ast.Return))
    return any(isinstance(value, ast.Name) and value.id == name for value in values)


def _find_read(function: ast.FunctionDef) -> dict[str, None]:
    names = (item for item in walk(function) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load))
    return dict.fromkeys(item.id for item in names)


def _is_variable(side: Resolver, module: str, name: str) -> bool:
    found = side.resolve(f"{module}.{name}").definition
    return found is not None and found.kind is DefinitionKind.ASSIGNMENT
