"""A use is code: a comment, a docstring or a text that mentions a name is none."""

from __future__ import annotations

import pytest

from layline.source.usage import binds, find_calls, find_reads, mentions, sets_attribute

READS = [
    # idiom, code, lines that read up.a.thing
    ("attribute of the module", "from up import a\nprint(a.thing)\n", [2]),
    ("under another name", "import up.a as m\nprint(m.thing)\n", [2]),
    ("taken from it", "from up.a import (\n    other,\n    thing,\n)\n", [1]),
    ("asked for", "from up import a\ngetattr(a, 'thing', None)\n", [2]),
    ("over several lines", "from up import a\nprint(\n    a\n    .thing)\n", [4]),
    ("set", "from up import a\na.thing = 1\n", []),
    ("comment", "from up import a\n# a.thing is set elsewhere\n", []),
    ("docstring", '"""We set a.thing."""\nfrom up import a\n', []),
    ("text", "from up import a\nprint('a.thing')\n", []),
    ("of another object", "from up import a\nprint(b.thing)\n", []),
]
MENTIONS = [
    ("call", "f(1)\n", True),
    ("attribute", "m.f\n", True),
    ("definition", "def f(): pass\n", True),
    ("asked for", "getattr(m, 'f')\n", True),
    ("import alone", "from m import f\n", False),
    ("import over lines", "from m import (\n    f,\n)\n", False),
    ("comment", "x = 1  # f is used\n", False),
    ("docstring", '"""f(1)"""\n', False),
    ("text", "print('f')\n", False),
    ("list of names", "__all__ = ['f']\n", False),
]


@pytest.mark.parametrize(("name", "source", "lines"), READS, ids=[row[0] for row in READS])
def test_reads_of_an_attribute(name: str, source: str, lines: list[int]) -> None:
    assert list(find_reads(source.encode(), "up.a.thing")) == lines


def test_any_value_may_be_an_instance_of_a_class() -> None:
    assert list(find_reads(b"print(x.thing)\n# y.thing\n", "up.a.C.thing")) == [1]


@pytest.mark.parametrize(("name", "source", "expected"), MENTIONS, ids=[row[0] for row in MENTIONS])
def test_mentions(name: str, source: str, expected: bool) -> None:
    assert mentions(source.encode(), "f") is expected


def test_what_binds_sets_and_calls() -> None:
    assert binds(b"from m import (\n    f,\n)\n", "f")
    assert not binds(b"# def f(): pass\n'''\nimport f\n'''\n", "f")
    assert sets_attribute(b"x.f = 1\n", "f")
    assert not sets_attribute(b"self.f = 1  # x.f = 2\n", "f")
    assert list(find_calls(b"m.f(1)\n# m.f(2)\n'''m.f(3)'''\nf(4)\n", "m.f")) == [1]
