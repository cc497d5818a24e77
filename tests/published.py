"""Holds an answer against the schema that `layline schema` publishes for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema

from layline.app.schema import build_answer_schema, find_answers


def check_published(answer: Any) -> None:
    """Fails where an answer lacks a field, has another type, or has a field that nobody declared."""
    name = answer.get("schema") if isinstance(answer, dict) else None
    if name in find_answers():
        error = jsonschema.exceptions.best_match(_open_validator(name).iter_errors(answer))
        assert error is None, f"{name} at {error.json_path}: {error.message[:400]}"


@cache
def _open_validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(_close(build_answer_schema(name)))


def _close(node: Any) -> Any:
    """The published schema lets fields be added; here each must be declared."""
    match node:
        case {"properties": dict(), **rest} if "additionalProperties" not in rest:
            return {key: _close(value) for key, value in node.items()} | {"additionalProperties": False}
        case dict():
            return {key: _close(value) for key, value in node.items()}
        case list():
            return [_close(item) for item in node]
    return node
