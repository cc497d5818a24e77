"""What our replacement reads of the results of upstream's functions, and whether those results have it."""

from __future__ import annotations

import ast
import builtins
import collections
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import find_arities, walk_own
from layline.coupling.row_parts import LostRead
from layline.source import DefinitionKind, Symbol
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.coupling.replacements import Replacement
    from layline.source.instances import Instances
    from layline.source.resolve import Resolver

_MOST = 40
"""Classes above one are no more than these."""
_RUN = "forward"
"""What a call of an object that is kept in a field runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """What a call through an object returns."""

    home: str
    """Dotted name of the function that is run, or of the method that notes what it gives."""
    made: str | None
    """The class of which every `return` makes an object; None where they do not agree, or make none."""
    count: int | None
    """Into how many values every `return` puts it; None where they do not agree, or write no tuple."""


@dataclass(frozen=True, slots=True)
class _Lineage:
    """A class and all above it, as far as Python's own."""

    own: tuple[Symbol, ...]
    python: tuple[type, ...]


class Results:
    """Answers for one ref of upstream."""

    def __init__(self, side: Resolver, instances: Instances) -> None:
        self._side = side
        self._instances = instances

    def find_lacking(self, ours: Replacement, owner: str) -> Iterator[tuple[tuple[str, ...], Why]]:
        """Attributes that our method, put onto the class `owner`, reads of results that have none, each with the call
        that makes the result.
        """
        lines: dict[tuple[tuple[str, ...], str], set[int]] = {}
        for function, me in _find_functions(ours):
            for called, read in find_taken(function, me):
                lines.setdefault((called, read.attr), set()).add(read.lineno)
        for (called, word), listed in sorted(lines.items(), key=lambda one: min(one[1])):
            result = self.find_result(owner, called)
            if result is not None and result.made is not None and self.lacks(result.made, word):
                at = tuple(Location(ours.location.path, line) for line in sorted(listed))
                yield (
                    called,
                    Why(Reason.RESULT_LACKS, f".{word}", f"{'.'.join(called)}(…)", text=result.made, places=at),
                )

    def find_result(self, owner: str, called: tuple[str, ...]) -> _Result | None:
        """What a call through an object of the class `owner` returns."""
        home: str | None = owner
        for word in called[:-1]:
            held = self._instances.find(home).get(word) if home is not None else None
            home = held.kind if held is not None else None
        if home is None:
            return None
        kept = self._instances.find(home).get(called[-1])
        if kept is not None and kept.kind is None:
            return self._find_noted(home, called[-1])
        named = f"{home}.{called[-1]}" if kept is None else f"{kept.kind}.{_RUN}"
        callee = self._side.resolve(named)
        definition = callee.definition
        if definition is None or callee.module is None or definition.is_async:
            return None
        node = self._side.index.read_node(callee.module, definition)
        if not isinstance(node, ast.FunctionDef) or callee.home is None:
            return None
        made = {self._make(callee.module, item.value) for item in walk_own(node) if isinstance(item, ast.Return)}
        counts = set(find_arities(node))
        return _Result(
            home=callee.home,
            made=made.pop() if len(made) == 1 else None,
            count=counts.pop() if len(counts) == 1 else None,
        )

    def _find_noted(self, home: str, word: str) -> _Result | None:
        """What the class itself writes that a call of its attribute gives: `output: Output = self.encoder(x)`."""
        owner = self._side.resolve(home)
        if owner.definition is None or owner.module is None:
            return None
        node = self._side.index.read_node(owner.module, owner.definition)
        noted: set[str | None] = set()
        for item in walk(node) if node is not None else ():
            match item:
                case ast.AnnAssign(annotation=annotation, value=ast.Call(func=func)) if _read_chain(func, "self") == (
                    word,
                ):
                    symbol = self._side.resolve_in(owner.module, ast.unparse(annotation))
                    noted.add(symbol.home if _is_class(symbol) else None)
        made = noted.pop() if len(noted) == 1 else None
        return _Result(home=home, made=made, count=None) if made is not None else None

    def _make(self, module: str, value: ast.expr | None) -> str | None:
        match value:
            case ast.Call(func=ast.Name() | ast.Attribute() as func):
                symbol = self._side.resolve_in(module, ast.unparse(func))
                return symbol.home if _is_class(symbol) else None
        return None

    def lacks(self, home: str, word: str) -> bool:
        """Whether objects of a class surely have no such attribute; False where a class above it is not known."""
        if word in self._instances.find(home) or self._side.resolve(f"{home}.__getattr__").exists:
            return False
        above = self._find_lineage(home)
        return above is not None and not self._has(above, word)

    def gives_no_values(self, home: str) -> bool:
        """Whether an object cannot be taken apart into its values: nothing iterates it, or it gives its keys."""
        above = self._find_lineage(home)
        if above is None or any("__iter__" in self._read_members(one) for one in above.own):
            return False
        return not self._has(above, "__iter__") or any(issubclass(one, dict) for one in above.python)

    def _has(self, above: _Lineage, word: str) -> bool:
        mine = any(word in self._read_members(one) for one in above.own)
        return mine or any(hasattr(one, word) for one in above.python)

    def _find_lineage(self, home: str) -> _Lineage | None:
        """None where a class above it is not known."""
        own: list[Symbol] = []
        python: list[type] = []
        todo = [self._side.resolve(home)]
        while todo and len(own) < _MOST:
            symbol = todo.pop()
            if symbol.definition is None or symbol.module is None or self._side.index.module(symbol.module) is None:
                return None
            own.append(symbol)
            for text in symbol.definition.bases:
                base = self._side.resolve_in(symbol.module, text.partition("[")[0])
                if _is_class(base):
                    todo.append(base)
                    continue
                last = text.partition("[")[0].rpartition(".")[2]
                known = getattr(collections, last, None) or getattr(builtins, last, None)
                if not isinstance(known, type):
                    return None
                python.append(known)
        return _Lineage(tuple(own), tuple(python)) if not todo else None

    def _read_members(self, symbol: Symbol) -> Collection[str]:
        holder = self._side.index.module(symbol.module) if symbol.module is not None else None
        if holder is None or symbol.definition is None:
            return ()
        return holder.members(symbol.definition.qualname)


class ResultPair:
    """Both refs of upstream: what our method reads of results there, and into how many values it takes them apart."""

    def __init__(self, then: Results, now: Results) -> None:
        self._sides = then, now

    def lacks(self, home: str, word: str) -> bool:
        """Whether objects of a class of the pin surely have no such attribute."""
        return self._sides[0].lacks(home, word)

    def find_lost(self, ours: Replacement, owner: str) -> Iterator[LostRead]:
        """What fails at the tip and not at the pin."""
        then = {why for _, why in self._sides[0].find_lacking(ours, owner)}
        for called, why in self._sides[1].find_lacking(ours, owner):
            if why not in then:
                before = self._sides[0].find_result(owner, called)
                name = before.home if before is not None else ""
                yield LostRead(line=why.places[0].line, why=why, certain=True, name=name, result=why.text)
        yield from self._find_apart(ours, owner)

    def find_today(self, ours: Replacement, owner: str) -> Iterator[Why]:
        """What fails at the pin already."""
        now = {why for _, why in self._sides[1].find_lacking(ours, owner)}
        for _, why in self._sides[0].find_lacking(ours, owner):
            yield replace(why, reason=Reason.RESULT_LACKS_STILL) if why in now else why

    def _find_apart(self, ours: Replacement, owner: str) -> Iterator[LostRead]:
        """Results that we take apart into the values that they were at the pin, and that are one object at the tip."""
        lines: dict[tuple[tuple[str, ...], int], list[int]] = {}
        for function, me in _find_functions(ours):
            for called, count, line in _find_unpacked(function, me):
                lines.setdefault((called, count), []).append(line)
        for (called, count), listed in lines.items():
            then, now = (side.find_result(owner, called) for side in self._sides)
            made = now.made if now is not None and then is not None and then.count == count else None
            if then is None or made is None or not self._sides[1].gives_no_values(made):
                continue
            places = tuple(Location(ours.location.path, line) for line in sorted(listed))
            why = Why(Reason.TAKEN_APART, f"{'.'.join(called)}(…)", text=made, counts=(count,), places=places)
            yield LostRead(line=places[0].line, why=why, certain=True, name=then.home, result=made)


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


def _find_unpacked(function: ast.FunctionDef, me: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Calls through an object whose result is taken apart, into how many values, in which line."""
    for item in walk(function):
        match item:
            case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=ast.Call(func=func)):
                called = _read_chain(func, me)
                if called is not None and not any(isinstance(one, ast.Starred) for one in names):
                    yield called, len(names), item.lineno


_ASKING = frozenset({"isinstance", "hasattr", "getattr", "type"})
"""Code that asks what it has been given may go more than one way."""


def _read_chain(node: ast.expr, me: str) -> tuple[str, ...] | None:
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return tuple(reversed(words)) if words and isinstance(node, ast.Name) and node.id == me else None
