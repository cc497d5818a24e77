"""Attributes that a method of upstream's sets on its object and another method of the class cannot do without."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TypeAlias

from layline.coupling.looked_at import find_asked
from layline.source import Symbol
from layline.source.lineage import find_above
from layline.source.resolve import Resolver
from layline.source.walking import walk

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Own:
    """What a method of ours does with its object, and the functions of its file that it hands it to."""

    def __init__(self, tree: ast.Module, method: Function) -> None:
        beside = {item.name: item for item in tree.body if isinstance(item, FUNCTIONS)}
        self.sets: set[str] = set()
        self.calls: set[str] = set()
        """Methods of the object that it calls."""
        self.is_closed = bool(find_own_name(method))
        """False where the object goes to code that cannot be read here."""
        todo, done = [(method, find_own_name(method))], set[tuple[str, str]]()
        while todo:
            function, me = todo.pop()
            if (function.name, me) in done:
                continue
            done.add((function.name, me))
            known: set[int] = set()
            for item in walk(function):
                match item:
                    case ast.Attribute(value=ast.Name(id=name) as used, attr=word) if name == me:
                        known.add(id(used))
                        if not isinstance(item.ctx, ast.Load):
                            self.sets.add(word)
                    case ast.Constant(value=str(text)):
                        self.sets.add(text)  # `setattr(self, "word", …)`
                    case ast.Call(func=func, args=given):
                        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == me:
                            self.calls.add(func.attr)
                        taken = beside.get(func.id) if isinstance(func, ast.Name) else None
                        for place, value in enumerate(given):
                            names = [one.arg for one in taken.args.args] if taken is not None else []
                            if isinstance(value, ast.Name) and value.id == me and taken is not None:
                                known.add(id(value))
                                todo.extend([(taken, names[place])] if place < len(names) else [])
            uses = (one for one in walk(function) if isinstance(one, ast.Name) and one.id == me)
            self.is_closed &= all(id(one) in known for one in uses)


def find_own_name(function: Function) -> str:
    taken = (*function.args.posonlyargs, *function.args.args)
    return taken[0].arg if taken else ""


def find_needed(
    side: Resolver, original: Symbol, sets: Collection[str], calls: Collection[str], targets: Collection[str]
) -> Iterator[tuple[str, str]]:
    """What the original sets come what may, ours does not (it `sets` other things, and `calls` methods that may), and
    which method needs it; not the `targets`, which are ours.
    """
    definition, module = original.definition, original.module
    if definition is None or module is None or not definition.owner:
        return
    node, owner = side.index.read_node(module, definition), f"{module}.{definition.owner}"
    if not isinstance(node, FUNCTIONS) or find_own_name(node) != "self":
        return
    words = {word for statement in node.body for word in _find_set(statement)} - {*sets}
    methods = [(home, _Method(one)) for home, one in _find_methods(side, owner)] if words else []
    others = [one for _, one in methods if one.node.name != definition.name]
    called = [one for _, one in methods if one.node.name in calls]
    own = [one for home, one in methods if home == owner and one in others]
    readers = [one for one in own if f"{owner}.{one.node.name}" not in targets]
    for word in sorted(words):
        if any(word in one.gives for one in others) or any(word in one.names for one in called):
            continue
        alone = not any(word in one.stores for one in others)
        reader = next((one for one in readers if one.needs(word, alone=alone)), None)
        if reader is not None:
            yield word, f"{definition.owner}.{reader.node.name}"


class _Method:
    """What a method does with attributes, read once for all words that are asked for."""

    def __init__(self, node: Function) -> None:
        self.node = node

    @cached_property
    def names(self) -> frozenset[str]:
        """Every attribute that it names, of whatever object."""
        return frozenset(one.attr for one in walk(self.node) if isinstance(one, ast.Attribute))

    @cached_property
    def stores(self) -> frozenset[str]:
        stored = (one for one in walk(self.node) if isinstance(one, ast.Attribute))
        return frozenset(one.attr for one in stored if isinstance(one.ctx, ast.Store))

    @cached_property
    def gives(self) -> frozenset[str]:
        """The attributes that it sets to something, or may."""
        nothing, found = set[int](), set[str]()
        for one in walk(self.node):
            match one:
                case ast.Assign(targets=[target, *_], value=value) | ast.AnnAssign(target=target, value=value):
                    nothing |= {id(target)} if _is_nothing(value) else set()
                case ast.Constant(value=str(text)):
                    found.add(text)
        stored = (one for one in walk(self.node) if isinstance(one, ast.Attribute) and id(one) not in nothing)
        return frozenset(found | {one.attr for one in stored if isinstance(one.ctx, ast.Store)})

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(find_asked(self.node))

    def needs(self, word: str, *, alone: bool) -> bool:
        """Whether it fails whenever it runs without the attribute: it asserts it first of all, or uses it at once and
        nobody else makes it.
        """
        return (
            word in self.names
            and word not in self._asked
            and word not in self.stores
            and _needs(self.node, word, alone=alone)
        )


def _find_set(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case (
            ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=word)], value=value)
            | ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=word), value=ast.expr() as value)
        ) if not _is_nothing(value):
            yield word


def _is_nothing(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _find_methods(side: Resolver, owner: str) -> Iterator[tuple[str, Function]]:
    """The methods of a class and of those above it."""
    for home in dict.fromkeys(find_above(owner, side)):
        symbol = side.resolve(home)
        node = side.index.read_node(symbol.module, symbol.definition) if symbol.module and symbol.definition else None
        yield from (
            (home, one) for one in (node.body if isinstance(node, ast.ClassDef) else ()) if isinstance(one, FUNCTIONS)
        )


def _needs(function: Function, word: str, *, alone: bool) -> bool:
    for statement in function.body:
        match statement:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Attribute(value=ast.Name(id="self"), attr=asked),
                    ops=[ast.IsNot()],
                    comparators=[ast.Constant(value=None)],
                )
            ) if asked == word:
                return True
            case ast.Assign(value=value) | ast.Expr(value=value) | ast.Return(value=ast.expr() as value) if alone:
                reads = [one for one in walk(value) if isinstance(one, ast.Attribute) and one.attr == word]
                owned = [one for one in reads if isinstance(one.value, ast.Name) and one.value.id == "self"]
                if owned and not any(isinstance(one, ast.IfExp | ast.BoolOp | ast.Lambda) for one in walk(value)):
                    return True
        if any(isinstance(one, ast.Return | ast.Raise) for one in walk(statement)):
            return False
    return False


def is_called_within(side: Resolver, owner: str, name: str, own: Collection[str]) -> bool:
    """Whether a method that a class leaves alone (not one of its `own`) calls another on its object."""
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == name
        and isinstance(one.func.value, ast.Name)
        and one.func.value.id == find_own_name(method)
        for _, method in _find_methods(side, owner)
        if method.name not in own and method.name != name
        for one in walk(method)
    )
