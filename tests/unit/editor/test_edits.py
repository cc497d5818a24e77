"""What an edit touches: functions that differ and those that name them; everything else moves with its lines."""

from __future__ import annotations

import pytest

from drift_rows import drift_row
from layline.core.evidence import Location
from layline.core.patch import Effect, Style
from layline.editor.edits import compare_texts
from layline.editor.patched import Patched, build_diagnostics

TEXT = """\
import up


def ours(x):
    return x


def put():
    up.f = ours


@up.mark
def other():
    up.g = len


TABLE = {"put": put}


def choose(name):
    TABLE[name]()
"""

CASES = [
    # (what is replaced, by what, the names that are read again; None: all)
    ("return x", "return x  # as it is", set()),
    ("return x\n", "return x\n\n\n# more\n", set()),
    ("return x", "return x + 1", {"ours", "put"}),
    ("up.f = ours", "up.h = ours", {"put"}),
    ("def other():", "def other(y):", {"other"}),
    ("\n\nTABLE", "\n\ndef fresh():\n    put()\n\n\nTABLE", {"fresh"}),
    ("def ours(x):\n    return x\n\n\n", "", {"ours", "put"}),
    ("import up", "import up.more as up", {"up", "put", "other"}),
    ("import up", "import os\nimport up", {"os"}),
    ("import up", "from up import *", None),
    ("import up", "import up\nup.on = 1", None),
    ("TABLE =", "LIST = TABLE =", {"LIST", "TABLE", "choose"}),
    ("\n\nTABLE", "\n\nA = 1\nTABLE", {"A"}),
    ("import up", "if up: import up", None),
    ('"put": put', '"puts": put', {"TABLE", "choose"}),
    ("def other", "def put", None),
    ("return x", "return (", None),
]


@pytest.mark.parametrize(("old", "new", "names"), CASES)
def test_what_is_read_again(old: str, new: str, names: set[str] | None) -> None:
    edit = compare_texts(TEXT, TEXT.replace(old, new, 1))
    assert (None if edit is None else edit.names) == names


def test_effects_move_with_their_lines() -> None:
    edit = compare_texts(TEXT, TEXT.replace("    return x\n", "    y = 1\n    return x\n"))
    assert edit is not None

    def at(line: int, **more: Location) -> Effect:
        return Effect(style=Style.BINDING_REPLACEMENT, target="up.g", location=Location("a.py", line), **more)  # type: ignore[arg-type]

    assert edit.move(at(14), "a.py") == at(15)
    assert edit.move(at(14), "b.py") == at(14), "another file"
    assert edit.move(at(9), "a.py") is None, "it installs what differs"
    assert edit.move(at(14, replacement_at=Location("a.py", 4)), "a.py") is None
    assert edit.move(at(13), "a.py") == at(14), "a decorator"


def test_a_statement_that_uses_an_import_that_differs_does_not_move() -> None:
    text = "import up\nimport os\n\nup.f = len\nos.g = len\n"
    edit = compare_texts(text, text.replace("import up", "import down as up"))
    assert edit is not None
    here = [Effect(style=Style.BINDING_REPLACEMENT, target="x", location=Location("a.py", line)) for line in (4, 5)]
    assert [edit.move(one, "a.py") for one in here] == [None, here[1]]


def test_what_only_half_of_the_project_cannot_decide_is_no_diagnostic() -> None:
    row = drift_row("look", "unresolved", "own/boot.py:3", "up.a.f")
    effect = Effect(style=row.style, target="up.a.f", location=row.location)
    told = [build_diagnostics([Patched("up", row, effect, is_half_read=half)]) for half in (False, True)]
    assert [len(one) for one in told] == [1, 0]
