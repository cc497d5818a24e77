"""Which of several values that one line may write are told by name."""

from __future__ import annotations

from layline.interpreter.values import (
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


def find_named(value: Value | None) -> list[Value]:
    """Those that have a name, without stand-ins for what cannot be imported."""
    every = [] if value is None else find_alternatives(value)
    return [found for found in every if isinstance(found, NAMED_VALUES) and not _stands_in(found, value)]


def _stands_in(found: Value, value: Value | None) -> bool:
    """An object of ours that is only there where an import failed."""
    match value:
        case Choice(test=Test(operator="importable"), no=no) if isinstance(found, Instance):
            return any(found is other for other in find_alternatives(no))
    return False
