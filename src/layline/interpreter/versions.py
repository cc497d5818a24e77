"""What is the version of a package, and what a comparison with one asks.

`Version(x.__version__) >= Version("5.2")`, `parse(importlib.metadata.version("x")) < parse("5.2")` and
`release[:2] >= (5, 2)` become one condition, whoever read the test: the interpreter from its values
(`condition_reader`), or the syntax around a line of ours (`coupling.releases`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layline.core.condition import ALWAYS, NEVER, OPAQUE, Condition, need_version

NAMES = frozenset({"__version__", "VERSION", "version"})
METADATA = frozenset({"importlib.metadata.version", "importlib_metadata.version"})
OPERATORS = {
    "operator.ge": ">=",
    "operator.gt": ">",
    "operator.le": "<=",
    "operator.lt": "<",
    "operator.eq": "==",
    "operator.ne": "!=",
}
_PARSERS = frozenset({"Version", "parse", "parse_version", "LooseVersion", "StrictVersion", "str"})
_SAME = frozenset({"release", "base_version", "public", "split", "partition", "strip", "replace"})
"""Attributes of a version, or of its text, that a comparison reads as the version itself."""
_TURNED = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}


@dataclass(frozen=True, slots=True)
class Release:
    """The version of a package, by the name it is read from; `is_major`: its first number alone."""

    name: str
    is_major: bool = False
    is_parsed: bool = False
    """False: it is still a text."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value that is written down; of numbers in a row a tuple."""

    value: object
    is_parsed: bool = False
    """A version was made of the text."""


def find_release(path: str) -> Release | None:
    """`x.__version__` is the version of `x`."""
    package, _, last = path.rpartition(".")
    is_version = last in NAMES and path not in METADATA and package != "packaging"
    return Release(path) if package and is_version else None


def is_parser(path: str) -> bool:
    """True of a function that makes a version of its text."""
    return path.rpartition(".")[2] in _PARSERS


def parse(path: str, value: Release | Known) -> Release | Known:
    """What a function that makes a version of its text returns."""
    return replace(value, is_parsed=path.rpartition(".")[2] != "str")


def is_instance(value: Release | Known, kind: str) -> bool | None:
    """Whether a version is still a text, or was made a version: `isinstance(number, str)`."""
    if kind == "builtins.str":
        return not value.is_parsed and (isinstance(value, Release) or isinstance(value.value, str))
    return value.is_parsed if is_parser(kind) else None


def is_version(value: Release | Known | None) -> bool:
    """True of what can be compared with a version: "N/A" and None stand for a package that is not there."""
    return isinstance(value, Release) or (isinstance(value, Known) and _spell(value.value) is not None)


def read_attribute(release: Release, name: str) -> Release | None:
    if name == "major":
        return replace(release, is_major=True, is_parsed=True)
    return replace(release, is_parsed=name == "release") if name in _SAME else None


def compare(left: object, operator: str, right: object) -> Condition:
    """A version against what is written down; a literal against a version is turned round."""
    if isinstance(right, Release) and not isinstance(left, Release):
        return compare(right, _TURNED.get(operator, ""), left)
    if isinstance(left, Known) and isinstance(right, Known) and operator in {"==", "!="}:
        return ALWAYS if (left.value == right.value) is (operator == "==") else NEVER
    wanted = _spell(right.value) if isinstance(right, Known) else None
    if not isinstance(left, Release) or not isinstance(right, Known) or wanted is None or operator not in _TURNED:
        return OPAQUE
    is_whole = isinstance(right.value, str) and not left.is_major
    if not is_whole and operator not in {">=", "<"}:
        return OPAQUE  # `release[:2] > (5, 2)` asks for something else than the version 5.2
    return need_version(left.name, operator, wanted)


def _spell(value: object) -> str | None:
    match value:
        case str() if value[:1].isdigit():
            return value
        case bool():
            return None
        case int():
            return str(value)
        case tuple() if value:
            return ".".join(map(str, value))
    return None
