"""What plain values do with one another, bounded: operators, comparisons, built-in functions and methods."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable
from typing import Any

from layline.campaign.project.values import UNKNOWN, has_unknown

MOST = 20_000
"""Elements of one value."""
LARGEST = 1 << 63
SEARCHED = 24
"""Characters of a text that a pattern of the project's is held against: a bad one takes time that doubles with each."""


class Refused(Exception):
    """Values that do not go together, or grow too large."""


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (int, float, str, bool, len, list, tuple, dict, set, sorted, min, max, sum, abs, any, all, round)
} | {
    "range": lambda *words: list(range(*words)) if len(range(*words)) <= MOST else UNKNOWN,
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "zip": lambda *rows: list(zip(*rows, strict=False)),
    "reversed": lambda items: list(reversed(items)),
    "re.search": lambda pattern, text: re.search(pattern, text) if len(text) <= SEARCHED else UNKNOWN,
    "os.path.join": posixpath.join,
    "os.path.dirname": posixpath.dirname,
    "os.path.abspath": lambda path: path,
}
_METHODS: dict[type, frozenset[str]] = {
    dict: frozenset({"items", "values", "keys", "get", "setdefault", "update", "pop", "copy"}),
    list: frozenset({"append", "extend", "insert", "copy", "index", "count"}),
    set: frozenset({"add", "update", "union"}),
    str: frozenset({"join", "split", "lower", "upper", "startswith", "endswith", "replace", "strip", "removesuffix"}),
    tuple: frozenset({"index", "count"}),
    re.Match: frozenset({"group"}),
}
_KEEPS = frozenset(
    {"append", "extend", "insert", "setdefault", "update", "get", "pop", "items", "values", "keys", "copy"}
)
"""Methods that do not look at what they are given, or at what is inside."""


def is_builtin(name: str) -> bool:
    return name in _FUNCTIONS or name in ("open", "print", "isinstance")


def combine(op: ast.operator, left: Any, right: Any) -> Any:
    if has_unknown(left) or has_unknown(right) or type(op) not in _OPERATORS:
        return UNKNOWN
    if isinstance(op, ast.Pow) and not (isinstance(right, int | float) and abs(right) <= 64):
        raise Refused
    for many, times in ((left, right), (right, left)):
        if isinstance(op, ast.Mult) and isinstance(many, str | list | tuple) and len(many) * abs(times) > MOST:
            raise Refused
    found = _try(_OPERATORS[type(op)], left, right)
    if isinstance(found, int) and abs(found) > LARGEST:
        raise Refused
    return found


def compare(op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(op, ast.In | ast.NotIn) and isinstance(right, dict | set):
        return UNKNOWN if has_unknown(left) else _try(_COMPARISONS[type(op)], left, right)
    if has_unknown(left) or has_unknown(right) or type(op) not in _COMPARISONS:
        return UNKNOWN
    return _try(_COMPARISONS[type(op)], left, right)


def call_builtin(name: str, given: list[Any], named: dict[str, Any]) -> Any:
    """Unknown where the function, or what it is given, is."""
    function = _FUNCTIONS.get(name)
    if function is None or (named.keys() - {"start", "reverse"}):
        return UNKNOWN
    if has_unknown(given) and name not in ("list", "tuple", "dict", "len", "enumerate", "zip", "reversed"):
        return UNKNOWN
    if any(not isinstance(one, str | int | float | list | tuple | dict | set | None) for one in given):
        return UNKNOWN
    return _try(lambda: function(*given, **named))


def call_method(owner: Any, name: str, given: list[Any], named: dict[str, Any]) -> Any:
    """A method of a plain value; one that is not listed is unknown."""
    if name not in _METHODS.get(type(owner), ()) or named:
        return UNKNOWN
    if has_unknown(given) and (name not in _KEEPS or (isinstance(owner, dict) and has_unknown(given[:1]))):
        return UNKNOWN
    if name in ("append", "insert", "extend") and len(owner) > MOST:
        raise Refused
    found = _try(lambda: getattr(owner, name)(*given))
    return list(found) if name in ("items", "values", "keys") else found


def _try(function: Callable[..., Any], *given: Any) -> Any:
    try:
        return function(*given)
    except (re.error, TypeError, ValueError, KeyError, IndexError, ZeroDivisionError, OverflowError, AttributeError):
        raise Refused from None
