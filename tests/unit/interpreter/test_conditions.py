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


def test_a_try_is_taken_to_go_well() -> None:
    size = values.Choice(values.GOES_WELL, Argument("size"), values.NONE)
    assert simplify(values.Test("is not", (size, values.NONE))) == values.Test(
        "is not", (Argument("size"), values.NONE)
    )
    assert simplify(values.Choice(values.GOES_WELL, Argument("there"), values.FALSE)) == Argument("there")
    assert simplify(values.RAISES) == values.FALSE
