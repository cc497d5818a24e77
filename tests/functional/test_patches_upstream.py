"""What patches say of upstream's history and of textual patches, on two small real repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import layline
from histories import History

CONFIG = """
[project]
name = "own"

[backends.up]
pin = { revision = "PIN" }
objects = "UPSTREAM"
packages = ["up"]
"""
PATCH = """\
diff --git a/up/a.py b/up/a.py
--- a/up/a.py
+++ b/up/a.py
@@ -1,2 +1,2 @@
 def run(x):
-    return x
+    return x + 1
@@ -20,2 +20,2 @@ def gone():
 def gone():
-    return 1
+    return 2
diff --git a/elsewhere.py b/elsewhere.py
--- a/elsewhere.py
+++ b/elsewhere.py
@@ -1 +1 @@
-a
+b
"""
BOOT = """
import up.a as m


def new(x):
    return x


m.old_name = new
m.runn = new
m.build = new
"""


@pytest.fixture
def answer(tmp_path: Path) -> dict[str, Any]:
    upstream = History.start(tmp_path / "up")
    kept = {"up/__init__.py": "", "up/b.py": "def build():\n    return 1\n"}
    upstream.commit("Add", {**kept, "up/a.py": "def run(x):\n    return x\n\n\ndef old_name(x):\n    return x\n"})
    removed = upstream.commit("Remove old_name (#7)", {"up/a.py": "def run(x):\n    return x\n"})
    pin = upstream.commit("Go on", {"NOTES": "x"})
    own = History.start(tmp_path / "own")
    files: dict[str, str | bytes | None] = {
        "own/boot.py": BOOT,
        "fixes/run.patch": PATCH,
        "fixes/apply.sh": "git apply fixes/run.patch\n",
        "site/start.pth": "import own.boot\n",
        "layline.toml": CONFIG.replace("PIN", pin).replace("UPSTREAM", str(upstream.path)),
    }
    own.commit("all", files)
    return {**layline("patches", "list", "up", "--format", "json", cwd=own.path).json, "removed": removed}


def find(answer: dict[str, Any], target: str) -> dict[str, Any]:
    (row,) = [item for item in answer["unregistered"] if item["target"] == target]
    return dict(row)


def test_a_target_that_upstream_removed_names_the_commit(answer: dict[str, Any]) -> None:
    row = find(answer, "up.a.old_name")
    assert (row["removal"]["commit"], row["removal"]["subject"]) == (answer["removed"], "Remove old_name (#7)")
    assert row["suggestion"] is None


def test_a_target_that_never_was_is_a_slip_of_the_hand(answer: dict[str, Any]) -> None:
    row = find(answer, "up.a.runn")
    assert row["removal"]["commit"] is None
    assert row["suggestion"] == "up.a.run"


def test_a_name_that_upstream_has_elsewhere_is_no_slip(answer: dict[str, Any]) -> None:
    row = find(answer, "up.a.build")
    assert (row["removal"]["elsewhere"], row["suggestion"]) == ("up/b.py:1", None)


def test_a_patch_file_is_listed_with_its_target_and_whether_it_applies(answer: dict[str, Any]) -> None:
    rows = [row for row in answer["unregistered"] if row["style"] == "source-rewrite"]
    assert [(row["location"], row["target"], row["certain"]) for row in rows] == [
        ("fixes/run.patch:4", "up.a.run", True),
        ("fixes/run.patch:8", "up.a", False),
    ]
    assert rows[0]["called_from"] == ["fixes/apply.sh:1"]
    assert "does not apply" in rows[1]["reason"]


def test_a_file_that_runs_code_at_startup_is_said(answer: dict[str, Any]) -> None:
    assert {
        "what": "site/start.pth:1",
        "why": "runs `import own.boot` when Python starts; Layline does not follow what that changes",
    } in answer["skipped"]


def test_a_project_without_a_registry_says_so_in_its_first_line(tmp_path: Path) -> None:
    own = History.start(tmp_path / "own")
    own.commit(
        "all", {"own/boot.py": BOOT, "layline.toml": CONFIG.replace("PIN", "main").replace("UPSTREAM", "nowhere")}
    )
    result = layline("patches", "list", "up", cwd=own.path)
    first = result.out.splitlines()[0]
    assert first.startswith("up: 3 monkey patches: ")
    refused = layline("patches", "list", "up", "--phase", "setup", cwd=own.path)
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: There is no phase called 'setup'.")


def test_what_upstream_sets_on_its_objects_is_no_name_of_another_package(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "up")
    model = (
        "from other import Module\n\n\nclass Model(Module):\n    def __init__(self):\n        self.head = Module()\n"
    )
    pin = upstream.commit("Add", {"up/__init__.py": "", "up/a.py": model})
    own = "import up.a\n\n\nclass Head(up.a.Model):\n    def go(self): ...\n\n\ndef make():\n    model = up.a.Model()\n"
    config = CONFIG.replace("PIN", pin).replace("UPSTREAM", str(upstream.path))
    downstream = History.start(tmp_path / "own")
    rest = "    model.head = Head()\n    model.tail = Head()\n    up.a.made = print\n"
    downstream.commit("Add", {"own/__init__.py": "", "own/boot.py": own + rest, "layline.toml": config})
    answer = layline("patches", "list", "up", "--format", "json", cwd=downstream.path).json
    told = {
        row["target"]: row["reason"].partition("not on the class itself")[2]
        for row in answer["unregistered"]
        if row["holder"]
    }
    assert told == {
        "up.a.Model.head": ", whose objects have it because methods of up.a.Model set it",
        "up.a.Model.tail": "; upstream does not define that name, but other.Module may",
    }
