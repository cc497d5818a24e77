"""Whether a wrapper calls the original however it is run, or only in some of its branches."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from layline.source.walking import find_children

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def calls_sometimes(node: ast.AST, originals: frozenset[str]) -> bool:
    """True if the function calls one of these names, and can return without having done so."""
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not any(_calls(item, originals) for item in body):
        return False
    return not _covers(body, originals)


def _covers(body: Sequence[ast.stmt], originals: frozenset[str]) -> bool:
    """True if every way through the statements calls the original before it leaves the function."""
    for item in body:
        match item:
            case ast.If(test=test, body=then, orelse=other):
                if _calls(test, originals) or (_covers(then, originals) and _covers(other, originals)):
                    return True
                if any(_leaves(part) and not _covers(part, originals) for part in (then, other)):
                    return False
            case ast.With(body=inner) | ast.AsyncWith(body=inner) | ast.Try(body=inner):
                if _covers(inner, originals):
                    return True
                if _leaves(inner):
                    return False
            case ast.Raise():
                return True
            case ast.Return():
                return _calls(item, originals)
            case ast.For() | ast.While() | ast.AsyncFor():
                continue
            case _ if _calls(item, originals):
                return True
    return False


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """True if the statements end by returning."""
    return bool(body) and any(isinstance(item, ast.Return) for item in body)


def _calls(node: ast.AST, originals: frozenset[str]) -> bool:
    """True if the node hands one of the names a call, functions in it aside."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id in originals:
            return True
        if not isinstance(item, _FUNCTIONS):
            todo += find_children(item)
    return False
