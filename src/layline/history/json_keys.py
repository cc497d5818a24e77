"""Where the strings of a JSON text stand: keys with their lines, which `json` does not tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]')


class JsonString(NamedTuple):
    """A string value under its whole key (`deps.keel.ref`; items of a list count from 0)."""

    key: str
    line: int
    value: str


def find_strings(text: str) -> Iterator[JsonString]:
    """Every string value, in order; nothing where the text is no JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    path: list[str | int | None] = []
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{":
                path.append(None)
            case "[":
                path.append(0)
            case "}" | "]":
                path.pop()
            case ",":
                path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
            case string if path and path[-1] is None:
                path[-1] = json.loads(string)
            case string:
                key = ".".join(str(step) for step in path)
                yield JsonString(key, text.count("\n", 0, token.start()) + 1, json.loads(string))
