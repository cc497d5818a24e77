"""What a test of ours says about the version of a package, read from its syntax: helpers, constants and tables
followed.

`Version(x.__version__) >= Version("5.2")`, `parse(importlib.metadata.version("x")) < V52`, `is_x_version(">=", "5.2")`
all become one condition; what is not about a version stays undecided.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from layline.core.condition import ALWAYS, NEVER, OPAQUE, Condition, ConditionKind, combine, need_import, negate
from layline.coupling.set_by_hand import asks_for, find_assigned
from layline.interpreter.modules import Module, Modules
from layline.interpreter.versions import (
    METADATA,
    OPERATORS,
    Known,
    Release,
    compare,
    find_release,
    is_instance,
    is_parser,
    parse,
    read_attribute,
)
from layline.source.names import absolute_name

_DEEPEST = 6
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "==",
    ast.IsNot: "!=",
}


@dataclass(frozen=True, slots=True)
class Items:
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Holds:
    condition: Condition


@dataclass(frozen=True, slots=True)
class Outside:
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Raised:
    """A function ended without an answer."""


RAISED = Raised()
Value: TypeAlias = "Known | Release | Items | Holds | Outside | Code | Raised | None"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its module, and what is known of the names of its functions."""

    module: Module
    names: dict[str, Value] = field(default_factory=dict)
    depth: int = 0


_BODIES = ("body", "orelse", "finalbody")
_PLAIN = (ast.Assign, ast.Import, ast.ImportFrom, ast.Expr)


class ReleaseReader:
    """Reads tests in the modules of one downstream."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[tuple[str, str], Value] = {}

    def read_test(self, node: ast.expr, scope: Scope) -> Condition:
        """The condition of a test; `OPAQUE` where no part of it is about a version."""
        return _truth(self._evaluate(node, scope))

    def read_value(self, node: ast.expr, scope: Scope) -> Value:
        """What an expression is, as far as it is about versions."""
        return self._evaluate(node, scope)

    def open_scope(self, module: Module, chain: list[ast.AST], line: int) -> Scope:
        """What the functions around a line have assigned once before it."""
        scope = Scope(module)
        for function in chain:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                scope.names.update(dict.fromkeys(_find_parameters(function)))
                self._remember(function.body, scope, line)
        return scope

    def _remember(self, body: list[ast.stmt], scope: Scope, line: int) -> None:
        for statement in (one for one in body if one.lineno < line):
            match statement:
                case ast.If() | ast.With() | ast.Try() | ast.For() | ast.While():
                    for inner in _find_bodies(statement):
                        if inner[0].lineno <= line <= (inner[-1].end_lineno or 0):
                            self._remember(inner, scope, line)
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self._evaluate(value, scope), scope)
                case ast.Import() | ast.ImportFrom():
                    scope.names.update(self._find_imported(statement, scope.module))

    def _assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        match target, value:
            case ast.Name(id=name), _:
                scope.names[name] = value
            case ast.Tuple(elts=elts), Items(values=values) if len(elts) == len(values):
                for inner, one in zip(elts, values, strict=True):
                    self._assign(inner, one, scope)

    def _evaluate(self, node: ast.expr, scope: Scope) -> Value:
        if scope.depth > _DEEPEST:
            return None
        match node:
            case ast.Constant(value=value):
                return Known(value)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return Items(tuple(self._evaluate(item, scope) for item in elts))
            case ast.Name(id=name):
                return scope.names[name] if name in scope.names else self._find_global(scope.module, name, scope.depth)
            case ast.Attribute(value=inner, attr=attr):
                return _attribute(self._evaluate(inner, scope), attr)
            case ast.Subscript(value=inner, slice=key):
                return self._item(inner, key, scope)
            case ast.BoolOp(op=operator, values=values):
                parts = tuple(self.read_test(value, scope) for value in values)
                return Holds(combine(ConditionKind.ALL if isinstance(operator, ast.And) else ConditionKind.ANY, parts))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Holds(negate(self.read_test(operand, scope)))
            case ast.Compare(left=left, ops=operators, comparators=comparators):
                return self._compare(left, operators, comparators, scope)
            case ast.Call():
                return self._call(node, scope)
        return None

    def _item(self, owner: ast.expr, key: ast.expr, scope: Scope) -> Value:
        found = self._evaluate(owner, scope)
        if isinstance(found, Release):
            return _part(found, key)
        index = self._evaluate(key, scope)
        if isinstance(found, Items) and isinstance(index, Known):
            return next((one for number, one in enumerate(found.values) if number == index.value), None)
        if isinstance(owner, ast.Name) and isinstance(index, Known):
            return self._look_up(scope.module, owner.id, index.value, scope.depth)
        return None

    def _look_up(self, module: Module, name: str, key: object, depth: int) -> Value:
        """An item of a table that a module assigns."""
        home, node = self._find_bound(module, name, depth)
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for one, item in zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ():
            if isinstance(one, ast.Constant) and one.value == key:
                return self._evaluate(item, Scope(home, depth=depth + 1))
        return None

    def _compare(self, left: ast.expr, operators: list[ast.cmpop], comparators: list[ast.expr], scope: Scope) -> Value:
        values = [self._evaluate(item, scope) for item in (left, *comparators)]
        match values, operators:
            case [Holds(condition=there), Known(value=None)], [ast.Is() | ast.IsNot() as operator]:
                return Holds(there if isinstance(operator, ast.IsNot) else negate(there))
        parts = [
            compare(_settle(values[number]), _OPERATORS.get(type(operator), ""), _settle(values[number + 1]))
            for number, operator in enumerate(operators)
        ]
        return Holds(combine(ConditionKind.ALL, tuple(parts)))

    def _call(self, node: ast.Call, scope: Scope) -> Value:
        callee = self._evaluate(node.func, scope)
        arguments = [self._evaluate(item, scope) for item in node.args]
        match callee, arguments:
            case Release(), _:
                return callee  # a method of the version, or of its text
            case Known(value=str()), _:
                return None
            case Outside(path=path), [Known(value=str(name)), *_] if path in METADATA:
                return Release(name)
            case Outside(path="builtins.getattr"), [Outside(path=path), Known(value=str(name)), *_]:
                return _name(f"{path}.{name}")
            case Outside(path=path), [one, other] if path in OPERATORS:
                return Holds(compare(_settle(one), OPERATORS[path], _settle(other)))
            case Outside(path=path), [one, *_] if is_parser(path):
                return parse(path, one) if isinstance(one, Release | Known) else None
            case Outside(path="importlib.util.find_spec"), [Known(value=str(name)), *_]:
                return Holds(need_import(name))
            case Outside(path="builtins.isinstance"), [Release() | Known() as one, Outside(path=kind)]:
                held = is_instance(one, kind)
                return None if held is None else Known(held)
            case Code(), _:
                keywords = {item.arg: self._evaluate(item.value, scope) for item in node.keywords if item.arg}
                return self._run(callee, arguments, keywords, scope.depth + 1)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "replace":
            return self._evaluate(node.func.value, scope)  # another spelling of a name
        return None

    def _run(self, code: Code, arguments: list[Value], keywords: dict[str, Value], depth: int) -> Value:
        """What a function of ours returns; a `try` is taken to go well."""
        found = self._run_block(code.node.body, self._bind(code, arguments, keywords, depth))
        return None if found is RAISED else found

    def enter(self, code: Code, call: ast.Call, scope: Scope) -> Scope:
        """What is known inside a function of ours when it is called."""
        arguments = [self._evaluate(item, scope) for item in call.args]
        keywords = {item.arg: self._evaluate(item.value, scope) for item in call.keywords if item.arg}
        return self._bind(code, arguments, keywords, scope.depth + 1)

    def pass_by(self, statement: ast.stmt, scope: Scope) -> None:
        """Remember what a statement assigns or imports."""
        self._remember([statement], scope, statement.lineno + 1)

    def _bind(self, code: Code, arguments: list[Value], keywords: dict[str, Value], depth: int) -> Scope:
        given, names = code.node.args, _find_parameters(code.node)
        scope = Scope(code.module, {}, depth)
        defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
        defaults |= {item.arg: value for item, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
        scope.names.update({name: self._evaluate(value, scope) for name, value in defaults.items()})
        scope.names.update(zip(names, arguments, strict=False))
        scope.names.update(keywords)
        return scope

    def _run_block(self, body: list[ast.stmt], scope: Scope) -> Value:
        for number, statement in enumerate(body):
            match statement:
                case ast.Return(value=value):
                    return self._evaluate(value, scope) if value is not None else Known(None)
                case ast.Raise():
                    return RAISED
                case ast.Try(body=inner) | ast.With(body=inner):
                    return self._run_block([*inner, *body[number + 1 :]], scope)
                case ast.If(test=test, body=inner, orelse=orelse):
                    joined = self._join(statement, scope)
                    if joined is not None:
                        return self._run_block(body[number + 1 :], joined)
                    return self._branch(self.read_test(test, scope), inner, orelse, body[number + 1 :], scope)
                case _:
                    self._remember([statement], scope, statement.lineno + 1)
        return None

    def _branch(
        self, test: Condition, body: list[ast.stmt], orelse: list[ast.stmt], rest: list[ast.stmt], scope: Scope
    ) -> Value:
        if test in (ALWAYS, NEVER):
            return self._run_block([*(body if test == ALWAYS else orelse), *rest], scope)
        yes = self._run_block([*body, *rest], Scope(scope.module, dict(scope.names), scope.depth + 1))
        if yes is RAISED:  # what the test stands around runs on the other way alone
            return self._run_block([*orelse, *rest], Scope(scope.module, dict(scope.names), scope.depth + 1))
        if not isinstance(yes, Holds | Known) or (isinstance(yes, Known) and not isinstance(yes.value, bool)):
            return yes  # what a package that is there answers
        no = self._run_block([*orelse, *rest], Scope(scope.module, dict(scope.names), scope.depth + 1))
        if no is RAISED:
            return yes
        first = combine(ConditionKind.ALL, (test, _truth(yes)))
        return Holds(combine(ConditionKind.ANY, (first, combine(ConditionKind.ALL, (negate(test), _truth(no))))))

    def _join(self, choice: ast.If, scope: Scope) -> Scope | None:
        """What is known after `if NUMBER: number = NUMBER else: number = keel.__version__`: a number that is set by
        hand says what runs, in the place of the package's own.
        """
        if not all(isinstance(one, _PLAIN) for one in (*choice.body, *choice.orelse)):
            return None
        sides = [Scope(scope.module, dict(scope.names), scope.depth + 1) for _ in range(2)]
        nodes: list[dict[str, ast.expr]] = [{}, {}]
        for side, found, block in zip(sides, nodes, (choice.body, choice.orelse), strict=True):
            for statement in block:
                self._remember([statement], side, statement.lineno + 1)
                found.update(find_assigned(statement))
        known: dict[str, Value] = {}
        for name in {*nodes[0], *nodes[1]}:
            values = [side.names.get(name) for side in sides]
            at = next((number for number, one in enumerate(values) if isinstance(one, Release)), None)
            other = nodes[1 - at].get(name) if at is not None else None
            if at is None or isinstance(values[1 - at], Release) or other is None or not asks_for(choice.test, other):
                return None
            known[name] = values[at]
        return Scope(scope.module, {**scope.names, **known}, scope.depth + 1) if known else None

    def _find_global(self, module: Module, name: str, depth: int) -> Value:
        key = (module.name, name)
        if key not in self._known:
            self._known[key] = None  # a circle of names says nothing
            self._known[key] = self._read_global(module, name, depth)
        return self._known[key]

    def _read_global(self, module: Module, name: str, depth: int) -> Value:
        home, node = self._find_bound(module, name, depth)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return Code(home, node)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self._evaluate(value, Scope(home, depth=depth + 1))
            case str(path):
                return _name(path)
        return Outside(f"builtins.{name}") if hasattr(builtins, name) else None

    def _find_bound(self, module: Module, name: str, depth: int) -> tuple[Module, ast.stmt | str | None]:
        """The statement at the top of a module that binds a name, imports of ours followed; of others their full
        name.
        """
        # a `try` is taken to go well: what a handler binds counts where nothing else does
        statements = [one for handled in (True, False) for one in _find_top(module.body, handled=handled)]
        for statement in reversed(statements):
            match statement:
                case ast.Import() | ast.ImportFrom():
                    taken = self._find_names(statement, module).get(name)
                    if taken is not None:
                        return self._enter(module, *taken, depth=depth)
                case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) if bound == name:
                    return module, statement
                case ast.Assign(targets=[ast.Name(id=bound)]) | ast.AnnAssign(target=ast.Name(id=bound)):
                    if bound == name:
                        return module, statement
        return module, None

    def _enter(
        self, module: Module, source: str, name: str | None, *, depth: int
    ) -> tuple[Module, ast.stmt | str | None]:
        there = self._modules.find(source) if name is not None else None
        if there is None or there is module or depth > _DEEPEST or name is None:
            return module, f"{source}.{name}" if name is not None else source
        home, found = self._find_bound(there, name, depth + 1)
        return home, found if found is not None else f"{source}.{name}"

    def _find_imported(self, statement: ast.Import | ast.ImportFrom, module: Module) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for alias, (source, name) in self._find_names(statement, module).items():
            home, node = self._enter(module, source, name, depth=0)
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    found[alias] = Code(home, node)
                case str(path):
                    found[alias] = _name(path)
                case ast.Assign(value=value):
                    found[alias] = self._evaluate(value, Scope(home, depth=1))
        return found

    @staticmethod
    def _find_names(statement: ast.Import | ast.ImportFrom, module: Module) -> dict[str, tuple[str, str | None]]:
        """Name bound → the module it comes from, and the name taken there."""
        if isinstance(statement, ast.Import):
            return {
                item.asname or item.name.partition(".")[0]: (
                    item.name if item.asname else item.name.partition(".")[0],
                    None,
                )
                for item in statement.names
            }
        source = absolute_name(
            module.name, package=module.is_package, level=statement.level, name=statement.module or ""
        )
        return {item.asname or item.name: (source or "", item.name) for item in statement.names}


def _find_bodies(statement: ast.If | ast.With | ast.Try | ast.For | ast.While) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement that are not empty."""
    handlers = [handler.body for handler in getattr(statement, "handlers", ())]
    yield from (body for body in (*(getattr(statement, name, []) for name in _BODIES), *handlers) if body)


def _find_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [item.arg for item in (*function.args.posonlyargs, *function.args.args)]


def _find_top(body: list[ast.stmt], *, handled: bool) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, those in branches included; of handlers only if `handled`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for handler in getattr(statement, "handlers", ()) if handled else ():
                yield from _find_top(handler.body, handled=handled)
            for name in ("orelse", "body"):
                yield from _find_top(getattr(statement, name, []), handled=handled)


def _name(path: str) -> Value:
    """What a full name of another package stands for."""
    return find_release(path) or Outside(path)


def _attribute(owner: Value, name: str) -> Value:
    match owner:
        case Outside(path=path):
            return _name(f"{path}.{name}")
        case Release():
            return read_attribute(owner, name)
    return None


def _part(version: Release, key: ast.expr) -> Value:
    """`release[:2]` compares as the version does, `release[0]` is its first number, `release[1]` says nothing alone."""
    match key:
        case ast.Slice(lower=None | ast.Constant(value=0), step=None):
            return version
        case ast.Constant(value=0):
            return Release(version.name, is_major=True)
    return None


def _settle(value: Value) -> Value:
    """A row of literals is a literal."""
    if isinstance(value, Items) and all(isinstance(item, Known) for item in value.values):
        return Known(tuple(item.value for item in value.values if isinstance(item, Known)))
    return value


def _truth(value: Value) -> Condition:
    match value:
        case Holds(condition=condition):
            return condition
        case Known(value=known):
            return ALWAYS if known else NEVER
    return OPAQUE
