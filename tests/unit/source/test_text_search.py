"""The text of a commit is searched as `git grep` searches it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import Tree
from layline.source.text_search import TextSearch

FILES: dict[str, str | bytes | None] = {
    "a.py": "class A:\n    sync: Callable | None = None\n    def step(self): ...\n",
    "deep/b.py": "MySync = 1\nsync_all = 2\nx = 'sync'  # Callables\n",
    "notes.txt": "sync\ndef step(\n",
    "zdef.py": "def step_all(): ...\n",
}


def grep(history: History, *options: str) -> list[str]:
    done = subprocess.run(
        ["git", "-C", str(history.path), "grep", "-h", *options, "HEAD", "--", "*.py"],
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("word", ["sync", "Callable", "step", "missing", "x"])
def test_as_git_grep(tmp_path: Path, word: str) -> None:
    history = History.start(tmp_path / "repo")
    search = TextSearch(Tree(open_repository(history.path), history.commit("all", FILES)))
    assert list(search.find_lines(word)) == grep(history, "-w", "-e", word)
    files = [line.partition(":")[2] for line in grep(history, "-l", "-w", "-e", word)]
    assert list(search.find_files(word)) == files
    assert search.has(f"def {word}(") == bool(grep(history, "-F", "-e", f"def {word}("))


@pytest.mark.parametrize(
    ("words", "expected"),
    [(("sync_all",), ("deep/b.py", 2)), (("'sync'", "def step"), ("a.py", 3)), (("missing",), None)],
)
def test_the_first_place_of_several_texts(
    tmp_path: Path, words: tuple[str, ...], expected: tuple[str, int] | None
) -> None:
    history = History.start(tmp_path / "repo")
    search = TextSearch(Tree(open_repository(history.path), history.commit("all", FILES)))
    assert search.find_first(words) == expected
    found = grep(history, "-n", "-m", "1", "-F", "--full-name", *(part for word in words for part in ("-e", word)))
    assert bool(found) == (expected is not None)


def test_where_an_object_is_missing_nothing_is_found(tmp_path: Path) -> None:
    history = History.start(tmp_path / "repo")
    tree = Tree(open_repository(history.path), history.commit("all", FILES))
    oid = tree.entries["deep/b.py"].oid
    (history.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    assert not TextSearch(tree).has("sync")
