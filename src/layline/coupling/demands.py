"""What a call asks of versions before it comes back: `check_version("keel>=1,<2")`, or a helper of ours that raises."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement

from layline.core.condition import ALWAYS, NEVER, OPAQUE, Condition, ConditionKind, combine, need_version, negate
from layline.coupling.releases import Code, Outside, ReleaseReader, Scope
from layline.interpreter.versions import Known
from layline.source.handlers import raises_again
from layline.source.walking import remember, walk

_DEEPEST = 4
_MOST_TESTS = 8
"""In a helper with more the ways through it are not told apart."""
_OURS = frozenset({"builtins", *sys.stdlib_module_names})
"""What Python itself brings along asks for no requirement."""


def find_demands(body: list[ast.stmt], line: int) -> Iterator[ast.Call]:
    """Calls whose result nobody takes, and that must come back for a line to be reached."""
    for statement in body:
        first = min((item.lineno for item in getattr(statement, "decorator_list", ())), default=statement.lineno)
        if first > line:
            return
        if (statement.end_lineno or statement.lineno) >= line:
            for block in _find_blocks(statement):
                yield from find_demands(block, line) if _covers(block, line) else ()
            return
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield statement.value


def read_demand(call: ast.Call, reader: ReleaseReader, scope: Scope) -> Condition:
    """What must hold for a call to come back; `ALWAYS` where it asks for nothing that can be read."""
    if scope.depth > _DEEPEST:
        return ALWAYS
    callee = reader.read_value(call.func, scope)
    if isinstance(callee, Code):
        there = callee.node
        return _read_block(there.body, reader, reader.enter(callee, call, scope)) if _may_refuse(there) else ALWAYS
    if isinstance(callee, Outside) and callee.path.partition(".")[0] not in _OURS and call.args:
        given = reader.read_value(call.args[0], scope)
        asked = _read_requirement(given.value) if isinstance(given, Known) else ALWAYS
        return _hand(asked, callee.path)
    return ALWAYS


def _hand(asked: Condition, callee: str) -> Condition:
    """A requirement that a function of another package is handed: it may only warn."""
    return asked if asked == ALWAYS else Condition(kind=ConditionKind.DEMAND, text=callee, parts=(asked,))


def _read_requirement(text: object) -> Condition:
    try:
        asked = Requirement(text) if isinstance(text, str) else None
    except InvalidRequirement:
        return ALWAYS
    if asked is None or asked.marker is not None or asked.url is not None:
        return ALWAYS
    bounds = sorted(asked.specifier, key=str)
    return combine(ConditionKind.ALL, (_read_bound(asked.name, one.operator, one.version) for one in bounds))


def _read_bound(name: str, operator: str, version: str) -> Condition:
    return OPAQUE if operator in {"~=", "==="} else need_version(name, operator, version)


def _read_block(body: list[ast.stmt], reader: ReleaseReader, scope: Scope) -> Condition:
    """What must hold for a block to end, or to be left by `return`."""
    for number, statement in enumerate(body):
        rest = body[number + 1 :]
        match statement:
            case ast.Return():
                return ALWAYS
            case ast.Raise():
                return NEVER
            case ast.Assert(test=test):
                return _all(reader.read_test(test, scope), _read_block(rest, reader, scope))
            case ast.If(test=test, body=inner, orelse=orelse):
                asked = reader.read_test(test, scope)
                ways = (asked, inner), (negate(asked), orelse)
                read = [(one, _read_way([*way, *rest], reader, scope, one)) for one, way in ways]
                same = read[0][1] == read[1][1]
                return read[0][1] if same else combine(ConditionKind.ANY, (_all(*one) for one in read))
            case ast.With(body=inner):
                return _read_block([*inner, *rest], reader, scope)
            case ast.Try(body=inner, handlers=handlers) if all(map(raises_again, handlers)):
                return _read_block([*inner, *rest], reader, scope)
            case ast.Expr(value=ast.Call() as call):
                asked = read_demand(call, reader, scope)
                if asked != ALWAYS:
                    return _all(asked, _read_block(rest, reader, scope))
            case _:
                reader.pass_by(statement, scope)
    return ALWAYS


def _read_way(body: list[ast.stmt], reader: ReleaseReader, scope: Scope, asked: Condition) -> Condition:
    if asked == NEVER:
        return NEVER
    return _read_block(body, reader, Scope(scope.module, dict(scope.names), scope.depth))


def _all(*parts: Condition) -> Condition:
    return combine(ConditionKind.ALL, parts)


@remember
def _may_refuse(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function raises, or hands something on that may."""
    nodes = [node for statement in function.body for node in walk(statement)]
    if sum(isinstance(node, ast.If) for node in nodes) > _MOST_TESTS:
        return False
    return any(isinstance(node, ast.Raise | ast.Assert) or _hands_on(node) for node in nodes)


def _hands_on(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and bool(node.value.args)


def _find_blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _covers(block: list[ast.stmt], line: int) -> bool:
    return bool(block) and block[0].lineno <= line <= (block[-1].end_lineno or block[-1].lineno)
