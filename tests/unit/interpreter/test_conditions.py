"""What a condition is simplified to is remembered only where nothing in it can grow."""

from __future__ import annotations

from layline.interpreter import values
from layline.interpreter.conditions import simplify
from layline.interpreter.values import Argument, Items, Literal


def test_a_test_of_a_list_follows_the_list() -> None:
    known = Items([])
    test = values.Test("and", (values.Test("not", (known,)), Argument("ready")))
    assert simplify(test) == test
    known.values.append(Literal(1))
    assert simplify(test) == Literal(value=False)


def test_a_test_of_names_is_remembered() -> None:
    test = values.Test("and", (Argument("ready"), Argument("ready"), Argument("willing")))
    assert simplify(test) is simplify(test)
