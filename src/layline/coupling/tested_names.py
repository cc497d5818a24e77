"""Uses of names in a piece of code, and whether the code asks before it uses them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from layline.source.handlers import catches
from layline.source.walking import find_children, walk

_MISSES = frozenset({"NameError", "Exception", "BaseException"})
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_BRANCHING = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.IfExp, ast.BoolOp, ast.comprehension)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class NameUse:
    """One place that reads a name."""

    name: str
    line: int
    tested: bool
    """Something around it, or before it, asks for the name or for a flag that tells of it."""
    handled: bool
    """The same, and there is another way where the answer is no."""
    at_import: bool
    """It runs when the file is imported."""
    sure: bool = False
    """It runs whenever the function around it does."""
    within: str = ""
    """The outermost function or class around it."""


@dataclass(frozen=True, slots=True)
class _Context:
    """What is known where a node stands."""

    names: frozenset[str]
    telling: frozenset[str]
    tested: bool = False
    handled: bool = False
    at_import: bool = True
    sure: bool = False
    within: str = ""


@dataclass(slots=True)
class _Reader:
    """Walks one piece of code once."""

    aside: tuple[int, int]
    """Lines that do not count."""
    lazy: bool
    """Annotations are not evaluated."""
    found: list[NameUse] = field(default_factory=list)

    def read(self, nodes: Iterable[ast.AST], at: _Context) -> None:
        for node in nodes:
            line = getattr(node, "lineno", 0)
            if isinstance(node, ast.stmt) and self.aside[0] <= line <= self.aside[1]:
                continue
            branches = isinstance(node, _BRANCHING)
            self._visit(node, replace(at, sure=False) if branches and at.sure else at)
            if _asks_and_leaves(node, at.telling):
                at = replace(at, tested=True)
            if branches and at.sure and any(isinstance(one, _LEAVING) for one in walk(node)):
                at = replace(at, sure=False)

    def _visit(self, node: ast.AST, at: _Context) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in at.names:
                self.found.append(NameUse(name, node.lineno, at.tested, at.handled, at.at_import, at.sure, at.within))
            case ast.If(test=test, orelse=other) | ast.IfExp(test=test, orelse=other):
                inside = self._ask(at, test, bool(other))
                self._visit(test, inside)
                self.read([node.body] if isinstance(node, ast.IfExp) else node.body, inside)
                self.read([other] if isinstance(other, ast.expr) else other, inside)
            case ast.While(test=test) | ast.Assert(test=test):
                inside = self._ask(at, test, False)
                self.read(find_children(node), inside)
            case ast.BoolOp(values=values):
                inside = self._ask(at, node, False)
                self.read(values, inside)
            case ast.comprehension(ifs=tests):
                inside = replace(at, tested=at.tested or any(_mentions(one, at.telling) for one in tests))
                self.read(find_children(node), inside)
            case ast.Try(handlers=handlers) if any(catches(one, _MISSES) for one in handlers):
                self.read(node.body, replace(at, tested=True, handled=True))
                self.read((*handlers, *node.orelse, *node.finalbody), at)
            case ast.Lambda(args=given, body=inner):
                own = {one.arg for one in walk(given) if isinstance(one, ast.arg)}
                self.read([*given.defaults, *(one for one in given.kw_defaults if one)], at)
                self.read([inner], replace(at, names=at.names - own, at_import=False, sure=False))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._visit_function(node, at)
            case ast.ClassDef():
                self._visit_class(node, at)
            case ast.AnnAssign(value=value) if self.lazy:
                self.read([node.target, *([value] if value is not None else [])], at)
            case _:
                self.read(find_children(node), at)

    @staticmethod
    def _ask(at: _Context, test: ast.expr, handled: bool) -> _Context:
        if not _mentions(test, at.telling):
            return at
        return replace(at, tested=True, handled=at.handled or handled)

    def _visit_function(self, node: _Function, at: _Context) -> None:
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        arguments = [one for one in given if one is not None]
        outside = [*node.decorator_list, *node.args.defaults, *(one for one in node.args.kw_defaults if one)]
        hints = [one.annotation for one in arguments if one.annotation] + ([node.returns] if node.returns else [])
        self.read([*outside, *([] if self.lazy else hints)], at)
        own = {one.arg for one in arguments} | {name for name, _ in find_bound(node.body)}
        # a function that it makes need not be called
        inside = replace(at, names=at.names - own, at_import=False, sure=at.at_import)
        self.read(node.body, replace(inside, within=at.within or node.name))

    def _visit_class(self, node: ast.ClassDef, at: _Context) -> None:
        self.read([*node.decorator_list, *node.bases, *(one.value for one in node.keywords)], at)
        makers = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
        asked = any(_asks_and_leaves(step, at.telling) for one in makers for step in one.body)
        for one in node.body:  # what `__init__` refuses to make runs no method
            method = isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            inside = replace(at, within=at.within or node.name)
            self.read([one], replace(inside, tested=at.tested or asked) if method else inside)


def find_uses(
    body: list[ast.stmt], names: Collection[str], telling: Iterable[str], aside: tuple[int, int]
) -> Iterator[NameUse]:
    """Every place that reads one of the names, apart from the lines `aside`; who asks for one that is `telling` knows
    what they hold.
    """
    lazy = any(
        isinstance(one, ast.ImportFrom)
        and one.module == "__future__"
        and any(a.name == "annotations" for a in one.names)
        for one in body
    )
    reader = _Reader(aside, lazy)
    reader.read(body, _Context(frozenset(names), frozenset(telling)))
    yield from reader.found


def find_bound(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Names that statements bind, not inside functions and classes: the value assigned, or the statement."""
    for node in body:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from ((name, value) for name in _find_stored(target))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.Import(names=names):
                yield from ((one.asname, node) for one in names if one.asname)
                yield from ((one.name, node) for one in names if not one.asname and "." not in one.name)
            case ast.ImportFrom(names=names):
                yield from ((one.asname or one.name, node) for one in names if one.name != "*")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
            case _:
                yield from find_bound(one for one in _find_inner(node))


def _find_inner(node: ast.stmt) -> Iterator[ast.stmt]:
    for child in find_children(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def _find_stored(target: ast.expr) -> Iterator[str]:
    for node in walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def leaves(body: list[ast.stmt]) -> bool:
    """Whether the block ends by leaving."""
    return bool(body) and isinstance(body[-1], _LEAVING)


def _asks_and_leaves(node: ast.AST, telling: frozenset[str]) -> bool:
    """`if not FLAG: raise …`, `assert NAME is not None`: what comes after it runs only where the answer is yes."""
    if isinstance(node, ast.Assert):
        return _mentions(node.test, telling)
    return isinstance(node, ast.If) and leaves(node.body) and _mentions(node.test, telling)


def _mentions(node: ast.expr, names: frozenset[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in walk(node))
