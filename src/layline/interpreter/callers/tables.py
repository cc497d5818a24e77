"""A function of ours in a table, `TABLE = {"a": f}`, and the places that call what the table holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.interpreter.line_tests import find_body
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.interpreter.callers.uses import File, Use

_TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set)
_KEYS = (ast.Constant, ast.Name, ast.Attribute)


def find_table(use: Use, file: File) -> str | None:
    """The name of the top level that is bound to a literal which holds the use, or whose item it becomes."""
    if use.place.node is not None:
        return None
    for statement in file.module.body:
        if not statement.lineno <= use.node.lineno <= (statement.end_lineno or statement.lineno):
            continue
        for node in walk(statement):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=value)
                ) if isinstance(value, _TABLES) and _holds(value, use.node):
                    return name
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))], value=value) if value is use.node:
                    return name
    return None


def find_keys(use: Use, file: File) -> tuple[str, ...]:
    """The keys, as they are written, under which a literal of the top level holds the use."""
    for statement in file.module.body:
        if statement.lineno <= use.node.lineno <= (statement.end_lineno or statement.lineno):
            tables = (node for node in walk(statement) if isinstance(node, ast.Dict))
            pairs = (pair for table in tables for pair in zip(table.keys, table.values, strict=True))
            return tuple(ast.unparse(key) for key, value in pairs if isinstance(key, _KEYS) and value is use.node)
    return ()


def find_asked(table: Use, file: File) -> str:
    """What a table is asked for where a call takes from it: `key` in `TABLE[key]()`; empty where it is looped over."""
    place = table.place.node
    for statement in file.module.body if place is None else find_body(place):
        for node in walk(statement) if _holds(statement, table.node) else ():
            match node:
                case ast.Subscript(value=value, slice=asked) if value is table.node:
                    return ast.unparse(asked)
                case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[asked, *_]) if value is table.node:
                    return ast.unparse(asked)
    return ""


def find_table_calls(table: Use, file: File) -> Iterator[tuple[ast.expr, bool]]:
    """Where a use of a table calls what it holds; where that cannot be seen, the use itself, which hands it on."""
    place = table.place.node
    body = file.module.body if place is None else find_body(place)
    for statement in body:
        if not statement.lineno <= table.node.lineno <= (statement.end_lineno or statement.lineno):
            continue
        found = _find_flow(statement, table.node)
        if found is None:
            return
        names, where = found
        calls = [
            node
            for item in where or body
            for node in walk(item)
            if isinstance(node, ast.Call) and _calls(node, names, table.node)
        ]
        yield from ((call, True) for call in calls)
        if not calls:
            yield table.node, False
        return
    yield table.node, False


def _find_flow(statement: ast.stmt, table: ast.expr) -> tuple[set[str], list[ast.AST]] | None:
    """The names that receive what a table holds, and where they mean that (nothing: in the whole body); None where only
    its keys are asked for.
    """
    for node in walk(statement):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[asked]) if _holds(asked, table):
                return None
            case ast.Attribute(value=value, attr=_, ctx=ast.Load()) if value is table and node.attr == "keys":
                return None
    flow: tuple[set[str], list[ast.AST]] = set(), [statement]
    for node in walk(statement):
        match node:
            case ast.For(target=target, iter=looped, body=body) | ast.AsyncFor(target=target, iter=looped, body=body):
                flow = (_names(target), list(body)) if _holds(looped, table) else flow
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                for one in node.generators:
                    flow = (_names(one.target), [node]) if _holds(one.iter, table) else flow
            case ast.Assign(targets=targets, value=value) if _holds(value, table):
                flow = {name for target in targets for name in _names(target)}, []
            case ast.NamedExpr(target=target, value=value) if _holds(value, table):
                flow = _names(target), []
    return flow


def _calls(node: ast.Call, names: set[str], table: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in names:
            return True
        case ast.Call(func=ast.Subscript(value=value)) | ast.Call(func=ast.Call(func=ast.Attribute(value=value))):
            return value is table
    return False


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in walk(target) if isinstance(node, ast.Name)}


def _holds(around: ast.AST, wanted: ast.AST) -> bool:
    return any(node is wanted for node in walk(around))
