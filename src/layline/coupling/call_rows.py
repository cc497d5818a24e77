"""Calls as rows that are kept."""

from __future__ import annotations

import ast
from typing import Any, TypeAlias

from layline.change.binding import CallShape, read_call

Call: TypeAlias = tuple[ast.Call, int | None, frozenset[str]]
"""A call, into how many names its result is taken, and the keywords that are not for what is called."""


def encode_call(call: Call | None) -> list[Any] | None:
    if call is None:
        return None
    node, taken, aside = call
    shape = read_call(node)
    words = [word for word in shape.keywords if word not in aside]
    names = [_name_given(item) for item in node.args if not shape.has_star]
    return [
        shape.positional,
        words,
        int(shape.has_star),
        int(shape.has_double_star),
        taken,
        names if any(names) else [],
    ]


def _name_given(value: ast.expr) -> str:
    """What a value that is passed is called: a variable, or an attribute by its last word."""
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def decode_call(row: list[Any] | None) -> CallShape | None:
    if row is None:
        return None
    positional, keywords, star, double, taken, names = row
    return CallShape(
        positional=positional,
        keywords=tuple(keywords),
        has_star=bool(star),
        has_double_star=bool(double),
        taken=taken,
        names=tuple(names),
    )
