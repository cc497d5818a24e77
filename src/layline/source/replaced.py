"""Modules that put another object in their own place: `sys.modules[__name__] = LazyModule(…)`.

What such a module imports for type checking is what others get from it; further names it collects when it runs, from
tables of text and from the `__all__` of the files below it.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile

from layline.errors import MissingObject
from layline.source.definitions import DefinitionKind, Import, Module
from layline.source.index import Index
from layline.source.seen import Asked
from layline.source.walking import walk

REPLACING = "modules[__name__]"
"""Stands in every module that replaces itself."""
_MADE = frozenset({DefinitionKind.CLASS, DefinitionKind.FUNCTION})


class Replaced:
    """Answers for one index; the source of a module is read only where its names alone do not answer."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._texts: dict[str, frozenset[str] | None] = {}
        """What each says in texts; None: it stays what it is."""

    def is_replaced(self, module: str) -> bool:
        return self._read(module) is not None

    def find_imports(self, module: str, holder: Module, name: str) -> list[Import]:
        """The imports that bind a name when the code runs."""
        found = holder.bound_imports.get(name, ())
        typed = [item for item in found if item.type_checking]
        return typed if typed and self.is_replaced(module) else [item for item in found if not item.type_checking]

    def find_collected(self, module: str, name: str) -> list[str]:
        """Modules below a replaced one whose name it may hand on: they list it in `__all__`, or they define it and the
        replaced module says its name in a text.
        """
        if self._read(module) is None or name.startswith("_"):
            return []
        told = self.tells(module, name)
        found = [below for below, holder in self._find_below(module, name) if _offers(holder, name, told=told)]
        return [below for below in found if self._is_named(below)] or found

    def _is_named(self, module: str) -> bool:
        """True if the package around a module imports it, if only for type checking: it is one that runs."""
        package, _, last = module.rpartition(".")
        holder = self._index.module(package)
        return holder is not None and any(last in {item.module, item.name} for item in holder.imports)

    def tells(self, module: str, name: str) -> bool:
        """True if a replaced module has the name as a text, in a table of what it hands on."""
        return name in (self._read(module) or ())

    def _find_below(self, module: str, name: str) -> Iterator[tuple[str, Module]]:
        self._index.seen.add(Asked.WORD, name)
        start = bisect_left(self._names, f"{module}.")
        for below in takewhile(lambda one: one.startswith(f"{module}."), self._names[start:]):
            if not self._index.every[below].is_package and self._index.mentions(below, name):
                holder = self._index.module(below)
                if holder is not None:
                    yield below, holder

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self._index.every)

    def _read(self, module: str) -> frozenset[str] | None:
        """What a module that replaces itself says in texts; None of any other."""
        self._index.seen.add(Asked.REPLACED, module)
        if module not in self._texts:
            with self._index.seen.within(set()):
                self._texts[module] = self._find_texts(module)
        if self._texts[module] is not None:
            self._index.seen.add(Asked.MODULE, module)
        return self._texts[module]

    def _find_texts(self, module: str) -> frozenset[str] | None:
        try:
            text = self._index.read_text(module) if module in self._index.entries else ""
        except MissingObject:
            return None
        if REPLACING not in text:
            return None  # parsing costs; a word filter first
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return None
        if not any(map(_replaces, walk(tree))):
            return None
        held = (node.value for node in walk(tree) if isinstance(node, ast.Constant))
        return frozenset(text for text in held if isinstance(text, str))


def _replaces(node: ast.AST) -> bool:
    """`sys.modules[__name__] = …`."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="modules"), slice=ast.Name(id="__name__"))]):
            return True
    return False


def _offers(holder: Module, name: str, *, told: bool) -> bool:
    if holder.exports is not None:
        return name in holder.exports
    best = holder.best(name) if told else None
    return best is not None and best.kind in _MADE
