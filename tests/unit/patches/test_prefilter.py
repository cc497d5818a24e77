"""No file that changes upstream is passed over, however its imports and writes are spelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import read_files

SPELLINGS = [
    ("one line", "from up import training\ntraining.f = 1\n"),
    ("over several lines", "from up import (\n    other,\n    training,\n)\ntraining.f = 1\n"),
    ("with remarks", "from up import (  # these\n    training,  # this\n)\ntraining.f = 1\n"),
    ("backslash", "from up \\\n    import training\ntraining.f = 1\n"),
    ("backslash after import", "from up import \\\n    training\ntraining.f = 1\n"),
    ("several at once", "import os, up.training\nup.training.f = 1\n"),
    ("written over several lines", "from up import training\n(\n    training\n    .f\n) = 1\n"),
    ("one of several targets", "from up import training\nx, training.f = 1, 1\n"),
    ("setattr with a space", "from up import training as t\ndef go():\n    setattr (t, 'f', 1)\ngo()\n"),
    ("a module by its name", "from importlib import import_module\nimport_module('up.training').f = 1\n"),
    (
        "modules by their names",
        "from importlib import import_module\nfor n in ['up.training']:\n    import_module(n).f = len\n",
    ),
    ("vars", "from up import training as t\ndef go():\n    vars(t)['f'] = 1\n"),
    ("its namespace", "from up import training as t\nt.__dict__.update({'f': len})\n"),
    (
        "its namespace by keyword",
        "from up import training as t\ndef go():\n    t.__dict__.update(f=len)\n    t.TABLE.clear()\n",
    ),
    ("a setattr of object", "from up import training as t\ndef go():\n    object.__setattr__(t, 'f', 1)\n"),
    ("setattr with a remark", "from up import training as t\nsetattr(  # why\n    t, 'f', 1)\n"),
]


@pytest.mark.parametrize(("name", "source"), SPELLINGS, ids=[row[0] for row in SPELLINGS])
def test_a_write_is_found_in_every_spelling(tmp_path: Path, name: str, source: str) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    targets = {item.effect.target or item.effect.mutates[0] for item in found}
    assert "up.training.f" in targets, found


CHANGED = [
    ("update", "t.TABLE.update({'x': len})", ("TABLE['x']",)),
    ("update by keyword", "t.TABLE.update(x=len)", ("TABLE['x']",)),
    ("setdefault", "t.TABLE.setdefault('x', len)", ("TABLE['x']",)),
    ("set", "t.TABLE.__setitem__('x', len)", ("TABLE['x']",)),
    ("pop", "t.TABLE.pop('x')", ("TABLE['x']",)),
    ("append", "t.TABLE.append(len)", ("TABLE.append",)),
    ("insert", "t.TABLE.insert(0, len)", ("TABLE.insert",)),
]


@pytest.mark.parametrize("where", ["", "def go():\n    "], ids=["at import", "in a function"])
@pytest.mark.parametrize(("name", "line", "mutates"), CHANGED, ids=[row[0] for row in CHANGED])
def test_a_file_that_only_changes_a_table_is_read(
    tmp_path: Path, name: str, line: str, mutates: tuple[str, ...], where: str
) -> None:
    found = read_files(tmp_path, {"own/boot.py": f"from up import training as t\n{where}{line}\n"}).unregistered
    assert [(item.effect.target, item.effect.mutates) for item in found] == [("up.training.TABLE", mutates)]
