from __future__ import annotations

import functools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from histories import History
from layline.core.evidence import Skipped
from layline.errors import GitError
from layline.git import Blob, open_repository
from layline.source import Cache, Index, Part, Tree, build_index, open_cache
from layline.source.cache import FILE_NAME
from layline.source.workers import encode_blobs


def history_of(tmp_path: Path, files: dict[str, str | bytes | None]) -> tuple[History, str]:
    history = History.start(tmp_path / "repo")
    return history, history.commit("all", files)


def index_of(history: History, commit: str, cache: Cache | None = None) -> Index:
    return build_index([Part(tree=Tree(open_repository(history.path), commit))], cache)


def test_symlinks_are_followed_inside_the_tree(tmp_path: Path) -> None:
    history = History.start(tmp_path / "repo")
    (history.path / "link.py").symlink_to("real.py")
    (history.path / "out.py").symlink_to("/etc/passwd")
    commit = history.commit("links", {"real.py": "x = 1\n"})
    assert list(index_of(history, commit).entries) == ["link", "real"]


def test_what_cannot_be_read_is_part_of_the_answer(tmp_path: Path) -> None:
    history, commit = history_of(tmp_path, {"bad.py": "def f(:\n", "latin.py": b"x = '\xe9'\n", "good.py": "x = 1\n"})
    index = index_of(history, commit)
    assert [str(item) for item in index.skipped()] == [
        f"bad.py: Python {sys.version_info.major}.{sys.version_info.minor} cannot parse it: invalid syntax (line 1)",
        "latin.py: byte 5 is not UTF-8",
    ]
    assert [entry.name for entry, _ in index.modules()] == ["good"]


def test_cost_follows_unshared_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history, first = history_of(tmp_path, {f"m{number}.py": f"x = {number}\n" for number in range(9)})
    second = history.commit("one", {"m3.py": "x = 'new'\n"})
    cache = open_cache(tmp_path / "cache")
    index_of(history, first, cache)
    read: list[str] = []
    stream = type(open_repository(history.path)).stream_blobs
    monkeypatch.setattr("layline.git.Repository.stream_blobs", lambda self, oids: stream(self, read_all(oids, read)))
    index = index_of(history, second, cache)
    assert len(read) == 1
    module = index.module("m3")
    assert module is not None
    assert module.definitions[0].value == "'new'"


def read_all(oids: list[str], seen: list[str]) -> list[str]:
    seen.extend(oids)
    return oids


def test_same_answer_from_cache_processes_and_one_process(tmp_path: Path) -> None:
    blobs = [
        Blob(f"{number:040x}", f"def f{number}(a={number}): return {'x' * 20_000!r}\n".encode()) for number in range(40)
    ]
    alone = dict(encode_blobs(blobs, workers=1))
    assert dict(encode_blobs(blobs, workers=2)) == alone
    cache = Cache(tmp_path, "1")
    cache.store(alone.items())
    assert Cache(tmp_path, "1").load(alone) == alone
    assert Cache(tmp_path, "2").load(alone) == {}


def test_where_no_process_can_start_this_one_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = [Blob(f"{number:040x}", f"x{number} = 1\n".encode() + b"#" * 30_000) for number in range(40)]
    alone = dict(encode_blobs(blobs, workers=1))
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert dict(encode_blobs(blobs, workers=2)) == alone


def test_what_reading_the_blobs_raises_is_raised_where_they_are_asked_for() -> None:
    def read() -> Iterator[Blob]:
        yield from (Blob(f"{number:040x}", b"x = 1\n" + b"#" * 30_000) for number in range(40))
        raise GitError("the object store looks corrupt")

    with pytest.raises(GitError, match="corrupt"):
        list(encode_blobs(read(), workers=2))


def test_a_blob_that_kills_its_parser_costs_that_blob_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "layline.source.workers._START",
        "import sys, os; sys.path.insert(0, sys.argv[1]); import layline.source.parsing as p; true = p.encode_module\n"
        "p.encode_module = lambda data: os._exit(9) if b'crash' in data else true(data)\n"
        "from layline.source.workers import serve; serve(sys.argv[2])",
    )
    blobs = [Blob(f"{number:040x}", b"x = 1\n" + b"#" * 30_000) for number in range(20)]
    blobs.append(Blob("f" * 40, b"crash" + b"#" * 30_000))
    found = dict(encode_blobs(blobs, workers=2))
    assert json.loads(found["f" * 40]) == "the parser crashed on it"
    assert sum("crashed" in text for text in found.values()) == 1
    assert len(found) == 21


BROKEN = [
    b"this is not a database, it is a long enough text to be read as a header page" * 100,
    b"",
    b"SQLite format 3\0" + b"\xff" * 4096,
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_corrupt_cache_is_set_aside(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    cache = Cache(tmp_path, "1")
    cache.store([("a" * 40, '"why"')])
    assert cache.load(["a" * 40]) == {"a" * 40: '"why"'}
    if content:
        assert (tmp_path / "source.aside-1").read_bytes() == content


def test_another_programs_database_is_set_aside(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / FILE_NAME)
    other.execute("CREATE TABLE module (mine TEXT)")
    other.commit()
    other.close()
    cache = Cache(tmp_path, "1")
    cache.store([("a" * 40, '"why"')])
    assert cache.load(["a" * 40]) == {"a" * 40: '"why"'}
    kept = sqlite3.connect(tmp_path / "source.aside-1")
    assert kept.execute("SELECT name FROM sqlite_schema").fetchone() == ("module",)
    kept.close()


def test_a_damaged_row_is_read_again(tmp_path: Path) -> None:
    history, commit = history_of(tmp_path, {"m.py": "x = 1\n"})
    index_of(history, commit, open_cache(tmp_path / "cache"))
    raw = sqlite3.connect(tmp_path / "cache" / FILE_NAME)
    raw.execute("UPDATE module SET text = 'rubbish'")
    raw.commit()
    raw.close()
    module = index_of(history, commit, open_cache(tmp_path / "cache")).module("m")
    assert module is not None
    assert module.names() == ("x",)


def test_a_file_damaged_in_use_costs_no_answer(tmp_path: Path) -> None:
    cache = Cache(tmp_path, "1")
    cache.store((f"{number:040x}", json.dumps("y" * 5000)) for number in range(200))
    cache.close()
    data = bytearray((tmp_path / FILE_NAME).read_bytes())
    data[4096:] = b"\x00" * (len(data) - 4096)
    (tmp_path / FILE_NAME).write_bytes(bytes(data))
    again = Cache(tmp_path, "1")
    assert again.load(f"{number:040x}" for number in range(200)) == {}
    again.store([("a" * 40, '"why"')])


def test_no_place_for_a_cache_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = Cache(tmp_path / "file" / "cache", "1")
    cache.store([("a" * 40, '"why"')])
    assert cache.load(["a" * 40]) == {}


def test_eviction_keeps_what_was_used_last(tmp_path: Path) -> None:
    old = Cache(tmp_path, "1", max_bytes=100_000)
    old.store([("0" * 40, json.dumps("o" * 40_000))])
    old.close()
    new = Cache(tmp_path, "1", max_bytes=100_000)
    new.store([("1" * 40, json.dumps("n" * 40_000)), ("2" * 40, json.dumps("n" * 39_000))])
    assert new.load(["0" * 40, "1" * 40, "2" * 40]).keys() == {"1" * 40, "2" * 40}


def test_a_process_counts_as_one_opening_of_a_cache(tmp_path: Path) -> None:
    """Else all that a run reads is marked as used again, and so written, by the next run."""
    caches = [Cache(tmp_path, analyser) for analyser in ("1", "2", "3")]
    with closing(sqlite3.connect(caches[0].file)) as connection:
        assert connection.execute("SELECT count FROM opening").fetchone() == (1,)


def test_several_processes_share_one_cache(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom layline.source import Cache\n"
        "cache = Cache(Path(sys.argv[1]), '1')\nme = int(sys.argv[2])\n"
        "for n in range(30): cache.store([(f'{me * 1000 + n:040x}', '\"t\"'), (f'{n:040x}', '\"shared\"')])\n"
        "assert len(cache.load(f'{me * 1000 + n:040x}' for n in range(30))) == 30\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(me)]) for me in (1, 2, 3)]
    assert [process.wait(timeout=300) for process in running] == [0, 0, 0]
    wanted = [f"{me * 1000 + n:040x}" for me in (1, 2, 3) for n in range(30)]
    assert len(Cache(tmp_path, "1").load(wanted)) == 90


def test_a_cache_that_another_process_makes_meanwhile_is_not_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first look at an empty file and the next one, its tables come to be."""

    asked: list[object] = []

    class Slow(sqlite3.Connection):
        def execute(self, *words: Any) -> sqlite3.Cursor:
            asked.append(words)
            if len(asked) == 2:
                monkeypatch.undo()
                Cache(tmp_path, "1").store([("a" * 40, '"theirs"')])
            return super().execute(*words)

    monkeypatch.setattr("layline.source.cache.sqlite3.connect", functools.partial(sqlite3.connect, factory=Slow))
    assert Cache(tmp_path, "1").load(["a" * 40]) == {"a" * 40: '"theirs"'}


def test_missing_objects_are_skipped_not_cached(tmp_path: Path) -> None:
    history, commit = history_of(tmp_path, {"m.py": "x = 1\n", "n.py": "y = 1\n"})
    blob = history.git("rev-parse", f"{commit}:m.py")
    (history.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    index = index_of(history, commit, open_cache(tmp_path / "cache"))
    assert list(index.skipped()) == [Skipped("m.py", "the object is not in this repository")]
    assert open_cache(tmp_path / "cache").load([blob]) == {}
