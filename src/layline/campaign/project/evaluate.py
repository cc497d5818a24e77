"""Walk through a benchmark as Python would, without running it: tables and loops are followed, everything else is unknown.

Nothing of the project is imported. What follows from literals, from files beside it and from the functions it defines is
known; a condition that only a run decides is taken as not so, and kept. Steps, depth and sizes are bounded.
"""

from __future__ import annotations

import ast
import contextlib
import posixpath
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from layline.campaign.project.expressions import Exhausted, Expressions, Names, Raised, Read, Undecided
from layline.campaign.project.values import UNKNOWN, Function, Library, Module, has_unknown

DEPTH = 24


class Returned(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


class Broken(Exception):
    """`break`; with `goes_on` `continue`."""

    def __init__(self, *, goes_on: bool) -> None:
        self.goes_on = goes_on


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call of a function of the benchmark whose answer only a run knows, with the arguments that are known."""

    function: Function
    node: ast.Call
    given: dict[str, Any]


class Reader(Expressions):
    """Follows one benchmark; `read` gives the text of a file of the tree, or None."""

    def __init__(
        self,
        path: str,
        read: Read,
        options: dict[str, Any],
        supposed: Undecided | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(read, options, supposed, device)
        self._depth = 0
        self._modules: dict[str, Module] = {}
        self.called: list[Called] = []
        self._measured: set[ast.FunctionDef] = set()
        self.ran: dict[ast.FunctionDef, list[ast.AST]] = {}
        """What was run of each function that measures, the first time; both branches of a test that only a run decides."""
        self._running: list[ast.AST] = []
        self.main = Module(path=path)

    def follow(self) -> None:
        """Run through the program; what it called so far stands when it ends early."""
        text = self._read(self.main.path)
        try:
            if text is not None:
                self._load(self.main, text, "__main__")
        except (SyntaxError, Raised, Exhausted, Returned, Broken, RecursionError, ValueError):
            return

    def _load(self, module: Module, text: str, name: str) -> None:
        module.names.update({"__name__": name, "__file__": module.path})
        self._run(ast.parse(text).body, ChainMap(module.names), module)

    def _run(self, body: list[ast.stmt], names: Names, module: Module) -> None:
        for node in body:
            self._step()
            if module is self.main and not isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
                self._running.append(node)
            self._do(node, names, module)

    def _do(self, node: ast.stmt, names: Names, module: Module) -> None:  # noqa: C901, PLR0912  a table
        match node:
            case ast.FunctionDef(name=name):
                names[name] = Function(node=node, module=module, names=names)
            case ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] = UNKNOWN
            case ast.Import() | ast.ImportFrom():
                self._import(node, names, module)
            case ast.Assign(targets=targets, value=value):
                found = self._value(value, names, module)
                for target in targets:
                    self._bind(target, found, names, module)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, self._value(value, names, module), names, module)
            case ast.AugAssign(target=target, op=op, value=value):
                held = self._value(_load_of(target), names, module)
                self._bind(target, self._combine(op, held, self._value(value, names, module)), names, module)
            case ast.Expr(value=value):
                self._value(value, names, module)
            case ast.Return(value=value):
                raise Returned(self._value(value, names, module) if value is not None else None)
            case ast.Raise():
                raise Raised
            case ast.Assert(test=test):
                held = self._value(test, names, module)
                if not has_unknown(held) and not held:
                    raise Raised
            case ast.Break() | ast.Continue():
                raise Broken(goes_on=isinstance(node, ast.Continue))
            case ast.If(test=test, body=body, orelse=other):
                undecided = len(self.undecided)
                taken = body if self._holds(test, names, module) else other
                if module is self.main:
                    self._running += [test, *((*body, *other) if len(self.undecided) > undecided else ())]
                self._run(taken, names, module)
            case ast.For():
                self._loop(node, names, module)
            case ast.While(test=test, body=body):
                self._repeat(test, body, names, module)
            case ast.With(items=items, body=body):
                for item in items:
                    found = self._value(item.context_expr, names, module)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, found, names, module)
                self._run(body, names, module)
            case ast.Try():
                self._try(node, names, module)

    def _loop(self, node: ast.For, names: Names, module: Module) -> None:
        for item in self._items(self._value(node.iter, names, module)):
            self._bind(node.target, item, names, module)
            try:
                self._run(node.body, names, module)
            except Broken as broken:
                if not broken.goes_on:
                    return
        self._run(node.orelse, names, module)

    def _repeat(self, test: ast.expr, body: list[ast.stmt], names: Names, module: Module) -> None:
        while self._holds(test, names, module):
            self._step()
            try:
                self._run(body, names, module)
            except Broken as broken:
                if not broken.goes_on:
                    return

    def _try(self, node: ast.Try, names: Names, module: Module) -> None:
        try:
            self._run(node.body, names, module)
        except Raised:
            if node.handlers:
                if node.handlers[0].name:
                    names[node.handlers[0].name] = UNKNOWN
                self._run(node.handlers[0].body, names, module)
        else:
            self._run(node.orelse, names, module)
        self._run(node.finalbody, names, module)

    def _import(self, node: ast.Import | ast.ImportFrom, names: Names, module: Module) -> None:
        if isinstance(node, ast.Import):
            for one in node.names:
                names[one.asname or one.name.partition(".")[0]] = Library(one.name.partition(".")[0])
            return
        place = f"{posixpath.dirname(module.path)}/{(node.module or '').replace('.', '/')}.py".lstrip("/")
        found = self._open(place) if node.module and node.level <= 1 else None
        for one in node.names:
            held: object = Library(f"{node.module}.{one.name}")
            names[one.asname or one.name] = found.names.get(one.name, UNKNOWN) if found is not None else held

    def _open(self, place: str) -> Module | None:
        if place in self._modules:
            return self._modules[place]
        text = self._read(place)
        if text is None:
            return None
        self._modules[place] = module = Module(path=place)
        with contextlib.suppress(SyntaxError, Raised):  # what it bound before stands
            self._load(module, text, posixpath.basename(place).removesuffix(".py"))
        return module

    def _enter(self, function: Function, node: ast.Call, given: list[Any], named: dict[str, Any]) -> Any:
        bound = bind(function.node.args, given, named)
        if bound is None or self._depth >= DEPTH:
            return UNKNOWN
        before, undecided, running = len(self.called), len(self.undecided), len(self._running)
        for argument, default in _defaults(function.node.args):
            if argument not in bound:
                bound[argument] = self._value(default, function.names, function.module)
        is_measured = function.module is self.main and _counts_sizes(bound) > 1
        found = UNKNOWN if is_measured and function.node in self._measured else self._follow(function, bound)
        if is_measured and has_unknown(found):
            self._measured.add(function.node)
            self.ran.setdefault(function.node, self._running[running:])
            del self.called[before:]  # what it calls itself is part of it
            del self.undecided[undecided:]
            self.called.append(Called(function=function, node=node, given=bound))
        return found

    def _follow(self, function: Function, bound: dict[str, Any]) -> Any:
        self._depth += 1
        try:
            self._run(function.node.body, function.names.new_child(dict(bound)), function.module)
        except Returned as returned:
            return returned.value
        finally:
            self._depth -= 1
        return None


def _counts_sizes(bound: dict[str, Any]) -> int:
    return sum(isinstance(value, int) and not isinstance(value, bool) for value in bound.values())


def bind(arguments: ast.arguments, given: list[Any], named: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments by name; None where they do not fit, or where the function takes any number of them."""
    if arguments.vararg is not None or arguments.kwarg is not None:
        return None
    places = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    known = {*places, *(one.arg for one in arguments.kwonlyargs)}
    if len(given) > len(places) or not known >= named.keys():
        return None
    return dict(zip(places, given, strict=False)) | named


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    places = [*arguments.posonlyargs, *arguments.args]
    for one, default in zip(reversed(places), reversed(arguments.defaults), strict=False):
        yield one.arg, default
    for one, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if given is not None:
            yield one.arg, given


def _load_of(target: ast.expr) -> ast.expr:
    """The target of `a += 1`, read."""
    return ast.parse(ast.unparse(target), mode="eval").body
