"""Functions that edit upstream's source as text are counted where no row tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.evidence import SkippedKind
from layline.patches.list_lines import build_listing
from snippets import read_files

TAKES = "import inspect\nimport up.a\nfrom own.edits import EDITS\n\n\n"
LOOP = "def go(name):\n    s = inspect.getsource(eval(name))\n    for f in EDITS: s = f(s)\n    s = s.replace('x', 'y')\n    exec(s)\n"
EDIT = "def fix(source):\n    source = source.replace('old', 'new')\n    return source\n\n\n"
FILES = [
    # (what it shows, our file, the file it imports, functions that are told)
    ("edits what only a run knows", TAKES + LOOP, "EDITS = []\n", ["go (own/boot.py:6)"]),
    (
        "edits in a table",
        TAKES + LOOP,
        f"EDITS = []\n{EDIT}EDITS.append(fix)\n",
        ["go (own/boot.py:6)", "fix (own/edits.py:2)"],
    ),
    ("edits that nobody is handed", TAKES + LOOP, f"EDITS = []\n{EDIT}", ["go (own/boot.py:6)"]),
    ("only looks", f"{TAKES}def go(f):\n    return 'x' in inspect.getsource(f)\n", "EDITS = []\n", []),
    ("of another package", (TAKES + LOOP).replace("import up.a\n", ""), "EDITS = []\n", []),
    (
        "has a row",
        f"{TAKES}def go():\n    s = inspect.getsource(up.a.f)\n    s = s.replace('x', 'y')\n    exec(s, up.a.__dict__)\ngo()\n",
        "EDITS = []\n",
        [],
    ),
]


@pytest.mark.parametrize(("boot", "edits", "told"), [row[1:] for row in FILES], ids=[row[0] for row in FILES])
def test_what_edits_source_as_text_is_told(tmp_path: Path, boot: str, edits: str, told: list[str]) -> None:
    inventory = read_files(tmp_path, {"own/boot.py": boot, "own/edits.py": edits})
    assert [one.what for one in inventory.skipped if one.kind is SkippedKind.SOURCE_EDIT] == told
    words = f"{len(told)} function"
    assert any(words in line for line in build_listing(inventory, "own", "up").meta) is bool(told)
