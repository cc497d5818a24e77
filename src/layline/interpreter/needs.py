"""What a test needs in a few words; of a long one about a version, which package it compares with what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layline.interpreter.inner import walk
from layline.interpreter.values import Called, Literal, Outside, Test, Value
from layline.interpreter.versions import METADATA

_LONGEST = 200
"""A need told in more characters is shortened."""
_VERSION = re.compile(r"version|_min_|_ge_|_below|_above|packaging", re.IGNORECASE)
_PLATFORM = re.compile(
    r"cuda|rocm|gpu|device|platform|sys\.version_info|is_available|(?<![a-z])(?:hip|xpu|npu|arch)(?![a-z])",
    re.IGNORECASE,
)
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def say_need(value: Value, name: str, shown: str) -> str:
    """What a test reads, and the test; where that is too long the version that it compares, else what it reads."""
    said = name if shown in name else f"{name} ({shown})"
    if len(said) <= _LONGEST:
        return said
    match value:
        case Test(operator=operator, operands=(left, right)) if operator in _COMPARISONS:
            package = next(_find_packages(left), None)
            wanted = next((item.value for item in walk(right, _no) if isinstance(item, Literal)), None)
            if package is not None and isinstance(wanted, str):
                return f"version:{package} {operator} {wanted}"
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def _find_packages(value: Value) -> Iterator[str]:
    """Whose version a value is made of."""
    for item in walk(value, _no):
        match item:
            case Called(callee=Outside(path=path), arguments=(asked, *_)) if path in METADATA:
                named = (one.value for one in walk(asked, _no) if isinstance(one, Literal))
                yield from (name for name in named if isinstance(name, str))
            case Outside(path=path) if path.endswith(".__version__"):
                yield path.removesuffix(".__version__")


def _no(_: Value) -> bool:
    return False


def classify(path: str) -> str:
    """What kind of thing is asked for, by the words of its path."""
    if _VERSION.search(path):
        return "version"
    return "platform" if _PLATFORM.search(path) else "call"
