"""Which of several values that one line may write are told by name."""

from __future__ import annotations

from layline.interpreter.values import (
    NONE,
    Called,
    Choice,
    Class,
    Function,
    Instance,
    Member,
    Outside,
    Partial,
    Test,
    Value,
    find_alternatives,
)

NAMED_VALUES = (Function, Class, Partial, Outside, Called, Member, Instance)


def find_told(value: Value | None) -> list[Value]:
    """All of them but None, and without stand-ins for what cannot be imported where anything else is left."""
    every = [] if value is None else [one for one in find_alternatives(value) if one != NONE and not _raises(one)]
    return [found for found in every if not _stands_in(found, value)] or every


def find_named(value: Value | None) -> list[Value]:
    """Those that have a name."""
    return [found for found in find_told(value) if isinstance(found, NAMED_VALUES)]


def _raises(value: Value) -> bool:
    """A call of the `None` that stands for a name where its import failed."""
    return isinstance(value, Called) and value.callee == NONE


def _stands_in(found: Value, value: Value | None) -> bool:
    """An object of ours that is only there where an import failed."""
    match value:
        case Choice(test=Test(operator="importable"), no=no) if isinstance(found, Instance):
            return any(found is other for other in find_alternatives(no))
    return False
