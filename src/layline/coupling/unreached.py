"""Overrides that upstream's classes ran at the pin, and that no code of upstream names at the tip: they stay in place
and are not called, and nothing says so when the code runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from layline.change.compare import Comparer
from layline.change.file_trace import Version
from layline.core.evidence import Location
from layline.core.ours import is_own
from layline.core.why import Reason, Why
from layline.coupling.lost_attribute import find_history
from layline.coupling.model import Consequence, Coupling
from layline.coupling.place import Place
from layline.coupling.states import Verdict
from layline.interpreter.modules import read_texts
from layline.source import Tree
from layline.source.lineage import find_above
from layline.source.seen import Asked
from layline.source.slices import read_node
from layline.source.usage import reaches_attribute
from layline.source.walking import walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Unreached:
    """Asks once for all overrides: the classes above each at the pin, all code of the tip."""

    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer
        self._silent: frozenset[str] = frozenset()
        """Names that were called at the pin, and that no code of the tip has."""

    def ask(self, places: Iterable[Place]) -> None:
        self._silent = self._find_silent({_name(one) for one in places if any(self._find_calls(one))})

    def find(self, place: Place) -> Why | None:
        """Why our method is not called any more; None where it is, where nobody knows, or where our class calls it."""
        calls = list(self._find_calls(place))
        if not calls:
            return None
        self._comparer.tip.index.seen.add(Asked.WORD, _name(place))
        if _name(place) not in self._silent:
            return None
        owners = tuple(dict.fromkeys(owner for owner, _ in calls))
        return Why(Reason.SILENT, names=owners, places=tuple(where for _, where in calls))

    def _find_calls(self, place: Place) -> Iterator[tuple[str, Location]]:
        """Where methods of the classes above use it at the pin that run on our objects, too."""
        pin, name = self._comparer.pin, _name(place)
        if place.override is None or place.called or (name.startswith("__") and name.endswith("__")):
            return
        for owner in dict.fromkeys(find_above(place.base, pin)) if place.base else ():
            symbol = pin.resolve(owner)
            if symbol.module is None or symbol.definition is None:
                continue
            rows = pin.index.ask_node(symbol.module, symbol.definition, "uses of self", _list_uses)
            path = pin.index.entries[symbol.module].path
            for used, method, line in rows:
                if used == name and method not in {name, *place.closed}:
                    yield owner, Location(path, line)

    def _find_silent(self, names: set[str]) -> frozenset[str]:
        left = dict.fromkeys(sorted(names))
        tip = self._comparer.tip
        for module, data in tip.index.read_all(list(left)):
            if is_own(tip.index.every[module].path):
                for name in [name for name in left if name.encode() in data and reaches_attribute(data, name)]:
                    del left[name]
            if not left:
                break
        return frozenset(left)


def _name(place: Place) -> str:
    return place.target.rpartition(".")[2]


def _list_uses(node: ast.AST | None) -> list[tuple[str, str, int]]:
    """What the methods of a class use of `self`: name, method, line."""
    return [
        (item.attr, method.name, item.lineno)
        for method in (node.body if isinstance(node, ast.ClassDef) else ())
        if isinstance(method, _FUNCTIONS)
        for item in walk(method)
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "self"
    ]


def find_silencing(comparer: Comparer, verdict: Verdict, name: str) -> str | None:
    """The commit since which the class that used the method does not; None where several classes did."""
    owners = next((one.names for one in verdict.why if one.reason is Reason.SILENT), ())
    history = find_history(comparer, comparer.pin.resolve(owners[0])) if len(owners) == 1 else None
    if history is None:
        return None

    def is_silent(version: Version, owner: str) -> bool:
        node = read_node(version.text, owner)
        used = {(word, method) for word, method, _ in _list_uses(node)}
        return node is not None and all(word != name or method == name for word, method in used)

    return history[0].find_since(*history[1:], is_silent)


def drop_reached(couplings: Iterable[Coupling], ours: Tree) -> Iterator[Coupling]:
    """Of overrides that upstream does not call any more: those that code of ours calls are as they were."""
    listed = list(couplings)
    names = {one.target.rpartition(".")[2] for one in listed if _is_uncalled(one)}
    texts = [data for _, data in read_texts(ours)] if names else []
    reached = {name for name in names if any(reaches_attribute(data, name) for data in texts)}
    for one in listed:
        is_so = _is_uncalled(one) and one.target.rpartition(".")[2] in reached
        yield replace(one, consequence=Consequence.OK, why=(), culprit=None) if is_so else one


def _is_uncalled(coupling: Coupling) -> bool:
    return any(why.reason is Reason.SILENT for why in coupling.why)
