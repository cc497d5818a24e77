"""Environment variables that choose a kernel's backend: what commands set, held against what the project's code names. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

CODE = (".py", ".c", ".cc", ".cpp", ".cu", ".h", ".hip", ".hpp")
_NAMED = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_BACKEND\b")
_SET = re.compile(r"(?:^|\s)([A-Z][A-Z0-9_]*_BACKEND)=")


def find_variables(files: Sequence[str], read: Callable[[str], str | None]) -> dict[str, str]:
    """Each that code of the tree names, by where it is named first."""
    found: dict[str, str] = {}
    for file in files:
        text = read(file) if file.endswith(CODE) else None
        for number, line in enumerate((text or "").splitlines(), 1) if text and "_BACKEND" in text else ():
            for name in _NAMED.findall(line):
                found.setdefault(name, f"{file}:{number}")
    return found


def find_unread(command: str, variables: Mapping[str, str]) -> tuple[str, dict[str, str]] | None:
    """A variable that a command sets and no code names, and those that code names beside it; None where code names none of
    its kind, for then it may put the name together.
    """
    for name in _SET.findall(command):
        kind = name.split("_")[0]
        beside = {other: where for other, where in variables.items() if other.startswith(f"{kind}_")}
        if beside and name not in variables:
            return name, beside
    return None
