"""Writing to the user's repository: exact, repeatable, and nothing of the repository runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.errors import ConfigError, GitError
from layline.git.write import Identity, WorkTree, open_work_tree

ADA = Identity("Ada", "ada@example.org")
WHEN = "2026-11-15 02:20:00 +0000"


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History.start(tmp_path / "project")
    made.commit("Start", {"kernel.c": "one\n", "other.c": "x\n", ".gitignore": "*.o\n"})
    return made


@pytest.fixture
def tree(history: History) -> WorkTree:
    (history.path / "inner").mkdir()
    return open_work_tree(history.path / "inner")


def test_changes_are_seen_ignored_files_are_not(history: History, tree: WorkTree) -> None:
    (history.path / "kernel.c").write_text("two\n")
    (history.path / "ünew file").write_text("x")
    (history.path / "a.o").write_text("x")
    assert [(change.code, change.path) for change in tree.find_changes()] == [(" M", "kernel.c"), ("??", "ünew file")]


def test_the_same_commit_twice_is_one_commit(history: History, tree: WorkTree) -> None:
    files: dict[str, tuple[str, bytes] | None] = {"kernel.c": ("100755", b"two\n"), "other.c": None}
    parent = history.commits[-1]
    first = tree.build_commit(parent, files, "Accept\n", ADA, WHEN)
    assert tree.build_commit(parent, files, "Accept\n", ADA, WHEN) == first
    assert history.git("rev-parse", "HEAD") == parent
    tree.advance(first, parent)
    tree.advance(first, parent)
    assert history.git("ls-tree", "HEAD", "kernel.c").startswith("100755")
    assert history.git("show", "--format=%an %ae %s", "--name-status", "HEAD").split("\n") == [
        "Ada ada@example.org Accept",
        "",
        "M\tkernel.c",
        "D\tother.c",
    ]


def test_a_branch_that_moved_is_not_overwritten(history: History, tree: WorkTree) -> None:
    parent = history.commits[-1]
    commit = tree.build_commit(parent, {"kernel.c": ("100644", b"two\n")}, "Accept\n", ADA, WHEN)
    moved = history.commit("Somebody else")
    with pytest.raises(GitError, match="moved to"):
        tree.advance(commit, parent)
    assert history.git("rev-parse", "HEAD") == moved


def test_a_branch_begins_where_the_user_stands(history: History, tree: WorkTree) -> None:
    tree.create_branch("optimize/x", tree.head())
    assert (history.git("branch", "--show-current"), history.git("status", "--porcelain")) == ("optimize/x", "")
    history.commit("Later")
    with pytest.raises(ConfigError, match="exists and points to another commit"):
        tree.create_branch("optimize/x", history.commits[0])


def test_a_name_that_is_no_branch_is_refused(tree: WorkTree) -> None:
    with pytest.raises(GitError):
        tree.create_branch("-x", tree.head())


def test_no_hook_runs(history: History, tree: WorkTree) -> None:
    for name in ("reference-transaction", "post-commit", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        hook = history.path / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {history.path}/ran\n")
        hook.chmod(0o755)
    parent = tree.head()
    commit = tree.build_commit(parent, {"kernel.c": ("100644", b"two\n")}, "Accept\n", ADA, WHEN)
    tree.advance(commit, parent)
    tree.set_index({"kernel.c": ("100644", b"two\n")})
    tree.find_changes()
    assert not (history.path / "ran").exists()


def test_who_commits_comes_from_the_users_configuration(
    history: History, tree: WorkTree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(ConfigError, match="who you are"):
        tree.identity()
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Bob\n\temail = bob@example.org\n")
    assert tree.identity() == Identity("Bob", "bob@example.org")


def test_outside_a_repository_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not inside a git work tree"):
        open_work_tree(tmp_path)
