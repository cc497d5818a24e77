"""One process answers many questions, and never the wrong one."""

from __future__ import annotations

import os

import pytest

from histories import History
from layline.git import Blob, open_repository
from layline.git.objects import ObjectReader

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
