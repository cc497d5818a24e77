"""Whether a version of a file binds a name, told from its text where that can be done."""

from __future__ import annotations

import pytest

from layline.source import Module, parse_module
from layline.source.slices import binds

CASES = [
    # text, name, bound
    ("def f(): pass\n", "f", True),
    ("from m import f\n", "f", True),
    ("from m import g as f\n", "f", True),
    ("from m import *\n", "f", True),
    ("from m import \\\n    *\n", "f", True),
    ("x = a * b\n", "f", False),
    ("def g(*args, **kwargs): pass\n", "f", False),
    ("y = f(1) * 2\n", "f", False),
    ("def g():\n    from m import f\n", "f", False),
    ("for f in range(3): pass\n", "f", True),
    ("", "f", False),
]


@pytest.mark.parametrize(("text", "name", "bound"), CASES, ids=[text.strip() or "empty" for text, _, _ in CASES])
def test_a_star_that_multiplies_is_no_import(text: str, name: str, bound: bool) -> None:
    assert binds(text, name) is bound


@pytest.mark.parametrize(("text", "name", "bound"), CASES[:-1], ids=[text.strip() for text, _, _ in CASES[:-1]])
def test_the_short_way_agrees_with_parsing_the_whole_file(text: str, name: str, bound: bool) -> None:
    module = parse_module("", text.encode())
    assert isinstance(module, Module)
    imports = module.bound_imports
    assert bound is (name in imports or "*" in imports or bool(module.find(name)))
