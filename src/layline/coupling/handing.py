"""Classes that our code hands on as values: returned by a provider, set in upstream's place, put into a slot."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from layline.source import parse_tree
from layline.source.handed import find_handed
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.source import Index, ModuleEntry

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
            nodes = walk(tree) if isinstance(tree, ast.Module) else ()
            self._parsed[module] = frozenset(name for node in nodes for name in find_handed(node))
        return self._parsed[module]
