"""Functions that stay as a name alone: what they did is done by another one, which they call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.change.similarity import SMALL, Shingles, read_shingles, share_kept
from layline.source.definitions import DefinitionKind
from layline.source.fingerprint import strip_docstring
from layline.source.names import absolute_name

if TYPE_CHECKING:
    from layline.source.resolve import Resolver
    from layline.source.symbols import Symbol

_KEPT = 0.6
"""How much of the old body the other function must have."""


def find_shimmed(before: Symbol, after: Symbol, pin: Resolver, tip: Resolver) -> str | None:
    """What runs instead of a function whose body went into another one that it only calls; None where it did not."""
    if not (_is_function(before) and _is_function(after)) or before.module is None or after.module is None:
        return None
    node = tip.index.read_node(after.module, after.definition) if after.definition is not None else None
    called = _find_call(node) if node is not None else None
    home = _resolve(called, node, after, tip) if called is not None and node is not None else None
    there = tip.resolve(home) if home is not None else None
    if there is None or not _is_function(there) or there.home in {before.home, after.home}:
        return None
    old, new = _read(before, pin), _read(there, tip)
    if old is None or new is None or old.total() < SMALL or share_kept(old, new) < _KEPT:
        return None
    return there.home


def name_only_call(node: ast.stmt | None) -> str | None:
    """The last name of what a function only calls; None where it does anything else."""
    called = _find_call(node) if node is not None else None
    return ast.unparse(called).rpartition(".")[2] if called is not None else None


def _is_function(symbol: Symbol) -> bool:
    definition = symbol.definition
    return definition is not None and definition.kind is DefinitionKind.FUNCTION and not symbol.is_implicit


def _find_call(node: ast.stmt) -> ast.expr | None:
    """What the only telling statement of a body calls; warnings and imports before it tell nothing."""
    body = strip_docstring(node.body) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    if not body or not all(isinstance(item, ast.Expr | ast.Import | ast.ImportFrom) for item in body[:-1]):
        return None
    match body[-1]:
        case ast.Return(value=ast.Call(func=callee)) | ast.Expr(value=ast.Call(func=callee)):
            return callee
        case ast.Return(value=ast.Await(value=ast.Call(func=callee))):
            return callee
    return None


def _resolve(called: ast.expr, node: ast.stmt, after: Symbol, tip: Resolver) -> str | None:
    """The dotted name of what is called: of a method of the same object, of a local import, of the module."""
    module, definition = after.module or "", after.definition
    match called:
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return f"{module}.{definition.owner}.{name}" if definition is not None and definition.owner else None
        case ast.Name(id=name):
            return _find_imported(name, node, module, tip) or tip.resolve_in(module, name).home
        case ast.Attribute(value=ast.Name(), attr=_):
            return tip.resolve_in(module, ast.unparse(called)).home
    return None


def _find_imported(name: str, node: ast.stmt, module: str, tip: Resolver) -> str | None:
    for item in node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ():
        for alias in item.names if isinstance(item, ast.ImportFrom) else ():
            if isinstance(item, ast.ImportFrom) and name == (alias.asname or alias.name):
                package = module in tip.index.entries and tip.index.entries[module].is_package
                source = absolute_name(module, package=package, level=item.level, name=item.module or "")
                return tip.resolve(f"{source}.{alias.name}").home if source is not None else None
    return None


def _read(symbol: Symbol, side: Resolver) -> Shingles | None:
    if symbol.module is None or symbol.definition is None:
        return None
    node = side.index.read_node(symbol.module, symbol.definition)
    return read_shingles(node) if node is not None else None
