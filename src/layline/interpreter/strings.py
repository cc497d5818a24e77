"""Constant folding of text, numbers and sequences."""

from __future__ import annotations

import ast
import re
from typing import Any

from layline.interpreter.values import (
    EACH,
    LEFT_OUT,
    Called,
    Choice,
    Element,
    Items,
    Literal,
    Member,
    Outside,
    Source,
    Unknown,
    Value,
)

_MOST_TEXT = 2_000
"""Longer texts are not folded: the code we read is hostile, and `replace` can make a text grow without end."""
_PLAIN_PERCENT = re.compile(r"%[sdr%]")
_ESCAPED = re.compile(r"\\([^\w\s])")
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_PLAIN_FORMAT = re.compile(r"\{\w*\}")
_TEXT_METHODS = frozenset(
    [
        "capitalize",
        "casefold",
        "endswith",
        "format",
        "join",
        "lower",
        "lstrip",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "title",
        "upper",
        "isdigit",
    ]
)


def show_constant(value: Value) -> str | None:
    """How a constant reads inside an f-string."""
    return str(value.value) if isinstance(value, Literal) else None


def fold_operation(operator: ast.operator, left: Value, right: Value) -> Value:
    """`left operator right` where both are constants or sequences we know."""
    match operator, left, right:
        case ast.Add(), Literal(value=str(a)), Literal(value=str(b)) if len(a) + len(b) < _MOST_TEXT:
            return Literal(a + b)
        case ast.Add(), Items(values=a, whole=wa), Items(values=b, whole=wb):
            return Items([*a, *b], whole=wa and wb)
        case ast.Add(), Items(values=a), Called():
            return Items([*a, Element(right, EACH)], whole=False)
        case ast.BitOr(), Items(values=a, whole=wa), Items(values=b, whole=wb):
            return Items([*a, *b], whole=wa and wb)
        case (ast.BitOr(), Items(values=a), Called() as other) | (ast.BitOr(), Called() as other, Items(values=a)):
            return Items([*a, Element(other, EACH)], whole=False)
        case ast.Sub(), Items(values=a, whole=True), Items(values=b, whole=True) if _are_constants([*a, *b]):
            return Items([item for item in a if _open(item) not in map(_open, b)])
        case (ast.Add(), Items(), Choice(test=test, yes=Items() as yes, no=Items() as no)):
            return Choice(test, fold_operation(operator, left, yes), fold_operation(operator, left, no))
        case ast.Mod(), Literal(value=str(a)), _:
            return _fold_percent(a, right)
        case ((ast.Add() | ast.Sub() | ast.Mult()), Literal(value=int(x)), Literal(value=int(y))):
            return Literal(
                x + y if isinstance(operator, ast.Add) else x - y if isinstance(operator, ast.Sub) else x * y
            )
        case (ast.Add(), Source() as source, _) | (ast.Add(), _, Source() as source):
            return edit_source(source)
    return Called(Outside(f"operator.{type(operator).__name__.lower()}"), (left, right))


def _are_constants(items: list[Value]) -> bool:
    return all(isinstance(_open(item), Literal) for item in items)


def _open(item: Value) -> Value:
    """An item without the test that it is there on."""
    return item.yes if isinstance(item, Choice) and item.no == LEFT_OUT else item


def _fold_percent(template: str, right: Value) -> Value:
    values = right.values if isinstance(right, Items) else [right]
    if "%" in _PLAIN_PERCENT.sub("", template) or len(template) > _MOST_TEXT:
        return Unknown(f"the text {template!r}")
    constants = [value.value for value in values if isinstance(value, Literal)]
    if len(constants) != len(values):
        return Unknown(f"the text {template!r}")
    try:
        return Literal(template % tuple(constants))
    except (TypeError, ValueError):
        return Unknown(f"the text {template!r}")


def call_text_method(text: str, method: str, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
    """A method of a constant text with constant arguments; None where it cannot be computed."""
    if method == "join" and arguments and isinstance(arguments[0], Items):  # the lines of a source, put together again
        for item in arguments[0].values:
            if isinstance(item, Source):
                return edit_source(item)
    if method not in _TEXT_METHODS or len(text) > _MOST_TEXT:
        return None
    if method == "format" and ("{" in _PLAIN_FORMAT.sub("", text) or "}" in _PLAIN_FORMAT.sub("", text)):
        return None
    plain = [_plain(argument) for argument in arguments]
    named = {name: _plain(value) for name, value in keywords.items()}
    if any(value is _CANNOT or len(str(value)) > _MOST_TEXT for value in (*plain, *named.values())):
        return None
    try:
        result = getattr(text, method)(*plain, **named)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    if isinstance(result, (list, tuple)):
        return Items([Literal(item) for item in result])
    return Literal(result) if not isinstance(result, str) or len(result) < _MOST_TEXT else None


_CANNOT = object()


def _plain(value: Value) -> Any:
    match value:
        case Literal(value=constant):
            return constant
        case Items(values=values, whole=True):
            inner = [_plain(item) for item in values]
            return _CANNOT if _CANNOT in inner else tuple(inner) if inner else inner
    return _CANNOT


def rewrite_source(source: Source, method: str, arguments: list[Value]) -> Value:
    """A text method on upstream source: what it looks for is an anchor of the rewrite."""
    if method in {"replace", "index", "find", "split", "partition", "count", "startswith", "removeprefix"}:
        anchor, written = ([_text(argument) for argument in arguments[:2]] + [None, None])[:2]
        return edit_source(source, anchor, written if method == "replace" else None)
    return edit_source(source) if method != "__class__" else Member(source, method)


def _text(value: Value) -> str | None:
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None


def edit_source(source: Source, anchor: str | None = None, written: str | None = None) -> Source:
    """The source after one edit: what was looked for, and what was put in its place."""
    anchors = (*source.anchors, anchor) if anchor else source.anchors
    return Source(source.of, anchors, (*source.written, written) if written else source.written)


def read_pattern(pattern: str | None) -> str | None:
    """The text that a regular expression stands for, where it stands for one."""
    plain = _ESCAPED.sub(r"\1", pattern or "")
    return plain if pattern and not _SPECIAL.search(_ESCAPED.sub("", pattern)) else None


def find_defining(executed: list[Value], name: str) -> Source | None:
    """The executed source, the last first, that defines a name: it is of an object so called, or an edit writes it."""
    for source in reversed(executed):
        if isinstance(source, Source) and (_name_of(source.of) == name or any(name in text for text in source.written)):
            return source
    return None


def _name_of(value: Value) -> str | None:
    match value:
        case Outside(path=path):
            return path.rpartition(".")[2]
        case Member(name=name):
            return name
    return None
