"""What a condition is simplified to is remembered only where nothing in it can grow."""

from __future__ import annotations

import gc
from pathlib import Path

from layline.interpreter import values
from layline.interpreter.conditions import simplify
from layline.interpreter.modules import Module
from layline.interpreter.values import Argument, Items, Literal
from layline.patches.inventory.read import read_inventory
from snippets import handler, open_reading


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


def test_what_was_read_goes_with_its_reading(tmp_path: Path) -> None:
    """What conditions became stands for functions, these for their modules and syntax trees."""
    body = "import up.a\ndef new(x):\n    return x\nif new in get_args(ctx).fast:\n    up.a.f = new"
    reading = open_reading(tmp_path, {"own/patches/held_by_none_patches.py": handler(body)})
    [patch] = read_inventory(reading, "up").patches
    assert patch.effects[0].target == "up.a.f"
    del reading
    gc.collect()
    held = {one.name for one in gc.get_objects() if isinstance(one, Module)}
    assert "own.patches.held_by_none_patches" not in held
