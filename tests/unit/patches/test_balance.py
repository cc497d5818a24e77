"""The balance of candidate writes: nothing is left out without a row or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import read_files

FATES = [
    # idiom, file, fates of its candidates
    ("a row", "import up.a as m\nm.f = print\n", {"listed": 1}),
    ("in a helper", "def put(o):\n    o.forward = print\nimport up.a\nput(up.a.C)\n", {"listed": 1}),
    ("a setting of another package", "import other\nother.f = 1\n", {"setting": 1}),
    ("put back", "import up.a as m\nold = m.f\ndef undo():\n    m.f = old\n", {"restored": 1}),
    ("a mark", "import up.a as m\nm._own_patched = True\n", {"mark": 1}),
    ("computed", "def go(x, n):\n    setattr(x, n, 1)\n", {"object": 1}),
    (
        "a row that syntax alone does not show",
        "import up.a\nclass Ours:\n    pass\ndef go(x):\n    x.inner.part = Ours\n",
        {"listed": 1},
    ),
    ("an imported name on an object", "from up.a import g\ndef go(x):\n    x.part.norm = g\n", {"object": 1}),
    ("never runs", "import up.a as m\nif False:\n    m.f = print\n", {"not-read": 1}),
]


@pytest.mark.parametrize(("name", "source", "expected"), FATES, ids=[row[0] for row in FATES])
def test_every_candidate_has_a_fate(tmp_path: Path, name: str, source: str, expected: dict[str, int]) -> None:
    balance = read_files(tmp_path, {"own/boot.py": source}).balance
    assert {fate.value: count for fate, count in balance.fates} == expected
    assert balance.candidates == sum(expected.values())


def test_what_was_not_read_is_said_with_its_place(tmp_path: Path) -> None:
    inventory = read_files(tmp_path, {"own/boot.py": "import up.a as m\nif False:\n    m.f = print\n"})
    assert [str(line) for line in inventory.balance.not_read] == ["own/boot.py:3"]
    assert "own/boot.py:3" in next(row.why for row in inventory.skipped if row.what == "not followed")


def test_every_line_without_a_row_is_named(tmp_path: Path) -> None:
    source = "import up.a as m\nimport other\nm.f = print\nother.f = 1\nold = m.g\ndef undo():\n    m.g = old\n"
    balance = read_files(tmp_path, {"own/boot.py": source}).balance
    assert [(fate.value, [str(line) for line in lines]) for fate, lines in balance.unlisted] == [
        ("setting", ["own/boot.py:4"]),
        ("restored", ["own/boot.py:7"]),
    ]
    assert sum(count for _, count in balance.fates) == balance.candidates


def test_what_examples_change_is_said_with_its_place(tmp_path: Path) -> None:
    writes = "import sys\nimport other\nimport up.a as m\nsys.modules['up.b'] = m\nm.f = print\nother.f = 1\nm.f()\n"
    inventory = read_files(tmp_path, {"own/boot.py": "x = 1\n", "examples/run.py": writes, "tests/run.py": writes})
    assert [(row.what, row.why) for row in inventory.skipped] == [
        (
            "examples",
            "they are not searched for patches; 2 of their lines may change another package: examples/run.py:4, examples/run.py:5",
        )
    ]
    assert inventory.balance.candidates == 0
