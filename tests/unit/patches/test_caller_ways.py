"""On which conditions the calls that lead to an effect are made: tables, several callers, callers of callers."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_condition
from snippets import read_files

BOOT = "def _put():\n    import up.a as m\n    m.f = print\n"
TABLE = "TABLE = {'a': _put}\n"
LONG = " and ".join(f"a_rather_long_name_of_a_test_{number}" for number in range(9))
WAYS: list[tuple[str, str, str, tuple[str, ...]]] = [
    # what it shows, the rest of the file, when it applies, called from
    (
        "a table that is looped over",
        f"{TABLE}def go(fast):\n    if fast:\n        for name, one in TABLE.items():\n            one()\n",
        "in the caller go: fast",
        ("own/boot.py:4 (passed as a value)", "own/boot.py:8 (through TABLE)"),
    ),
    (
        "a table that is asked for one",
        f"{TABLE}def go(key):\n    if key in TABLE:\n        TABLE[key]()\n",
        "in the caller go: key == 'a'",
        ("own/boot.py:4 (passed as a value)", "own/boot.py:7 (through TABLE)"),
    ),
    (
        "a table whose function is taken first",
        f"{TABLE}def go(key):\n    one = TABLE.get(key)\n    if one is not None:\n        one()\n",
        "in the caller go: key == 'a' and one is not None",
        ("own/boot.py:4 (passed as a value)", "own/boot.py:8 (through TABLE)"),
    ),
    (
        "a table that holds it twice",
        "TABLE = {'a': _put, 'b': print, 'c': _put}\ndef go(key):\n    TABLE[key]()\n",
        "in the caller go: key in ['a', 'c']",
        ("own/boot.py:4 (passed as a value)", "own/boot.py:6 (through TABLE)"),
    ),
    (
        "a list that is handed on",
        "LIST = [_put]\ndef go(run, fast):\n    if fast:\n        run(LIST)\n",
        "in the caller go: fast",
        ("own/boot.py:4 (passed as a value)", "own/boot.py:7 (passed as a value through LIST)"),
    ),
    (
        "the caller of a caller",
        "def go():\n    _put()\ndef main(fast):\n    if fast:\n        go()\n",
        "in the caller main: fast",
        ("own/boot.py:5",),
    ),
    (
        "both",
        "def go(a):\n    if a:\n        _put()\ndef main(b):\n    if b:\n        go(1)\n",
        "in the caller go: a; and in the caller main: b",
        ("own/boot.py:6",),
    ),
    (
        "two callers",
        "def go(a):\n    if a:\n        _put()\ndef run(b):\n    if b:\n        _put()\n",
        "one of 2 calls leads here: (in the caller go: a) or (in the caller run: b)",
        ("own/boot.py:6", "own/boot.py:9"),
    ),
    (
        "what two callers share comes first",
        (
            "def go(a):\n    if a:\n        _put()\ndef run(b, c):\n    if b:\n        if c:\n            go(1)\n"
            "def walk(d):\n    if d:\n        go(1)\n"
        ),
        "in the caller go: a; and one of 2 calls of go leads here: (in the caller run: b and c) or (in the caller walk: d)",
        ("own/boot.py:6",),
    ),
    (
        "a way that asks for more than another",
        "def go(a, b):\n    if a:\n        _put()\n        if b:\n            _put()\n",
        "in the caller go: a",
        ("own/boot.py:6", "own/boot.py:8"),
    ),
    (
        "a way that asks for more than another, behind checks",
        (
            "def go(a, b):\n    assert a\n    assert b\n    assert a.x\n    assert b.x\n    if a.y:\n        _put()\n"
            "        if b.y:\n            _put()\n"
        ),
        "in the caller go: a.y and none of 4 earlier checks raises",
        ("own/boot.py:10", "own/boot.py:12"),
    ),
    (
        "too long to be told",
        (
            f"def go(a):\n    if {LONG}:\n        _put()\ndef run(a):\n    if a and {LONG}:\n        _put()\n"
            f"def walk(a):\n    if not ({LONG}):\n        _put()\n"
        ),
        "one of its 3 callers runs (each has conditions of its own)",
        ("own/boot.py:6", "own/boot.py:9", "own/boot.py:12"),
    ),
    (
        "too long to be told whole",
        (
            "def go(a):\n    if a:\n        _put()\ndef run(b):\n    if b:\n        _put()\n"
            f"def main(a):\n    if {LONG[:195]}:\n        go(a)\n"
            f"def other(a):\n    if {LONG[:195].replace('rather', 'quite')}:\n        run(a)\n"
        ),
        "one of 2 calls leads here: (in the caller go: a) or (in the caller run: b)",
        ("own/boot.py:6", "own/boot.py:9"),
    ),
    (
        "one of two asks nothing",
        "def go(a):\n    if a:\n        _put()\ndef run():\n    _put()\n",
        "",
        ("own/boot.py:6", "own/boot.py:8"),
    ),
    (
        "callers in a circle",
        "def go(a):\n    if a:\n        _put()\n        run(1)\ndef run(b):\n    if b:\n        go(1)\n",
        "in the caller go: a",
        ("own/boot.py:6",),
    ),
    (
        "checks far above that only raise",
        "def go():\n    _put()\ndef main(a, b):\n    assert a == 3\n    if b:\n        go()\n",
        "in the caller main: b and an earlier check does not raise",
        ("own/boot.py:5",),
    ),
    (
        "a long check far above that only raises",
        f"def go():\n    _put()\ndef main(a, b):\n    assert {LONG}\n    if b:\n        go()\n",
        "in the caller main: b and an earlier check does not raise",
        ("own/boot.py:5",),
    ),
    (
        "a check of the class that is called",
        (
            "class Kernel:\n    def check():\n        pass\n    @classmethod\n    def apply(cls, x):\n"
            "        cls.check()\n        cls.fit(x)\n        if x:\n            cls.put()\n"
            "class Npu(Kernel):\n    @staticmethod\n    def check():\n        found = device()\n"
            "        if found.kind != 'npu':\n            raise RuntimeError(found)\n"
            "    @staticmethod\n    def fit(x):\n        if not x.fits:\n            raise ValueError(x)\n"
            "    @staticmethod\n    def put():\n        _put()\n"
        ),
        "in the caller apply: x; and in check: found.kind == 'npu'",
        ("own/boot.py:25",),
    ),
    (
        "a check that may come back",
        "def check():\n    if a:\n        return\n    raise E\ndef go(b):\n    check()\n    if b:\n        _put()\n",
        "in the caller go: b",
        ("own/boot.py:11",),
    ),
    (
        "a parameter that no call sets",
        "def go(a, fast=False):\n    if fast:\n        _put()\ndef main(b):\n    if b:\n        go(1)\n",
        "in the caller go: fast; and no call here asks for fast",
        ("own/boot.py:6",),
    ),
    (
        "a parameter that one of two calls sets",
        (
            "def go(fast=False):\n    if fast:\n        _put()\ndef main(b):\n    if b:\n        go()\n"
            "def run(c):\n    if c:\n        go(c)\n"
        ),
        "in the caller go: fast; and in the caller run: c",
        ("own/boot.py:6",),
    ),
    (
        "a parameter that one of two calls denies, among other tests",
        (
            "def go(x, fast=True):\n    if x.fits and fast:\n        _put()\ndef main(b):\n    if b:\n        go(1)\n"
            "def run(c):\n    if c:\n        go(2, fast=False)\n"
        ),
        "in the caller go: x.fits and fast; and in the caller main: b",
        ("own/boot.py:6",),
    ),
    (
        "a method that another package may call",
        (
            "import other\nclass A(other.Base):\n    def step(self):\n        _put()\n"
            "class B(A):\n    def run(self, b):\n        if b:\n            self.step()\n"
        ),
        "",
        ("own/boot.py:7",),
    ),
    (
        "an inner function",
        "def go(a):\n    def inner():\n        _put()\n    if a:\n        inner()\n",
        "in the caller go: a",
        ("own/boot.py:6",),
    ),
    (
        "a module of the standard library is always there",
        "def go(a):\n    try:\n        import json\n        _put()\n    except ImportError:\n        pass\n",
        "",
        ("own/boot.py:7",),
    ),
]


@pytest.mark.parametrize(("rest", "when", "places"), [row[1:] for row in WAYS], ids=[row[0] for row in WAYS])
def test_every_gate_of_a_call_is_told(tmp_path: Path, rest: str, when: str, places: tuple[str, ...]) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": BOOT + rest}).unregistered
    assert show_condition(item.effect.when) == when
    assert item.called_from == places


TAKE = "from own.deep import put\n"
OFFERED: list[tuple[str, dict[str, str], str, tuple[str, ...]]] = [
    # how it is called, other files, when it applies, what is told of its callers
    ("by nobody", {}, "", ("own/deep/__init__.py:1 (offered to users)",)),
    (
        "by our own code",
        {"own/x.py": f"{TAKE}def go(a):\n    if a:\n        put()\n"},
        "in the caller go: a",
        ("own/x.py:4",),
    ),
    (
        "as users do",
        {"examples/run.py": f"{TAKE}def go(a):\n    if a:\n        put()\n"},
        "the call here leads to it: (in the caller go: a), or a caller outside the project",
        ("examples/run.py:4", "own/deep/__init__.py:1 (offered to users)"),
    ),
    (
        "by our own code and as users do",
        {"own/x.py": f"{TAKE}put()\n", "examples/run.py": f"{TAKE}put()\n"},
        "",
        ("examples/run.py:2", "own/x.py:2", "own/deep/__init__.py:1 (offered to users)"),
    ),
    (
        "through a table",
        {"own/x.py": f"{TAKE}TABLE = {{'a': put}}\ndef go(a):\n    TABLE[a]()\n"},
        "",
        ("own/x.py:2 (passed as a value)", "own/x.py:4 (through TABLE)", "own/deep/__init__.py:1 (offered to users)"),
    ),
]


@pytest.mark.parametrize(("more", "when", "places"), [row[1:] for row in OFFERED], ids=[row[0] for row in OFFERED])
def test_what_a_package_offers_others_may_call_unless_it_is_for_ourselves(
    tmp_path: Path, more: dict[str, str], when: str, places: tuple[str, ...]
) -> None:
    files = {"own/deep/boot.py": BOOT.replace("_put", "put"), "own/deep/__init__.py": "from .boot import put\n"}
    (item,) = read_files(tmp_path, files | more).unregistered
    assert show_condition(item.effect.when) == when
    assert item.called_from == places


def test_a_package_that_loads_lazily_offers_what_it_imports_for_type_checkers(tmp_path: Path) -> None:
    lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .boot import put\n"
    files = {"own/deep/boot.py": BOOT.replace("_put", "put"), "own/deep/__init__.py": lazy}
    (item,) = read_files(tmp_path, files).unregistered
    assert item.called_from == ("own/deep/__init__.py:3 (offered to users)",)


def test_making_objects_of_a_class_that_a_package_offers_asks_nothing_far_above(tmp_path: Path) -> None:
    rest = "class A:\n    def __init__(self, a):\n        if a:\n            _put()\ndef main(b):\n    if b:\n        A(b)\n"
    files = {"own/deep/boot.py": BOOT + rest, "own/deep/__init__.py": "from .boot import A\n"}
    (item,) = read_files(tmp_path, files).unregistered
    assert show_condition(item.effect.when) == "in the caller A.__init__: a"


def test_what_a_package_offers_others_may_call_without_its_table(tmp_path: Path) -> None:
    loop = "TABLE = {'a': put}\ndef go(key):\n    if key in TABLE:\n        TABLE[key]()\n"
    files = {"own/deep/boot.py": BOOT.replace("_put", "put") + loop, "own/deep/__init__.py": "from .boot import put\n"}
    (item,) = read_files(tmp_path, files).unregistered
    assert show_condition(item.effect.when) == ""
    assert item.called_from[1] == "own/deep/boot.py:7 (through TABLE)"
