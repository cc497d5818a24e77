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
        "def mine(\n    x,\n    y=1,  # kept\n    keep=None,\n):\n    return original(\n        x,\n        y=y,\n        keep=keep,\n    )\n",
    ),
    (
        "twice, and behind a function of its own",
        "def mine(x):\n    def inner(y):\n        return y\n    original(x)\n    return original(inner(x))\n",
        1,
        (
            "def mine(x, keep=None):\n    def inner(y):\n        return y\n    original(x, keep=keep)\n"
            "    return original(inner(x), keep=keep)\n"
        ),
    ),
    (
        "on each path",
        "def mine(x):\n    if x:\n        return original(x)\n    log(x)\n    return original(0)\n",
        1,
        (
            "def mine(x, keep=None):\n    if x:\n        return original(x, keep=keep)\n    log(x)\n"
            "    return original(0, keep=keep)\n"
        ),
    ),
    (
        "nothing to do on the other path",
        "def mine(x):\n    if x > limit():\n        log(f'{x}')\n        return\n    return original(x)\n",
        1,
        (
            "def mine(x, keep=None):\n    if x > limit():\n        log(f'{x}')\n        return\n"
            "    return original(x, keep=keep)\n"
        ),
    ),
    (
        "refused on the other path",
        "def mine(x):\n    if not x:\n        raise ValueError(x)\n    original(x)\n",
        1,
        "def mine(x, keep=None):\n    if not x:\n        raise ValueError(x)\n    original(x, keep=keep)\n",
    ),
    (
        "a plain value where it fails",
        "def mine(x):\n    try:\n        return original(x)\n    except KeyError:\n        return 0, 0\n",
        1,
        (
            "def mine(x, keep=None):\n    try:\n        return original(x, keep=keep)\n    except KeyError:\n"
            "        return 0, 0\n"
        ),
    ),
    (
        "each comment stays where it is",
        "def mine(\n    x,  # one\n    y=1,  # two\n):\n    return original(\n        x,  # a\n        y  # b\n    )\n",
        1,
        "def mine(\n    x,  # one\n    y=1,  # two\n    keep=None,\n):\n    return original(\n        x,  # a\n        y,  # b\n        keep=keep\n    )\n",
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
    (
        "work of its own on a path",
        "def mine(x):\n    if x:\n        return original(x)\n    return own(x)\n",
        1,
        "None",
    ),
    (
        "work of its own, then a plain value",
        "def mine(x):\n    if x:\n        own(x)\n        return 1\n    original(x)\n",
        1,
        "None",
    ),
    ("in a loop that may not run", "def mine(x):\n    own(x)\n    for y in x:\n        original(y)\n", 1, "None"),
    ("called later", "def mine(x):\n    return lambda: original(x)\n", 1, "None"),
    ("in a conditional expression", "def mine(x):\n    return original(x) if x else 1\n", 1, "None"),
    ("it takes everything", "def mine(x, **more):\n    return original(x, **more)\n", 1, "None"),
    ("stars hide what is passed", "def mine(x):\n    return original(*x)\n", 1, "None"),
    ("it takes it already", "def mine(x, keep=1):\n    return original(x)\n", 1, "None"),
    ("a default that must be computed", "def mine(x):\n    return original(x)\n", 1, "Policy.LAST"),
    ("past its own class", "class A(B):\n    def f(self):\n        return super(B, self).f()\n", 2, "None"),
    ("another line", "def mine(x):\n    return original(x)\n", 2, "None"),
    ("another method of super", "class A(B):\n    def f(self):\n        return super().g()\n", 2, "None"),
]


@pytest.mark.parametrize(("before", "line", "after"), [row[1:] for row in PASSES], ids=[row[0] for row in PASSES])
def test_it_is_taken_and_handed_on(before: str, line: int, after: str) -> None:
    assert pass_parameter(before, line, "keep", "None", {"original"}) == after


@pytest.mark.parametrize(("text", "line", "default"), [row[1:] for row in LEAVES], ids=[row[0] for row in LEAVES])
def test_what_it_means_is_for_a_person(text: str, line: int, default: str) -> None:
    assert pass_parameter(text, line, "keep", default, {"original"}) is None
