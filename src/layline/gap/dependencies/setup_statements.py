"""Statements of a setup.py, followed from top to bottom and never run: what its names stand for at `setup(…)`."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.gap.dependencies.setup_expressions import Expressions
from layline.gap.dependencies.setup_values import (
    Many,
    Names,
    Table,
    TooLong,
    Unknown,
    Value,
    bind,
    join,
    merge_names,
    store,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


MOST_COPIES = 500_000
"""Names that are looked through at branches and changes, all together."""


class Reading:
    """A setup.py read to its end: `read` tells what an expression of its `setup(…)` stands for."""

    def __init__(self, module: ast.Module) -> None:
        functions = {one.name: one for one in module.body if isinstance(one, ast.FunctionDef)}
        self._expressions = Expressions(functions, dict(_find_modules(module)))
        self._names: Names = self._expressions.shared
        self._left = MOST_COPIES
        self._follow(module.body)
        for one in functions.values():
            if any(_is_setup(node) for node in ast.walk(one)):
                self._names = {**self._names, **{name: Unknown(one) for name in _find_parameters(one)}}
                self._follow(one.body)

    def read(self, node: ast.expr) -> Value:
        return self._expressions.read(node, self._names)

    def _follow(self, body: Iterable[ast.stmt]) -> None:
        for one in body:
            self._step(one)

    def _step(self, node: ast.stmt) -> None:  # noqa: C901, PLR0912  a table
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, self.read(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self.read(value))
            case ast.AugAssign(target=target, value=value):
                old, added = self.read(target), isinstance(node.op, ast.Add)
                self._change(target, old, join(old, self.read(value), node) if added else Unknown(node))
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case ast.Delete(targets=targets):
                for target in targets:
                    self._assign(target, Unknown(node))
            case ast.If(test=test, body=body) if _is_main(test):
                self._follow(body)
            case ast.If(body=body, orelse=other):
                self._fork(node, body, other)
            case ast.For(target=target, body=body):
                self._fork(node, body, (), bind(target, Unknown(node)))
            case ast.While(body=body):
                self._fork(node, body, ())
            case ast.Try(body=body, handlers=handlers, orelse=other, finalbody=last):
                self._fork(node, (*body, *other), [step for one in handlers for step in one.body])
                self._follow(last)
            case ast.With(items=items, body=body):
                for item in items:
                    self._names.update(bind(item.optional_vars, Unknown(node)) if item.optional_vars else {})
                self._follow(body)

    def _fork(
        self, node: ast.stmt, body: Iterable[ast.stmt], other: Iterable[ast.stmt], given: Names | None = None
    ) -> None:
        """Either way: only what both leave alike is known."""
        self._spend()
        before = dict(self._names)
        self._names.update(given or {})
        self._follow(body)
        first = dict(self._names)
        self._set(before)
        self._follow(other)
        self._set(merge_names(first, self._names, node))

    def _set(self, names: Names) -> None:
        """In place: functions see the same names."""
        kept = dict(names)
        self._names.clear()
        self._names.update(kept)

    def _assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name() | ast.Tuple() | ast.List():
                self._names.update(bind(target, value))
            case ast.Subscript(value=ast.Name(id=name), slice=key) if name in self._names:
                self._names[name] = store(self._names[name], self.read(key), value, target)
            case ast.Subscript(value=owner):
                self._hide(owner, target)

    def _change(self, target: ast.expr, old: Value, new: Value) -> None:
        """In place: the same list or table under another name, or in a table, changes with it."""
        self._assign(target, new)
        self._spend()
        if isinstance(old, Many | Table):
            for name, value in self._names.items():
                self._names[name] = new if value is old else _exchange(value, old, new)

    def _spend(self) -> None:
        self._left -= 1 + len(self._names)
        if self._left < 0:
            raise TooLong("it has more branches and lists than Layline follows")

    def _call(self, call: ast.Call) -> None:
        match call.func, call.args:
            case ast.Attribute(value=owner, attr="append"), [item]:
                old = self.read(owner)
                self._change(owner, old, join(old, Many((self.read(item),)), call))
            case ast.Attribute(value=owner, attr="extend"), [items]:
                old = self.read(owner)
                self._change(owner, old, join(old, self.read(items), call))
            case ast.Attribute(value=owner, attr="update"), [items]:
                old = self.read(owner)
                self._change(owner, old, update(old, self.read(items), call))
            case _ if not _is_setup(call):
                # whoever is handed a list may change it
                owners = [call.func.value] if isinstance(call.func, ast.Attribute) else []
                for one in (*owners, *call.args, *(keyword.value for keyword in call.keywords)):
                    self._hide(one, call)

    def _hide(self, owner: ast.expr, node: ast.AST) -> None:
        for one in ast.walk(owner):
            if isinstance(one, ast.Name) and isinstance(self._names.get(one.id), Many | Table):
                self._names[one.id] = Unknown(node)


def _exchange(value: Value, old: Value, new: Value) -> Value:
    if not isinstance(value, Table) or not any(one is old for _, one in value.items):
        return value
    return replace(value, items=tuple((key, new if one is old else one) for key, one in value.items))


def _find_modules(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Name → what it was imported as, at the top of the file."""
    for node in module.body:
        match node:
            case ast.Import(names=names):
                yield from ((one.asname or one.name.partition(".")[0], one.name) for one in names)
            case ast.ImportFrom(module=str(source), names=names, level=0):
                yield from ((one.asname or one.name, f"{source}.{one.name}") for one in names)


def _find_parameters(function: ast.FunctionDef) -> list[str]:
    taken = function.args
    plain = (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg)
    return [one.arg for one in plain if one is not None]


def _is_setup(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="setup") | ast.Attribute(attr="setup")):
            return True
    return False


def _is_main(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
    return False
