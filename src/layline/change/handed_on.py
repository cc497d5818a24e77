"""Where upstream's own code takes a function as a value: calls of what stands for it, and places that hand it on.

step = run                    # step(x, mode=1) is a call of `run`
step = run if fast else walk  # it may be one
step = partial(run, mode=1)   # who calls it passes the rest
helper(run)                   # what `helper` calls by its parameter
return run                    # handed on: who calls it is not known here
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from layline.change.binding import CallShape, CallSite, read_call
from layline.core.evidence import Location, Skipped
from layline.core.ours import is_test_module
from layline.source.definitions import DefinitionKind
from layline.source.excerpts import parse_around
from layline.source.fingerprint import dotted_text
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read
from layline.source.walking import find_children, walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASKING = frozenset({"isinstance", "issubclass", "hasattr", "getattr", "callable", "signature", "wraps", "id", "type"})
"""What asks about a function, or copies its name, and calls nothing."""


@dataclass(frozen=True, slots=True)
class HandedOn:
    """What becomes of a function as a value."""

    sites: tuple[CallSite, ...] = ()
    """Calls of what stands for it; certain where nothing else may stand there."""
    places: tuple[Location, ...] = ()
    """Lines behind which nobody follows it here."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """One place that names the function and does not call it."""

    module: str
    node: ast.expr
    path: tuple[ast.AST, ...]
    """What stands around it, the innermost last."""
    offset: int


class HandedFunctions:
    """Answers for one ref; texts are searched once for all names that are asked for together."""

    def __init__(self, resolver: Resolver, names: Iterable[str] = ()) -> None:
        self._resolver = resolver
        self._words = {name.rpartition(".")[2] for name in names}
        self._holding: dict[str, list[str]] = {}
        """Last word → modules whose text has it."""
        self._known: dict[str, tuple[HandedOn, Collection[Read]]] = {}

    def find(self, name: str) -> HandedOn:
        """Of a function of a module, by its dotted name; of methods nothing is said."""
        return self._resolver.index.seen.remember(self._known, name, lambda: self._find(name))

    def _find(self, name: str) -> HandedOn:
        symbol, index = self._resolver.resolve(name), self._resolver.index
        definition = symbol.definition
        if definition is None or definition.owner or definition.kind is not DefinitionKind.FUNCTION:
            return HandedOn()
        word = name.rpartition(".")[2]
        index.seen.add(Asked.WORD, word)
        sites, places = list[CallSite](), list[Location]()
        for module in self._list_holding(word):
            for spot in self._find_spots(module, word, str(symbol.home)):
                found = self._follow(spot)
                sites += found.sites
                places += found.places
        return HandedOn(tuple(dict.fromkeys(sites)), tuple(dict.fromkeys(places)))

    def _list_holding(self, word: str) -> list[str]:
        """The modules that name it more than in a call, by their text."""
        if word not in self._holding:
            words = {one: one.encode() for one in {*self._words, word} - self._holding.keys()}
            patterns = {
                one: re.compile(rb"(?<!def )(?<!\w)" + re.escape(plain) + rb"\b(?!\s*\()")
                for one, plain in words.items()
            }
            self._holding.update({one: [] for one in words})
            for module, data in self._resolver.index.read_all(words):
                for one, plain in words.items():
                    if plain in data and not is_test_module(module) and patterns[one].search(data):
                        self._holding[one].append(module)
        return self._holding[word]

    def _find_spots(self, module: str, word: str, home: str) -> Iterator[_Spot]:
        index = self._resolver.index
        holder, data = index.peek(module), index.peek_blob(module)
        pattern = re.compile(rb"\b" + re.escape(word.encode()) + rb"\b(?!\s*\()")
        parts = parse_around(data, holder, pattern) if holder is not None else ()
        for tree, offset in () if isinstance(parts, Skipped) else parts:
            for node, path in _walk_with_path(tree, ()):
                if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                    continue
                text = dotted_text(node)
                if text is None or text.rpartition(".")[2] != word:
                    continue
                is_taken = _is_value(node, path) and not _is_local(text, path)
                if is_taken and self._resolver.resolve_in(module, text).home == home:
                    yield _Spot(module, node, path, offset)

    def _follow(self, spot: _Spot) -> HandedOn:
        *around, parent = spot.path
        here = (self._locate(spot.module, spot.node, spot.offset),)
        function = next((one for one in reversed(spot.path) if isinstance(one, _FUNCTIONS)), None)
        chosen = isinstance(parent, ast.IfExp | ast.BoolOp)
        match around[-1] if around and (chosen or isinstance(parent, ast.keyword)) else parent:
            case ast.Assign(targets=[ast.Name(id=alias)]) if function is not None:
                calls = self._find_calls(spot, function, alias, set_=1)
                return HandedOn((), here) if calls is None else self._tell(calls, certain=not chosen)
            case ast.Call(func=func, args=[first, *rest], keywords=words) if first is spot.node and _is_partial(func):
                shape = read_call(ast.Call(func, rest, words))
                given = replace(shape, has_star=True, has_double_star=True)
                return HandedOn((self._make_site(spot, spot.node, given, certain=True),), ())
            case ast.Call() as call if not chosen:
                return self._follow_argument(spot, call) or HandedOn((), here)
        return HandedOn((), here)

    @staticmethod
    def _tell(calls: list[CallSite], *, certain: bool) -> HandedOn:
        return HandedOn(tuple(replace(one, certain=certain) for one in calls), ())

    def _find_calls(self, spot: _Spot, function: ast.AST, alias: str, *, set_: int) -> list[CallSite] | None:
        """Calls of a variable that is set so often, and only called apart from that; None where it goes on."""
        names = [one for one in walk(function) if isinstance(one, ast.Name) and one.id == alias]
        if sum(not isinstance(one.ctx, ast.Load) for one in names) != set_:
            return None
        calls = [one for one in walk(function) if isinstance(one, ast.Call) and one.func in names]
        if len(calls) < sum(isinstance(one.ctx, ast.Load) for one in names):
            return None
        return [self._make_site(spot, one, read_call(one), certain=True) for one in calls]

    def _follow_argument(self, spot: _Spot, call: ast.Call) -> HandedOn | None:
        """What a function of upstream's calls by the parameter that it is given the value for."""
        text = dotted_text(call.func)
        symbol = self._resolver.resolve_in(spot.module, text) if text is not None else None
        definition = symbol.definition if symbol is not None else None
        if symbol is None or symbol.module is None or definition is None or definition.owner:
            return None
        node = self._resolver.index.read_node(symbol.module, definition)
        if not isinstance(node, _FUNCTIONS):
            return None
        taken = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        given = dict(zip(taken, call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
        name = next((one for one, value in given.items() if value is spot.node), None)
        inside = _Spot(symbol.module, spot.node, (), 0)
        calls = self._find_calls(inside, node, name, set_=0) if name is not None else None
        return None if calls is None else HandedOn(tuple(calls), ())

    def _make_site(self, spot: _Spot, node: ast.expr, shape: CallShape, *, certain: bool) -> CallSite:
        at = self._locate(spot.module, node, spot.offset)
        return CallSite(module=spot.module, location=at, shape=shape, certain=certain)

    def _locate(self, module: str, node: ast.expr, offset: int) -> Location:
        return Location(self._resolver.index.entries[module].path, node.lineno + offset)


def _walk_with_path(node: ast.AST, path: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    for below in find_children(node):
        yield below, (*path, node)
        yield from _walk_with_path(below, (*path, node))


def _is_value(node: ast.expr, path: tuple[ast.AST, ...]) -> bool:
    """Whether what is named there is taken as a value: not called, asked about or written as a type."""
    parent = path[-1]
    match parent:
        case ast.Call(func=func) if func is node:
            return False
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _ASKING:
            return False
        case ast.Attribute() | ast.Compare() | ast.arg() | ast.AnnAssign() | ast.ClassDef() | ast.Subscript():
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return False  # a decorator, a default or what it returns
    return not any(isinstance(one, ast.arg | ast.AnnAssign) for one in path)


def _is_local(text: str, path: Iterable[ast.AST]) -> bool:
    """Whether a function around gives the first word of a name another meaning."""
    first = text.partition(".")[0]
    for function in path:
        if isinstance(function, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            taken = function.args
            if first in {one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)}:
                return True
        if isinstance(function, _FUNCTIONS) and any(
            isinstance(one, ast.Name) and one.id == first and not isinstance(one.ctx, ast.Load)
            for one in walk(function)
        ):
            return True
    return False


def _is_partial(func: ast.expr) -> bool:
    return (dotted_text(func) or "").rpartition(".")[2] == "partial"
