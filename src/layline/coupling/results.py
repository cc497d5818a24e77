"""What our replacement reads of the results of upstream's functions, and whether those results have it."""

from __future__ import annotations

import ast
import builtins
import collections
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import walk_own
from layline.source import DefinitionKind, Symbol
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.coupling.replacements import Replacement
    from layline.source.instances import Instances
    from layline.source.resolve import Resolver

_DEEPEST = 8
_RUN = "forward"
"""What a call of an object that is kept in a field runs."""


class Results:
    """Answers for one ref of upstream."""

    def __init__(self, side: Resolver, instances: Instances) -> None:
        self._side = side
        self._instances = instances

    def find_lacking(self, ours: Replacement, owner: str) -> Iterator[Why]:
        """Attributes that our method, put onto the class `owner`, reads of results that have none."""
        told: set[tuple[tuple[str, ...], str]] = set()
        reads = (read for function, me in _find_functions(ours) for read in find_taken(function, me))
        for called, read in sorted(reads, key=lambda one: one[1].lineno):
            made = self._find_result(owner, called) if (called, read.attr) not in told else None
            if made is not None and self._lacks(made, read.attr):
                told.add((called, read.attr))
                at = Location(ours.location.path, read.lineno)
                yield Why(Reason.RESULT_LACKS, f".{read.attr}", f"{'.'.join(called)}(…)", text=made, places=(at,))

    def _find_result(self, owner: str, called: tuple[str, ...]) -> str | None:
        """The class of what a call through `self` returns, where every `return` of the function makes one."""
        home: str | None = owner
        for word in called[:-1]:
            held = self._instances.find(home).get(word) if home is not None else None
            home = held.kind if held is not None else None
        if home is None:
            return None
        kept = self._instances.find(home).get(called[-1])
        named = f"{home}.{called[-1]}" if kept is None else f"{kept.kind}.{_RUN}"
        callee = self._side.resolve(named) if kept is None or kept.kind is not None else None
        definition = callee.definition if callee is not None else None
        if callee is None or definition is None or callee.module is None or definition.is_async:
            return None
        node = self._side.index.read_node(callee.module, definition)
        if not isinstance(node, ast.FunctionDef):
            return None
        made = {self._make(callee.module, item.value) for item in walk_own(node) if isinstance(item, ast.Return)}
        return made.pop() if len(made) == 1 else None

    def _make(self, module: str, value: ast.expr | None) -> str | None:
        match value:
            case ast.Call(func=ast.Name() | ast.Attribute() as func):
                symbol = self._side.resolve_in(module, ast.unparse(func))
                return symbol.home if _is_class(symbol) else None
        return None

    def _lacks(self, home: str, word: str) -> bool:
        if word in self._instances.find(home) or self._side.resolve(f"{home}.__getattr__").exists:
            return False
        return self._is_without(self._side.resolve(home), word, 0)

    def _is_without(self, symbol: Symbol, word: str, depth: int) -> bool:
        """Whether a class and all above it, Python's own included, are known not to have an attribute."""
        definition = symbol.definition
        if definition is None or symbol.module is None or depth > _DEEPEST or self._has_own(symbol, word):
            return False
        for text in definition.bases:
            base = self._side.resolve_in(symbol.module, text.partition("[")[0])
            if _is_class(base):
                if not self._is_without(base, word, depth + 1):
                    return False
                continue
            last = text.partition("[")[0].rpartition(".")[2]
            known = getattr(collections, last, None) or getattr(builtins, last, None)
            if not isinstance(known, type) or hasattr(known, word):
                return False
        return True

    def _has_own(self, symbol: Symbol, word: str) -> bool:
        holder = self._side.index.module(symbol.module) if symbol.module is not None else None
        return holder is None or symbol.definition is None or word in holder.members(symbol.definition.qualname)


def _is_class(symbol: Symbol) -> bool:
    return symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS


def _find_functions(ours: Replacement) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Our method, and the functions that it hands its object to, with what they call the object."""
    if isinstance(ours.node, ast.FunctionDef) and ours.node.args.args:
        me = ours.node.args.args[0].arg
        yield ours.node, me
        yield from find_beside(ours, me)


def find_beside(ours: Replacement, me: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions of its file that our replacement hands its object `me` to, with what they call it."""
    body = ours.tree.body if ours.tree is not None else []
    beside = {item.name: item for item in body if isinstance(item, ast.FunctionDef)}
    for item in walk(ours.node):
        match item:
            case ast.Call(func=ast.Name(id=name), args=given) if name in beside:
                for taken, value in zip(beside[name].args.args, given, strict=False):
                    if isinstance(value, ast.Name) and value.id == me:
                        yield beside[name], taken.arg


_Read: TypeAlias = tuple[tuple[str, ...], ast.Attribute]
"""What is called through an object, and what is read of the result."""


def find_taken(function: ast.FunctionDef, me: str) -> Iterator[_Read]:
    """Calls through an object and what is read of their results: `self.encoder(x).shape`, or of the variable that
    keeps the result, in the statements that follow and until it is set again.
    """
    for item in walk(function):
        match item:
            case ast.Attribute(value=ast.Call(func=func)) if (called := _read_chain(func, me)) is not None:
                yield called, item
        for field in ("body", "orelse", "finalbody"):
            block = getattr(item, field, None)
            if isinstance(block, list):
                yield from _follow(block, me)


def _follow(block: list[ast.stmt], me: str) -> Iterator[_Read]:
    for place, statement in enumerate(block):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                called = _read_chain(func, me)
                if called is not None:
                    yield from ((called, read) for read in _find_read(block[place + 1 :], name))


def _find_read(block: list[ast.stmt], name: str) -> Iterator[ast.Attribute]:
    """Attributes of a variable that statements read until one sets it again, or asks what it holds."""
    for statement in block:
        nodes = list(walk(statement))
        if any(isinstance(one, ast.Name) and one.id in _ASKING for one in nodes):
            return
        for one in nodes:
            match one:
                case ast.Attribute(value=ast.Name(id=read)) if read == name:
                    yield one
        if any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in nodes):
            return


_ASKING = frozenset({"isinstance", "hasattr", "getattr", "type"})
"""Code that asks what it has been given may go more than one way."""


def _read_chain(node: ast.expr, me: str) -> tuple[str, ...] | None:
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return tuple(reversed(words)) if words and isinstance(node, ast.Name) and node.id == me else None
