"""A crash names the line of the project that was being read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from layline.core.bugs import find_place, say_bug
from layline.core.evidence import Location


@dataclass
class Event:
    at: Location


Event.__module__ = "layline.interpreter.events"


def _fail() -> None:
    raise IndexError("list index out of range")


def _judge_line(where: Location) -> None:
    _fail()


def _judge_event(event: Event) -> None:
    _fail()


def _read_file(path: str, event: Event | None = None) -> None:
    if event is not None:
        _judge_event(event)
    _fail()


def _nest(outer: Location) -> None:
    _judge_line(Location("ours/inner.py", 4))


def _catch(function: Callable[..., None], *arguments: object) -> BaseException:
    with pytest.raises(IndexError) as caught:
        function(*arguments)
    return caught.value


@pytest.mark.parametrize(
    ("function", "arguments", "place"),
    [
        (_judge_line, (Location("ours/a.py", 7),), "ours/a.py:7"),
        (_judge_event, (Event(Location("ours/b.py", 9)),), "ours/b.py:9"),
        (_read_file, ("ours/c.py",), "ours/c.py"),
        (_read_file, ("ours/c.py", Event(Location("ours/d.py", 2))), "ours/d.py:2"),
        (_nest, (Location("ours/outer.py", 1),), "ours/inner.py:4"),
        (_read_file, ("ours/readme.txt",), None),
        (_fail, (), None),
    ],
)
def test_the_innermost_place_is_named(
    function: Callable[..., None], arguments: tuple[object, ...], place: str | None
) -> None:
    assert find_place(_catch(function, *arguments)) == place


def test_the_sentence_names_the_place_where_there_is_one() -> None:
    told = say_bug(_catch(_judge_line, Location("ours/a.py", 7)))
    assert told == "layline has a bug: IndexError: list index out of range, while reading ours/a.py:7 of the project"
    assert say_bug(_catch(_fail)) == "layline has a bug: IndexError: list index out of range"
