"""Classes that our code hands on as values: returned by a provider, set in upstream's place, put into a slot."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from layline.source import parse_tree
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.source import Index, ModuleEntry

_ASKING = {"isinstance", "issubclass"}
_CAPITALISED = re.compile(rb"(?<!\w)[A-Z]\w*")


class Handing:
    """Answers for our own modules (those that `is_ours` keeps); a file is parsed when a name in it is asked for."""

    def __init__(self, index: Index, is_ours: Callable[[ModuleEntry], bool]) -> None:
        self._index = index
        self._is_ours = is_ours
        self._parsed: dict[str, frozenset[str]] = {}

    def is_handed(self, name: str) -> bool:
        return any(name in self._read(module) for module in self._mentions.get(name, ()))

    @cached_property
    def _mentions(self) -> dict[str, list[str]]:
        """Capitalised words → our modules that hold them."""
        found: dict[str, list[str]] = {}
        for entry in self._index.entries.values():
            if self._is_ours(entry):
                for word in set(_CAPITALISED.findall(self._index.read_blob(entry.name))):
                    found.setdefault(word.decode("ascii"), []).append(entry.name)
        return found

    def _read(self, module: str) -> frozenset[str]:
        if module not in self._parsed:
            tree = parse_tree(module, self._index.read_blob(module))
            self._parsed[module] = frozenset(_find_handed(tree)) if isinstance(tree, ast.Module) else frozenset()
        return self._parsed[module]


def _find_handed(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        match node:
            case ast.Return(value=ast.expr() as value):
                yield from _find_values(value)
            case ast.Assign(targets=[ast.Attribute()], value=value):
                yield from _find_values(value)
            case ast.keyword(arg=str() as slot, value=value) if slot != "module":
                yield from _find_values(value)  # a spec of our own names a module, and our own code builds it


def _find_values(node: ast.expr) -> Iterator[str]:
    """Names that stand as values in an expression: not called, not asked about, chosen or passed through."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.IfExp(body=one, orelse=other):
            yield from (*_find_values(one), *_find_values(other))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            yield from (name for item in items for name in _find_values(item))
        case ast.Call(func=ast.Name(id=name), args=items) if name not in _ASKING:
            yield from (name for item in items for name in _find_values(item))
