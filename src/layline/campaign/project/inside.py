"""What a function that measures does inside: which errors it computes, and what it draws evenly. Read, not run."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors that the benchmark computes by calls of one function, in this order."""

    function: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evenness:
    """A call that a keyword makes draw evenly, where the keyword is written down as True or False."""

    function: str
    keyword: str
    value: bool
    line: int


def find_errors(tree: ast.Module, ran: Iterable[ast.AST], columns: Collection[str]) -> Errors | None:
    """Of a function that is run: names that are columns of the table, each bound to a call of the same function."""
    used = {one.id for node in ran for one in ast.walk(node) if isinstance(one, ast.Name)}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name not in used:
            continue
        made = [
            (one.lineno, one.targets[0].id, one.value.func.id)
            for one in ast.walk(node)
            if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name)
            and isinstance(one.value, ast.Call)
            and isinstance(one.value.func, ast.Name)
            and one.targets[0].id in columns
        ]
        functions = {function for _line, _name, function in made}
        if len(functions) == 1:
            return Errors(functions.pop(), tuple(name for _line, name, _function in sorted(made)))
    return None


def find_evenness(ran: Iterable[ast.AST], groups: Collection[str]) -> Evenness | None:
    """A call that is given the number of groups, and one keyword that is True or False."""
    for node in (one for each in ran for one in ast.walk(each)):
        match node:
            case ast.Call(
                func=ast.Name(id=function),
                args=[*given],
                keywords=[ast.keyword(arg=str() as word, value=ast.Constant(value=bool() as value))],
            ) if any(isinstance(one, ast.Name) and one.id in groups for one in given):
                return Evenness(function, word, value, node.lineno)
    return None
