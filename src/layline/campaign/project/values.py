"""Values of a program that is read and not run: plain ones, functions of the project, and what only a run knows."""

from __future__ import annotations

import ast
from collections import ChainMap
from dataclasses import dataclass, field
from typing import Any


class Unknown:
    """What only a run knows; all that is done with it is unknown, too."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """A file of the project and the names that it binds."""

    path: str
    names: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    """One of the project's, with the names it sees."""

    node: ast.FunctionDef
    module: Module
    names: ChainMap[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What `parse_args` gives: each option by name."""

    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """An open file of the project."""

    text: str


@dataclass(frozen=True, slots=True)
class Library:
    """A module or function of the standard library, by its dotted name."""

    name: str


def has_unknown(value: object) -> bool:
    """Whether anything in it is known to a run alone."""
    match value:
        case Unknown() | Function() | Library():
            return True
        case list() | tuple() | set() | frozenset():
            return any(has_unknown(one) for one in value)
        case dict():
            return any(has_unknown(one) for one in (*value.keys(), *value.values()))
    return False
