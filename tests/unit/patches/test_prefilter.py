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
    ("setattr with a remark", "from up import training as t\nsetattr(  # why\n    t, 'f', 1)\n"),
]


@pytest.mark.parametrize(("name", "source"), SPELLINGS, ids=[row[0] for row in SPELLINGS])
def test_a_write_is_found_in_every_spelling(tmp_path: Path, name: str, source: str) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    targets = {item.effect.target or item.effect.mutates[0] for item in found}
    assert "up.training.f" in targets, found
