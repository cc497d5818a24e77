"""Where names are defined, told without decoding: the same as the decoded rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

import layline
from layline.source.definitions import ROW_FINGERPRINT, ROW_QUALNAME, Module
from layline.source.parsing import encode_module, parse_module
from layline.source.places import find_rows

TEXTS = [
    "",
    "x = 1\n",
    "class A:\n    y: int = 1\n\n    def f(self, a=['b', 0, 1, 2, 3, 'c']): ...\n",
    'z = \'["x",1,2,3,4,"text"]\'\n',
    "def größe(ä='\"'): ...\nclass Ö:\n    def é(self): return '\\\\'\n",
    "from a import b as c\nfor i, j in []:\n    pass\nwith open('x') as k:\n    pass\n",
    'x: "dict[\'a\', 0]" = {\'["q",0,0,0,0,"r"\': 1}\n',
]


@pytest.mark.parametrize("text", TEXTS)
def test_rows_of_a_text(text: str) -> None:
    expect_rows(text.encode())


def test_rows_of_our_own_code() -> None:
    for path in sorted((Path(layline.__file__).parent / "source").glob("*.py")):
        expect_rows(path.read_bytes())


def expect_rows(data: bytes) -> None:
    module = parse_module("a.py", data)
    assert isinstance(module, Module)
    told = [(row[ROW_QUALNAME], row[ROW_FINGERPRINT]) for row in module.rows]
    assert list(find_rows(encode_module(data))) == told
