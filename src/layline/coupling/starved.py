"""Attributes that upstream's constructor sets since the pin and its methods read: an object of ours whose own constructor
never calls it does not have them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.coupling.place import Place
from layline.source.definitions import DefinitionKind
from layline.source.resolve import Resolver
from layline.source.symbols import Symbol
from layline.source.walking import walk

_MAKE = "__init__"
_DEEPEST = 8


def find_starved(place: Place, pin: Resolver, tip: Resolver, base: str) -> tuple[str, str] | None:
    """The first such attribute and the method of upstream's that reads it; `base`: upstream's class at the tip."""
    if _MAKE not in place.closed:
        return None
    before, after = list(_find_classes(pin, place.base)), list(_find_classes(tip, base))
    known = {name for made, _ in before for name in made} | place.own
    fresh = {name for made, _ in after for name in made} - known
    for _, methods in after if fresh else ():
        for method, read in sorted(methods.items()):
            for name in read:
                # what is called from outside; helpers are mostly those of a method that ours replaces
                if name in fresh and not method.startswith("_") and method not in place.closed:
                    return name, method
    return None


def _find_classes(side: Resolver, name: str) -> Iterator[tuple[list[str], dict[str, list[str]]]]:
    """Of a class and those above it what the constructor sets, and what each method reads of its object."""
    for symbol in _find_lineage(side, side.resolve(name), 0):
        if symbol.module is not None and symbol.definition is not None:
            yield side.index.ask_node(symbol.module, symbol.definition, "made and read", _read_class)


def _find_lineage(side: Resolver, symbol: Symbol, depth: int) -> Iterator[Symbol]:
    definition = symbol.definition
    if definition is None or definition.kind is not DefinitionKind.CLASS or symbol.module is None:
        return
    yield symbol
    for base in definition.bases if depth < _DEEPEST else ():
        yield from _find_lineage(side, side.resolve_in(symbol.module, base.partition("[")[0]), depth + 1)


def _read_class(node: ast.stmt | None) -> tuple[list[str], dict[str, list[str]]]:
    """Names that methods set elsewhere, or that the class itself has, are no matter of the constructor alone."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    methods = {one.name: one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    made = set(_find_attributes(methods[_MAKE], ast.Store)) if _MAKE in methods else set()
    others = {name for key, one in methods.items() if key != _MAKE for name in _find_attributes(one, ast.Store)}
    fields = {
        target.id
        for one in body
        for target in (one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)])
        if isinstance(target, ast.Name)
    }
    read = {key: sorted(set(_find_attributes(one, ast.Load))) for key, one in methods.items()}
    return sorted(made - others - fields - methods.keys()), read


def _find_attributes(method: ast.AST, way: type[ast.expr_context]) -> Iterator[str]:
    for node in walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=context) if isinstance(context, way):
                yield name
