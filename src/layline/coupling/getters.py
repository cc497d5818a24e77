"""Variables of a module that its functions hand out: what we set there reaches who asks as long as they return it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

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
from layline.source.walking import walk


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
            why = Why(Reason.NO_LONGER_RETURNED, getter.name, listed(held) if held else "")
            yield Finding(severity=Severity.LOOK, why=why)


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
