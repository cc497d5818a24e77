"""A new optional parameter that our wrapper takes and hands on, and functions where nobody can say what it means."""

from __future__ import annotations

import pytest

from layline.upgrade.parameters import pass_parameter

PASSES = [
    (
        "override",
        "class Own(Ship):\n    def sail(self, x):  # why\n        return super().sail(x) + 1\n",
        2,
        "class Own(Ship):\n    def sail(self, x, keep=None):  # why\n        return super().sail(x, keep=keep) + 1\n",
    ),
    (
        "wrapper",
        "def install():\n    def mine(x, *, y=1):\n        return original(x, y=y)\n    m.f = mine\n",
        2,
        "def install():\n    def mine(x, *, y=1, keep=None):\n        return original(x, y=y, keep=keep)\n    m.f = mine\n",
    ),
    (
        "over several lines",
        "def mine(\n    x,\n    y=1,  # kept\n):\n    return original(\n        x,\n        y=y,\n    )\n",
        1,
        "def mine(\n    x,\n    y=1,\n    keep=None,  # kept\n):\n    return original(\n        x,\n        y=y,\n        keep=keep,\n    )\n",
    ),
    (
        "nothing yet",
        "def mine():\n    return original()\n",
        1,
        "def mine(keep=None):\n    return original(keep=keep)\n",
    ),
]
LEAVES = [
    ("a copy calls nothing", "def mine(x):\n    return x\n", 1, "None"),
    ("on one path only", "def mine(x):\n    if x:\n        return original(x)\n    return 1\n", 1, "None"),
    ("after an early return", "def mine(x):\n    if x:\n        return 1\n    return original(x)\n", 1, "None"),
    ("in a conditional expression", "def mine(x):\n    return original(x) if x else 1\n", 1, "None"),
    ("two calls", "def mine(x):\n    original(x)\n    return original(x)\n", 1, "None"),
    ("it takes everything", "def mine(x, **more):\n    return original(x, **more)\n", 1, "None"),
    ("stars hide what is passed", "def mine(x):\n    return original(*x)\n", 1, "None"),
    ("it takes it already", "def mine(x, keep=1):\n    return original(x)\n", 1, "None"),
    ("a default that must be computed", "def mine(x):\n    return original(x)\n", 1, "Policy.LAST"),
    ("another line", "def mine(x):\n    return original(x)\n", 2, "None"),
    ("another method of super", "class A(B):\n    def f(self):\n        return super().g()\n", 2, "None"),
]


@pytest.mark.parametrize(("before", "line", "after"), [row[1:] for row in PASSES], ids=[row[0] for row in PASSES])
def test_it_is_taken_and_handed_on(before: str, line: int, after: str) -> None:
    assert pass_parameter(before, line, "keep", "None", {"original"}) == after


@pytest.mark.parametrize(("text", "line", "default"), [row[1:] for row in LEAVES], ids=[row[0] for row in LEAVES])
def test_what_it_means_is_for_a_person(text: str, line: int, default: str) -> None:
    assert pass_parameter(text, line, "keep", default, {"original"}) is None
