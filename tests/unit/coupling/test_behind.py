"""What breaks behind an import that fails at the pin already does not fit today: it does not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.app.patches_drift import patches_drift
from layline.patches.drift.ask import DriftOptions
from upgrading import Files, make_project

GONE = "from keel.run import never\n"
USE = "from keel.text import speak\n"
CASES = [
    # (what it shows, our file, what the import that breaks does at the pin)
    ("alone", USE, "fits"),
    ("behind an import that fails", GONE + USE, "not-run"),
    ("before it", USE + GONE, "fits"),
    ("behind one in a function", f"def go():\n    {GONE}\n\n{USE}", "fits"),
    ("behind one that is caught", f"try:\n    {GONE}except ImportError:\n    pass\n{USE}", "fits"),
]


@pytest.mark.parametrize(("ours", "today"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_what_breaks_behind_a_failing_import_does_not_run_today(tmp_path: Path, ours: str, today: str) -> None:
    both = {"keel/run.py": "x = 1\n", "keel/text.py": "def speak(): ...\n"}
    project = make_project(
        tmp_path, [("all", {**both}), ("Hush (#2)", {"keel/text.py": "x = 1\n"})], {"own/a.py": ours}
    )
    rows = patches_drift(project.open(), "keel", DriftOptions()).data["elsewhere"]
    told = {row["target"]: (row["severity"], row["today"]) for row in rows}
    assert told["keel.text.speak"] == ("breaks", today)
    (row,) = [row for row in rows if row["target"] == "keel.text.speak"]
    assert ("fails before it, at the pin already" in row["detail"]) is (today == "not-run")


def test_what_fits_and_is_installed_by_code_that_fails_is_told_beside_it(tmp_path: Path) -> None:
    texts = "def speak(): ...\ndef hear(): ...\n"
    ours: Files = {
        "own/patch.py": "import keel.text\n\n\ndef mine(): ...\n\n\ndef install():\n    keel.text.speak = mine\n",
        "own/model.py": "from keel.run import run\nimport keel.text\n\n\ndef two(): ...\n\n\nkeel.text.hear = two\n",
        "own/go.py": "from own.model import run\nfrom own.patch import install\n\ninstall()\n",
    }
    steps: list[tuple[str, Files]] = [
        ("all", {"keel/run.py": "def run(): ...\n", "keel/text.py": texts}),
        ("Drop it (#2)", {"keel/run.py": "x = 1\n"}),
    ]
    listing = patches_drift(make_project(tmp_path, steps, ours).open(), "keel", DriftOptions()).listing
    assert listing is not None
    assert listing.title.endswith(
        "1 place that fits is installed only by code that fails to load. Outside our patches, 1 place breaks."
    )
