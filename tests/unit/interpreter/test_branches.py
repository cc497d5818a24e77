"""Targets put together from several values: what belongs together stays together, and conditions say what is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_condition
from snippets import read_files

_W = "from wrapt import wrap_function_wrapper as wrap\nnew = lambda w, i, a, k: w(*a)\n"

TARGETS: list[tuple[str, str, list[str]]] = [
    # how the target is told, body of the installer, targets
    ("module and name of a method", "from up.a import C\nwrap(C.m.__module__, C.m.__qualname__, new)", ["up.a.C.m"]),
    ("module and name of a function", "from up.a import f\nwrap(f.__module__, f.__name__, new)", ["up.a.f"]),
    ("module of a class, loaded", "import sys\nfrom up.a import C\nsys.modules[C.__module__].f = new", ["up.a.f"]),
    ("pair of a helper", "home, name = find()\nwrap(home, f'{name}.run', new)", ["up.fresh.B.run", "up.stale.A.run"]),
    (
        "pair of one branch",
        "home, name = 'up.a', 'A'\nif flag:\n    home, name = 'up.b', 'B'\nwrap(home, f'{name}.m', new)",
        ["up.a.A.m", "up.b.B.m"],
    ),
    (
        "owner and setattr name of one branch",
        "import up.a, up.b\nhome, name = up.a, 'f'\nif flag:\n    home, name = up.b, 'g'\nsetattr(home, name, new)",
        ["up.a.f", "up.b.g"],
    ),
    (
        "branch that the test around rules out",
        (
            "from up.a import A\nchosen = A\nif flag:\n    from up.b import B as chosen\nif chosen is not A:\n    "
            "wrap(chosen, 'm', new)"
        ),
        ["up.b.B.m"],
    ),
    (
        "two choices that have nothing in common",
        "home = 'up.a' if flag else 'up.b'\nname = 'f' if other else 'g'\nwrap(home, name, new)",
        ["up.a.f", "up.a.g", "up.b.f", "up.b.g"],
    ),
]

_FIND = """
def find():
    try:
        from up.fresh import B
        return "up.fresh", "B"
    except ImportError:
        return "up.stale", "A"
"""


def _write(body: str) -> str:
    return f"{_W}{_FIND}\ndef go(flag, other):\n" + "".join(f"    {line}\n" for line in body.splitlines())


@pytest.mark.parametrize(("name", "body", "expected"), TARGETS, ids=[row[0] for row in TARGETS])
def test_parts_of_a_target_come_from_one_branch(tmp_path: Path, name: str, body: str, expected: list[str]) -> None:
    found = read_files(tmp_path, {"own/boot.py": _write(body)}).unregistered
    assert sorted(item.effect.target or "?" for item in found) == expected


def test_comparing_the_module_of_something_decides_nothing(tmp_path: Path) -> None:
    body = "import up.a\nif up.a.f.__module__ == 'own.boot':\n    return\nup.a.f = new"
    (item,) = read_files(tmp_path, {"own/boot.py": _write(body)}).unregistered
    assert (item.effect.target, (show_condition(item.effect.when) or None)) == (
        "up.a.f",
        "up.a.f.__module__ != 'own.boot'",
    )


def test_alternatives_are_in_brackets_before_what_chooses_the_target(tmp_path: Path) -> None:
    body = "if not flag or other:\n    home, name = find()\n    wrap(home, name, new)"
    found = read_files(tmp_path, {"own/boot.py": _write(body)}).unregistered
    assert [(show_condition(item.effect.when) or None) for item in found] == [
        "(not flag or other) and up.fresh.B is importable",
        "(not flag or other) and not up.fresh.B is importable",
    ]


SCOPES = [
    # (what is written to where the import fails or does not, what each write asks)
    (
        "A, B",
        [
            "not (up.old.A is importable and up.old.B is importable)",
            "up.old.A is importable and up.old.B is importable",
        ],
    ),
    ("A", ["not up.old.A is importable", "up.old.A is importable"]),
]


@pytest.mark.parametrize(("imported", "asked"), SCOPES)
def test_what_is_denied_of_several_imports_is_in_brackets(tmp_path: Path, imported: str, asked: list[str]) -> None:
    text = f"try:\n    from up.old import {imported}\nexcept ImportError:\n    from up.fresh import C as A\n\n\n"
    text += "def new(self):\n    return 1\n\n\ndef install():\n    A.run = new\n"
    found = read_files(tmp_path, {"own/boot.py": text}).unregistered
    assert sorted(show_condition(item.effect.when) for item in found) == asked
