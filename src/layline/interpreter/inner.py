"""The values that a value is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from layline.interpreter.values import (
    Called,
    Choice,
    Copied,
    Element,
    Instance,
    Items,
    Member,
    Partial,
    Table,
    Test,
    Value,
)


def walk(value: Value, stops: Callable[[Value], bool]) -> Iterator[Value]:
    """Every value inside, outermost first; not below one that `stops`, and each list or table once (they may be
    cyclic).
    """
    waiting, seen = [value], set()
    while waiting:
        found = waiting.pop(0)
        if isinstance(found, Items | Table):
            if id(found) in seen:
                continue
            seen.add(id(found))
        yield found
        if not stops(found):
            waiting[:0] = find_parts(found)


def find_parts(value: Value) -> tuple[Value, ...]:
    match value:
        case Choice(test=test, yes=yes, no=no):
            return (test, yes, no)
        case Test(operands=operands):
            return operands
        case (
            Called(callee=callee, arguments=arguments, keywords=keywords)
            | Partial(function=callee, arguments=arguments, keywords=keywords)
        ):
            return (callee, *arguments, *(item for _, item in keywords))
        case Member(owner=owner) | Copied(of=owner):
            return (owner,)
        case Element(owner=owner, key=key):
            return (owner, key)
        case Items(values=values):
            return tuple(values)
        case Table(entries=entries):
            return tuple(item for entry in entries for item in entry)
    return ()


def open_held(value: Value) -> Iterator[Value]:
    """What a callable can reach of what it was made with: an object's attributes, arguments of a call, each opened."""
    waiting: list[Value] = [value]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST_HELD:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        match found:
            case Instance(attributes=attributes):
                waiting.extend(attributes.values())
            case Called(arguments=arguments, keywords=keywords) | Partial(arguments=arguments, keywords=keywords):
                waiting.extend((*arguments, *(item for _, item in keywords)))
            case Choice(yes=yes, no=no):
                waiting.extend((yes, no))


_MOST_HELD = 40
