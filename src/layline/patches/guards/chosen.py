"""A line that writes something of ours or nothing: `f = None; if fast: f = ours; m.f = f`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import AS_IT_WAS
from layline.interpreter.branches import split_value
from layline.interpreter.events import Write
from layline.interpreter.state import text_of
from layline.interpreter.values import (
    Called,
    Choice,
    Class,
    Function,
    Instance,
    Literal,
    Made,
    Member,
    Outside,
    Partial,
    Source,
    Value,
    find_alternatives,
    truth,
)

if TYPE_CHECKING:
    from layline.interpreter.events import Event


def tell_chosen(event: Event) -> Event:
    """The write of the something, on the tests that chose it."""
    if not isinstance(event, Write) or not isinstance(event.value, Choice) or event.is_item or event.restores:
        return event
    if isinstance(event.owner, Instance | Class | Function | Made) or not any(
        map(_is_code, find_alternatives(event.value))
    ):
        return event
    value, test, others = split_value(event.value, event.when, lambda found: _is_nothing(found, event))
    if not others or truth(test) is True:
        return event
    return replace(event, value=value, given=(test,), otherwise=tuple(others))


def say_otherwise(event: Event) -> str | None:
    """What the line writes where the tests do not hold."""
    others = getattr(event, "otherwise", ())
    if not others:
        return None
    said = ("None" if found == Literal(None) else AS_IT_WAS for found in others)
    return " or ".join(dict.fromkeys(said))


def _is_code(value: Value) -> bool:
    """Something that can be called, as far as the value shows; which data a line writes is no condition."""
    match value:
        case Function() | Class() | Partial() | Source():
            return True
        case Called(callee=Outside(path="types.MethodType")):
            return True
    return False


def _is_nothing(value: Value, event: Write) -> bool:
    """None, or what stood in the same place before."""
    name = text_of(event.name)
    match value, event.owner:
        case Literal(value=None), _:
            return True
        case Outside(path=path), Outside(path=owner):
            return path == f"{owner}.{name}"
        case Member(owner=holder, name=read), owner:
            return holder == owner and read == name
    return False
