"""A commit with files put in the place of its own answers as if they were committed."""

from __future__ import annotations

from pathlib import Path

from histories import History
from layline.git import open_repository
from layline.git.overlay import Overlay


def test_an_overlay_is_what_the_commit_would_be(tmp_path: Path) -> None:
    history = History.start(tmp_path / "own")
    first = history.commit("one", {"a.py": "1\n", "b/c.py": "2\n", "b/d.py": "3\n"})
    second = history.commit("two", {"a.py": "changed\n", "b/d.py": None, "b/e.py": "new\n"})
    repository = open_repository(history.path)
    over = Overlay(repository, first, {"a.py": b"changed\n", "b/d.py": None, "b/e.py": b"new\n"})
    assert list(over.read_tree(first)) == list(repository.read_tree(second))
    assert list(over.read_tree(first, "b", sizes=True)) == list(repository.read_tree(second, "b", sizes=True))
    assert list(over.read_tree(second)) == list(repository.read_tree(second))
    assert (over.read_file(first, "a.py"), over.read_file(first, "b/d.py")) == (b"changed\n", None)
    assert over.read_file(first, "b/c.py") == b"2\n"
    assert (over.read_entry(first, "b/d.py"), over.read_entry(first, "b/e.py")) == (
        None,
        repository.read_entry(second, "b/e.py"),
    )
    oids = [entry.oid for entry in over.read_tree(first)]
    found = {blob.oid: blob.data for blob in over.stream_blobs(oids) if not isinstance(blob, str)}
    assert found == {oid: repository.read_blob(oid) for oid in oids}
    assert [over.read_blob(oid) for oid in oids] == [found[oid] for oid in oids]
