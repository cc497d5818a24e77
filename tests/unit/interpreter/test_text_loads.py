"""Which files are read for texts that name a module: every one that has such a text, and few others."""

from __future__ import annotations

import ast

import pytest

from layline.interpreter.callers.files import may_spell

SPELLS = [
    'load("own.a")',
    "load('own.a')",
    'load("""own.a""")',
    'load(r"own.a")',
    'load("own.a.make")',
    'load("own.a:make")',
    'load("" "own.a")',
    'load("\\\nown.a")',
    'load("own.a\\\n")',
    'load("\\\r\nown.a")',
    'load("own.a\\x2emake")',
]
DOES_NOT = ["import own.a", "from own.a import make", "# see own.a", 'load("down.a")', 'load("own.ab")', "own.a.make()"]


@pytest.mark.parametrize("text", SPELLS)
def test_a_text_that_names_the_module_is_looked_at(text: str) -> None:
    values = [str(node.value) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert any(value == "own.a" or value.startswith(("own.a.", "own.a:")) for value in values), "the row is right"
    assert may_spell(text.encode(), "own.a")


@pytest.mark.parametrize("text", DOES_NOT)
def test_a_file_without_such_a_text_is_left_alone(text: str) -> None:
    assert not may_spell(text.encode(), "own.a")
