"""Uncommitted edits: an answer for HEAD says that it does not know them, `--worktree` knows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import Result, layline
from histories import History

UPSTREAM = {"up/__init__.py": "", "up/a.py": "def f(): pass\n\n\ndef g(): pass\n"}
BOOT = "import up.a\n\n\ndef new(): pass\n\n\nup.a.f = new\n"
CONFIG = '[project]\nname = "own"\n\n[backends.up]\npin = { file = "up.txt" }\nobjects = "UPSTREAM"\npackages = ["up"]\nref = "main"\nconfigs = ["conf"]\n'  # fmt: skip
DAY = ("--date", "2026-01-09", "--format", "json")


class Project:
    def __init__(self, root: Path) -> None:
        self.upstream = History.start(root / "up")
        self.pin = self.upstream.commit("Add", dict(UPSTREAM))
        self.tip = self.upstream.commit("Change (#2)", {"up/a.py": "def f(): pass\n"})
        self.downstream = History.start(root / "down")
        files: dict[str, str | bytes | None] = {"own/__init__.py": "", "own/boot.py": BOOT, "up.txt": self.pin, "conf/a.yaml": "key: 1\n", ".gitignore": "made.py\n"}  # fmt: skip
        self.downstream.commit("all", files)
        self.place = self.downstream.path
        self.write("layline.toml", CONFIG.replace("UPSTREAM", str(self.upstream.path)))

    def write(self, path: str, text: str) -> None:
        (self.place / path).write_text(text)

    def ask(self, *words: str) -> Result:
        return layline(*words, cwd=self.place)

    def targets(self, *more: str) -> list[str]:
        found = self.ask("patches", "list", "up", *more, "--format", "json").json
        return [item["target"] for item in found["unregistered"]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_clean_tree_is_not_mentioned(project: Project) -> None:
    project.write("notes.md", "not what the question depends on\n")
    project.write("made.py", "ignored = 1\n")
    answer: dict[str, Any] = project.ask("patches", "list", "up", "--format", "json").json
    assert "uncommitted" not in answer


def test_a_file_that_git_does_not_know_counts_where_settings_read(project: Project) -> None:
    project.write("client.py", "import up\n")
    assert "uncommitted" not in project.ask("patches", "list", "up", "--format", "json").json
    config = (project.place / "layline.toml").read_text()
    (project.place / "other").mkdir()
    project.write("other/client.py", "import up\n")
    project.write("layline.toml", config + 'integration = ["own"]\n')
    assert "uncommitted" not in project.ask("patches", "list", "up", "--format", "json").json
    project.write("own/more.py", "import up\n")
    assert project.ask("patches", "list", "up", "--format", "json").json["uncommitted"] == ["own/more.py"]


def test_an_edit_is_told_and_known_on_request(project: Project) -> None:
    project.write("own/boot.py", BOOT.replace("up.a.f", "up.a.g"))
    project.write("own/more.py", BOOT)
    listed = project.ask("patches", "list", "up")
    assert "2 files have uncommitted edits that this answer (for HEAD) does not include: own/boot.py," in " ".join(listed.out.split())  # fmt: skip
    assert project.ask("patches", "list", "up", "--format", "json").json["uncommitted"] == [
        "own/boot.py",
        "own/more.py",
    ]
    assert project.targets() == ["up.a.f"]
    assert project.targets("--worktree") == ["up.a.g", "up.a.f"]
    drift = project.ask("patches", "drift", "up", "--worktree", *DAY).json
    assert ([(row["target"], row["kind"]) for row in drift["rows"]], drift["worktree"]) == (
        [("up.a.g", "removed"), ("up.a.f", "unchanged")],
        True,
    )
    assert project.ask("patches", "drift", "up", *DAY).json["uncommitted"] == ["own/boot.py", "own/more.py"]


def test_the_next_edit_is_another_answer(project: Project) -> None:
    for name in ("f", "g", "f"):
        project.write("own/boot.py", BOOT.replace("up.a.f", f"up.a.{name}") + "# edited\n")
        assert project.targets("--worktree") == [f"up.a.{name}"]
    (project.place / "own/boot.py").unlink()
    assert project.targets("--worktree") == []
    assert project.targets() == ["up.a.f"]


def test_gap_show_depends_on_the_pin_alone(project: Project) -> None:
    project.write("own/boot.py", "")
    assert "uncommitted" not in project.ask("gap", "show", "up", *DAY).json
    project.write("up.txt", project.tip)
    assert project.ask("gap", "show", "up", *DAY).json["uncommitted"] == ["up.txt"]
    assert project.ask("gap", "show", "up", *DAY).json["behind"] == 1
    shown = project.ask("gap", "show", "up", "--worktree", *DAY).json
    assert (shown["behind"], shown["worktree"]) == (0, True)


def test_another_commit_and_a_tree_that_is_not_checked_out_say_nothing(project: Project) -> None:
    project.write("own/boot.py", "")
    project.downstream.git("commit", "-qam", "next")
    project.write("own/boot.py", BOOT)
    assert "uncommitted" not in project.ask("patches", "list", "up", "--at", "HEAD~1", "--format", "json").json
    refused = project.ask("patches", "list", "up", "--at", "HEAD~1", "--worktree")
    assert (refused.code, "Leave one of them out" in refused.err) == (2, True)
    (project.place / ".git" / "index").unlink()
    assert "uncommitted" not in project.ask("patches", "list", "up", "--format", "json").json
