"""Path patterns: `*` matches across folders, `dir/**` everything below, the first class that matches wins."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping


class Classes:
    """Names with path patterns, in order."""

    def __init__(self, patterns: Mapping[str, tuple[str, ...]], rest: str) -> None:
        self.rest = rest
        self._compiled = [
            (name, re.compile("|".join(_translate(one) for one in listed)))
            for name, listed in patterns.items()
            if listed
        ]
        self._known: dict[str, str] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return (*(name for name, _ in self._compiled), self.rest)

    def of(self, path: str) -> str:
        found = self._known.get(path)
        if found is None:  # a history names the same files again and again
            found = next((name for name, pattern in self._compiled if pattern.match(path)), self.rest)
            self._known[path] = found
        return found


def _translate(pattern: str) -> str:
    """`**/x` also matches at the root, and `x/**` whatever stands below."""
    if pattern.startswith("**/"):
        return "(?:.*/)?" + fnmatch.translate(pattern[3:])
    return fnmatch.translate(pattern)
