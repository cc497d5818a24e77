"""The one call that a function hands its stars to, and decorators that do nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from layline.source.walking import walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """The one call that a function hands its keywords to, come what may."""

    call: ast.Call
    popped: frozenset[str]
    """Keywords that the function takes out before."""
    filled: frozenset[str]
    """Keywords that it may add."""


def find_forward(function: ast.FunctionDef | ast.AsyncFunctionDef, word: str) -> Forward | None:
    """None where the keywords may go elsewhere, too, or where some way through the function does not hand them on."""
    certain = [call for call in _find_certain(function.body) if any(_is_stars(one, word) for one in call.keywords)]
    if len(certain) != 1:
        return None
    popped: set[str] = set()
    filled: set[str] = set()
    known: set[int] = {id(one.value) for one in certain[0].keywords if _is_stars(one, word)}
    for item in walk(function):
        match item:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) as used, attr="pop" | "get" | "setdefault" as how),
                args=[ast.Constant(value=str(key)), *_],
            ) if name == word:
                {"pop": popped, "setdefault": filled}.get(how, set()).add(key)
                known.add(id(used))
            case ast.Subscript(value=ast.Name(id=name) as used, slice=ast.Constant(value=str(key))) if name == word:
                if not isinstance(item.ctx, ast.Load):
                    (filled if isinstance(item.ctx, ast.Store) else popped).add(key)
                known.add(id(used))
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) as used, attr="keys" | "items" | "values"), args=[]
            ) if name == word:
                known.add(id(used))
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name) as used]) if name == word:
                known.add(id(used))
    if any(isinstance(item, ast.Name) and item.id == word and id(item) not in known for item in walk(function)):
        return None
    return Forward(call=certain[0], popped=frozenset(popped), filled=frozenset(filled))


def _find_certain(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """Calls that are the whole of a statement which every run gets to, or fails before."""
    for statement in body:
        match statement:
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _find_certain(inner)
            case ast.Expr(value=value) | ast.Assign(value=value) | ast.Return(value=value):
                call = value.value if isinstance(value, ast.Await) else value
                if isinstance(call, ast.Call):
                    yield call
        if any(isinstance(item, ast.Return | ast.Yield | ast.YieldFrom) for item in walk(statement)):
            return


def _is_stars(given: ast.keyword, word: str) -> bool:
    return given.arg is None and isinstance(given.value, ast.Name) and given.value.id == word


def hands_all_on(decorator: ast.AST) -> bool:
    """True of a decorator that puts functions around what it is given which take whatever comes and always hand on just
    that: a call of what it makes binds as a call of what it is given.
    """
    inner = [item for item in walk(decorator) if isinstance(item, _FUNCTIONS) and item is not decorator]
    around = [item for item in inner if item.args.vararg is not None and item.args.kwarg is not None]
    given = {item.arg for one in (decorator, *inner) if isinstance(one, _FUNCTIONS) for item in one.args.args}
    return bool(around) and all(_hands_on(item, given) for item in around)


def _hands_on(function: ast.FunctionDef | ast.AsyncFunctionDef, given: set[str]) -> bool:
    taken = function.args
    if taken.vararg is None or taken.kwarg is None or taken.args or taken.posonlyargs or taken.kwonlyargs:
        return False
    forward = find_forward(function, taken.kwarg.arg)
    if forward is None or forward.popped or forward.filled:
        return False
    match forward.call:
        case ast.Call(func=ast.Name(id=called), args=[ast.Starred(value=ast.Name(id=stars))], keywords=[_]):
            return called in given and stars == taken.vararg.arg
    return False
