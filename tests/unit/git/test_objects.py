"""One process answers many questions, and never the wrong one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from histories import History
from layline.errors import GitError
from layline.git import Blob, open_repository
from layline.git.objects import ObjectReader, TreeEntry, find_in_tree

COUNT = 70
"""More than are asked of the waiting process at once."""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    history = History.start(tmp_path_factory.mktemp("objects") / "many")
    history.commit("Many", {f"{number}.txt": f"text {number}\n" for number in range(COUNT)})
    return history


@pytest.mark.parametrize("count", [0, 3, COUNT])
def test_a_stream_keeps_the_order_and_names_what_is_missing(history: History, count: int) -> None:
    repository = open_repository(history.path)
    entries = list(repository.read_tree(repository.resolve("HEAD")))[:count]
    missing = "1" * 40
    told = list(repository.stream_blobs([*(entry.oid for entry in entries), missing]))
    assert told[-1] == missing
    assert [one.data.decode() for one in told[:-1] if isinstance(one, Blob)] == [_said(entry.path) for entry in entries]


def test_a_reading_that_was_interrupted_leaves_no_answer_for_the_next(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = open_repository(history.path)
    one, two, *_ = repository.read_tree(repository.resolve("HEAD"))
    with monkeypatch.context() as patch:
        patch.setattr(ObjectReader, "_reply", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            repository.read_blob(one.oid)
    assert repository.read_blob(two.oid).decode() == _said(two.path)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_both_sides_of_a_fork_read_their_own_answers(history: History) -> None:
    repository = open_repository(history.path)
    one, two, *_ = repository.read_tree(repository.resolve("HEAD"))
    child = os.fork()
    if child == 0:
        same = all(repository.read_blob(two.oid).decode() == _said(two.path) for _ in range(50))
        os._exit(0 if same else 1)
    assert all(repository.read_blob(one.oid).decode() == _said(one.path) for _ in range(50))
    assert os.waitpid(child, 0)[1] == 0


def _said(path: str) -> str:
    return f"text {path.removesuffix('.txt')}\n"


def test_a_listing_under_a_full_hash_is_asked_once(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = open_repository(history.path)
    commit = repository.resolve("HEAD")
    first = list(repository.read_tree(commit))
    monkeypatch.setenv("PATH", "/nowhere")
    assert list(repository.read_tree(commit)) == first


PATHS = ["a.txt", "b", "b/c", "b/c/d.py", "b/c/", "b/run.sh", "old", "sub", "none", "b/none", "a.txt/x", "sub/x", "b/./c", "b//c", "é/ü"]  # fmt: skip


def test_an_entry_is_what_ls_tree_says_and_needs_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History.start(tmp_path / "tree")
    history.gitlink("sub", "3" * 40)
    history.commit("Some", {"a.txt": "a\n", "b/c/d.py": "d\n", "b/run.sh": "r\n", "é/ü": "u\n"})
    history.git("update-index", "--chmod=+x", "b/run.sh")
    listed = (
        f"{history.git('ls-tree', history.git('write-tree'))}\n100664 blob {history.git('hash-object', 'a.txt')}\told"
    )
    tree = history.git("mktree", "--missing", stdin=listed.encode())
    repository = open_repository(history.path)
    expected = {path: _ask_git(history, tree, path) for path in PATHS}
    odd = {path for path in PATHS if {"", "."} & set(path.rstrip("/").split("/"))}
    assert {path: repository.read_entry(tree, path) for path in PATHS} == expected
    assert {expected[path].mode for path in ("b", "b/run.sh", "old", "sub")} == {"040000", "100755", "100644", "160000"}  # type: ignore[union-attr]
    monkeypatch.setattr(repository, "git", _refuse)
    assert all(repository.read_entry(tree, path) == expected[path] for path in PATHS if path not in odd)


def _ask_git(history: History, tree: str, path: str) -> TreeEntry | None:
    found = history.git("--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", path.rstrip("/"))
    head, _, name = found.rstrip("\0").partition("\t")
    return TreeEntry(head.split()[0], head.split()[2], name) if found else None


def _refuse(*words: str) -> None:
    raise AssertionError(f"asked git for {words}")


def test_a_tree_that_is_cut_is_no_tree() -> None:
    whole = b"100644 a\0" + b"\1" * 20
    assert find_in_tree(Blob("0" * 40, whole), "a") == TreeEntry("100644", "01" * 20, "a")
    for cut in (whole[:-1], whole[:5], b"\xff a\0" + b"\1" * 20):
        with pytest.raises(ValueError, match=r"within an entry|not found|invalid literal"):
            find_in_tree(Blob("0" * 40, cut), "a")


def test_a_single_number_at_the_end_of_a_branch_is_no_version(tmp_path: Path) -> None:
    history = History.start(tmp_path / "versions")
    history.commit("Begin", {"a.txt": "a\n"})
    history.git("branch", "check_failures_9")
    history.git("tag", "v5.0.0")
    repository = open_repository(history.path)
    for asked, hint in (
        ("v9", "Its newest version tag there is 'v5.0.0'."),
        ("v5", "Did you mean 'v5.0.0'?"),
        ("v5.0.7", "Did you mean 'v5.0.0'?"),
        ("w5.0.7", "Its newest version tag there is 'v5.0.0'."),
        ("v5.1.7", "Its newest version tag there is 'v5.0.0'."),
        ("nothing", f"`git -C {repository.git_dir} for-each-ref` lists what it has."),
    ):
        with pytest.raises(GitError) as told:
            repository.resolve(asked)
        assert told.value.hint == hint
