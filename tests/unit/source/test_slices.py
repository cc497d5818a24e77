"""Whether a version of a file binds a name, told from its text where that can be done."""

from __future__ import annotations

import pytest

from layline.source import Module, parse_module
from layline.source.slices import binds, find_statements

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


STATEMENTS = [
    ("a = 1\nb = f(a)\nc = 2\n", ["b = f(a)\n"]),
    ("@f(\n    1,\n)\n@g\ndef h():\n    pass\nx = 1\n", ["@f(\n    1,\n)\n@g\ndef h():\n    pass\n"]),
    (
        "try:\n    f()\nexcept E:\n    f()\nelse:\n    pass\nx = 1\n",
        ["try:\n    f()\nexcept E:\n    f()\nelse:\n    pass\n"],
    ),
    ("if a:\n    b\n# f\nelif c:\n    d\nelses = 1\n", ["if a:\n    b\n# f\nelif c:\n    d\n"]),
    ("x = '''\nnot f\n'''\ny = 1\n", ["x = '''\nnot f\n'''\n"]),
    ("x = 1\nreturned = f", ["returned = f"]),
    ("x = 1\n", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "found"), STATEMENTS)
def test_statements_that_hold_a_word_are_cut_out_whole(text: str, found: list[str]) -> None:
    assert list(find_statements(text, "f")) == found
