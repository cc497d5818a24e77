"""Which patches are imported: by statements of the code, however they are spelled, and by nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import handler, only, read_snippet

ACTIVE = [
    ("one line", "from own.patches import case\n"),
    ("over several lines", "from own.patches import (\n    other,  # first\n    case,\n)\n"),
    ("several at once", "import os, own.patches.case\n"),
    ("backslash", "from own.patches import other, \\\n    case\n"),
    ("backslash before import", "from own.patches \\\n    import case\n"),
    ("behind another statement", "x = 1; import own.patches.case\n"),
    ("in a function", "def go():\n    from own.patches import (\n        case,\n    )\n"),
    ("relative", "from .patches import (\n    case,\n)\n"),
    ("by text", "import importlib\nimportlib.import_module('own.patches.case')\n"),
    (
        "by text, from a table",
        "import importlib\nfor name in ('own.patches.case',):\n    importlib.import_module(name)\n",
    ),
]
INACTIVE = [
    ("docstring", '"""How to:\n\nfrom own.patches import case\nimport own.patches.case\n"""\n'),
    ("comment", "# import own.patches.case\n"),
    ("quoted", "print('own.patches.case')\n"),
    ("for types only", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from own.patches import case\n"),
    ("another module of that name", "from other.patches import case\n"),
]


@pytest.mark.parametrize(("name", "source"), ACTIVE, ids=[row[0] for row in ACTIVE])
def test_an_import_makes_a_patch_active(tmp_path: Path, name: str, source: str) -> None:
    patch = only(
        read_snippet(tmp_path, handler("pass"), {"own/main.py": source, "own/patches/__init__.py": ""}, "case")
    )
    assert (patch.active, patch.active_reason) == (True, "imported by own.main")


@pytest.mark.parametrize(("name", "source"), INACTIVE, ids=[row[0] for row in INACTIVE])
def test_a_mention_does_not(tmp_path: Path, name: str, source: str) -> None:
    patch = only(
        read_snippet(tmp_path, handler("pass"), {"own/main.py": source, "own/patches/__init__.py": ""}, "case")
    )
    assert not patch.active
