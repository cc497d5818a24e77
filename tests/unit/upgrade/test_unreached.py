"""A write in a method that upstream's call never gets into is told alike by drift, the gap report and the matrix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import layline
from layline.app.patches_drift import patches_drift
from layline.patches.drift.ask import DriftOptions
from upgrading import Files, make_project

LAYER = "class Attention:\n    def forward(self, x, mask, heads, cache=None):\n        return x\n"
BLOCK = "class Block:\n    def forward(self, x):\n        return self.attention(x, mask=1, heads=2, cache=3)\n"
BEFORE: Files = {"keel/deck.py": "def furl(x):\n    return x\n", "keel/layer.py": LAYER, "keel/block.py": BLOCK}
OURS: Files = {
    "own/hull.py": (
        "import keel.deck\nfrom keel.layer import Attention\n\n\ndef mine(x):\n    return x\n\n\n"
        "class Ours(Attention):\n    def forward(self, x, mask, heads):\n        keel.deck.furl = mine\n        return x\n\n\n"
        "spec = Spec(module=Ours, params={})\n"
    )
}
WRITE = "own/hull.py:11"


def test_what_fails_already_around_a_write_is_told_everywhere(tmp_path: Path) -> None:
    project = make_project(tmp_path, [("Begin", BEFORE), ("Go on", {"keel/other.py": ""})], OURS)
    settings = project.root / "layline.toml"
    here = 'upstream = "https://example.org/keel"\npackages = '
    text = (
        settings.read_text()
        .replace("packages = ", here)
        .replace("[project]", '[project]\nrepository = "https://example.org/own"')
    )
    settings.write_text(text)
    drift = layline("patches", "drift", "--format", "json", cwd=project.root).json
    assert [row["today"] for row in drift["rows"] if row["location"] == WRITE] == ["does-not-fit"]
    assert drift["places"]["fails_already"] == 1
    answered = layline("gap", "report", "--date", "2026-01-05", "--format", "json", cwd=project.root)
    assert answered.code == 0, answered.err
    told = answered.json["reports"][0]
    evidence = next(one["path"] for one in told["files"] if "/evidence/" in one["path"])
    facts = json.loads((project.root / evidence).read_text())["facts"]
    (places,) = [one["value"] for one in facts if one["name"] == "places"]
    assert places["fail at the pin already"] == 1, "the write; the override around it is a warning, as all are"
    pages = [(project.root / one["path"]).read_text() for one in told["files"] if one["path"].endswith(".md")]
    named = "1 place fails at the pin already, and still at the tip: own/hull.py:11."
    assert [page.count(named) for page in pages] == [1, 1], "the report's first page and the summary"
    matrix = layline("patches", "matrix", "--refs", "main", "--format", "json", cwd=project.root).json
    assert matrix["failing_already"] == 1


MADE = "import keel.a\n\n\ndef mine(*args):\n    return 1\n\n\n{}"
LINES = ("keel.a.Old.run = mine\n", "keel.a.f = mine\n", "keel.a.g = mine\n")


@pytest.mark.parametrize(
    ("ours", "told"),
    [
        (MADE.format("".join(LINES)), ", and with it the import of that file at own/boot.py:1"),
        (MADE.format("def go():\n    " + "    ".join(LINES)), ""),
    ],
)
def test_a_file_that_fails_when_it_is_loaded_fails_its_imports(tmp_path: Path, ours: str, told: str) -> None:
    """`import verl` itself fails where one line of a file that it imports does."""
    functions = "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"
    steps: list[tuple[str, Files]] = [
        ("Begin", {"keel/a.py": f"{functions}\n\nclass Old:\n    def run(self):\n        return 1\n"}),
        ("Remove Old (#2)", {"keel/a.py": functions}),
    ]
    boot = "import own.late\nown.late.go()\n" if "def go" in ours else "import own.late\n"
    project = make_project(tmp_path, steps, {"own/late.py": ours, "own/boot.py": boot})
    answer = patches_drift(project.open(), "keel", DriftOptions())
    assert answer.listing is not None
    (title,) = (group.title for group in answer.listing.groups if "not installed" in group.title)
    line = 8 if told else 9
    assert (
        f"own/late.py:{line} (keel.a.Old is gone) fails{told} (" in title
        or f"fails{told}. 2 effects are not installed" in title
    )
