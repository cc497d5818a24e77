"""Analysed blobs on disk: SQLite, keyed by blob id and analyser version. Losing it costs time, never an answer."""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
import zlib
from collections import ChainMap
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

FILE_NAME = "source.sqlite"
MAX_BYTES = 512 * 1024 * 1024
_APPLICATION = 0x4C41594C
"""`LAYL` in the header of the file: another program's database is not ours to use."""
_SCHEMA = 1
_FRESH = 20
"""A row is marked as used again when its mark is this many openings old, so that reading seldom writes."""
_TABLES = """
CREATE TABLE module (blob TEXT NOT NULL, analyser TEXT NOT NULL, checksum INTEGER NOT NULL, used INTEGER NOT NULL,
                     text TEXT NOT NULL, PRIMARY KEY (blob, analyser));
CREATE TABLE opening (count INTEGER NOT NULL);
INSERT INTO opening VALUES (0);
"""

Result = TypeVar("Result")
Rows: TypeAlias = dict[tuple[str, str], str]
"""Analyser and blob → text."""
_openings: dict[Path, int] = {}
"""Which opening of a file this process is, however many analysers it opens it for."""
_handed_over: list[ChainMap[tuple[str, str], str]] = []
"""The innermost `collect_rows`, last; while there is one, no cache of this process writes."""


def cache_directory() -> Path:
    """Where Layline keeps what it can make again; LAYLINE_CACHE moves it."""
    chosen = os.environ.get("LAYLINE_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "layline"


@contextmanager
def collect_rows(known: Rows | None = None) -> Iterator[Rows]:
    """What caches are asked to keep is collected for the one process that writes; it can be loaded meanwhile.

    `known`: what was collected before and handed over; it can be loaded, too, and is not collected again.
    """
    rows: Rows = {}
    _handed_over.append(ChainMap(rows, known if known is not None else {}))
    try:
        yield rows
    finally:
        _handed_over.pop()


def store_rows(directory: Path, rows: Rows) -> None:
    """Keep what another process collected."""
    by_analyser: dict[str, list[tuple[str, str]]] = {}
    for (analyser, blob), text in rows.items():
        by_analyser.setdefault(analyser, []).append((blob, text))
    for analyser, modules in by_analyser.items():
        cache = Cache(directory, analyser)
        cache.store(modules)
        cache.close()


class Cache:
    """Encoded modules by blob id. Every failure of the store is a miss; a broken file is set aside and begun anew."""

    def __init__(self, directory: Path, analyser: str, *, max_bytes: int = MAX_BYTES) -> None:
        self.file = directory / FILE_NAME
        self._analyser = analyser
        self._max_bytes = max_bytes
        self._opening = 0
        self._connection = self._open()

    def load(self, blobs: Iterable[str]) -> dict[str, str]:
        """What is stored of these blobs; rows whose checksum is wrong do not count."""
        asked = set(blobs)
        collected = _handed_over[-1] if _handed_over else ChainMap[tuple[str, str], str]()
        found = {blob: collected[self._analyser, blob] for blob in asked if (self._analyser, blob) in collected}
        wanted = json.dumps(sorted(asked - found.keys()))
        try:
            stale: list[str] = []
            for blob, text, is_stale in self._select(wanted):
                found[blob] = text
                if is_stale:
                    stale.append(blob)
            self._mark(stale)
        except sqlite3.OperationalError:
            return found  # busy: what was read counts, the rest is parsed
        except sqlite3.Error:
            self._start_over()
        return found

    def store(self, modules: Iterable[tuple[str, str]]) -> None:
        """Keep encoded modules; what does not fit the size limit is what was used longest ago."""
        if _handed_over:
            _handed_over[-1].update({(self._analyser, blob): text for blob, text in modules})
            return
        if self._connection is None:
            return
        rows = [(blob, self._analyser, _checksum(text), self._opening, text) for blob, text in modules]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO module VALUES (?, ?, ?, ?, ?)", rows)
            self._evict()
        except sqlite3.OperationalError:
            return  # busy, full or read-only: the next run tries again
        except sqlite3.Error:
            self._start_over()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _select(self, wanted: str) -> Iterator[tuple[str, str, bool]]:
        if self._connection is None:
            return
        query = (
            "SELECT blob, checksum, used, text FROM module WHERE analyser = ? AND blob IN (SELECT value FROM "
            "json_each(?))"
        )
        for blob, checksum, used, text in self._connection.execute(query, (self._analyser, wanted)):
            if isinstance(text, str) and text[:1] in {"{", '"'} and _checksum(text) == checksum:
                yield blob, text, used < self._opening - _FRESH

    def _mark(self, blobs: list[str]) -> None:
        if self._connection is not None and blobs and not _handed_over:
            with suppress(sqlite3.OperationalError), self._connection:
                query = "UPDATE module SET used = ? WHERE analyser = ? AND blob IN (SELECT value FROM json_each(?))"
                self._connection.execute(query, (self._opening, self._analyser, json.dumps(blobs)))

    def _evict(self) -> None:
        if self._connection is None or _measure(self._connection) <= self._max_bytes:
            return
        used = self._connection.execute("SELECT total(length(text)) FROM module").fetchone()[0]
        with self._connection:
            oldest = self._connection.execute("SELECT rowid, length(text) FROM module ORDER BY used, rowid")
            doomed: list[tuple[int]] = []
            for row, size in oldest:
                if used <= self._max_bytes * 0.8:
                    break
                doomed.append((row,))
                used -= size
            self._connection.executemany("DELETE FROM module WHERE rowid = ?", doomed)
        with suppress(sqlite3.OperationalError):
            self._connection.execute("VACUUM")

    def _open(self) -> sqlite3.Connection | None:
        if _handed_over:
            return self._open_to_read()
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            return self._connect()
        except sqlite3.OperationalError:
            return None  # busy for long, read-only, no space: we work without
        except (sqlite3.Error, _Foreign):
            return self._set_aside()
        except OSError:
            return None

    def _open_to_read(self) -> sqlite3.Connection | None:
        try:
            uri = f"{self.file.absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, timeout=30, check_same_thread=False)
            weakref.finalize(self, connection.close).atexit = False
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            return connection if application == _APPLICATION else None
        except sqlite3.Error:
            return None  # none there, or none that can be read

    def _set_aside(self) -> sqlite3.Connection | None:
        """Keeps a file that is not ours, or no longer whole, under another name and begins an empty one."""
        try:
            for number in range(1, 1000):
                kept = self.file.with_suffix(f".aside-{number}")
                if not kept.exists():
                    self.file.rename(kept)
                    break
            for suffix in ("-wal", "-shm"):
                self.file.with_name(self.file.name + suffix).unlink(missing_ok=True)
            return self._connect()
        except (OSError, sqlite3.Error, _Foreign):
            return None

    def _start_over(self) -> None:
        self.close()
        self._connection = None if _handed_over else self._set_aside()

    def _connect(self) -> sqlite3.Connection:
        # autocommit off only inside `with`; 30 s of patience for other processes
        connection = sqlite3.connect(self.file, timeout=30, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        # a cache that nobody closed: sqlite3 no longer closes silently (Python 3.13)
        weakref.finalize(self, connection.close).atexit = False
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        # tables first: another process may make them between two of these questions, and names itself in the same step
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if tables and (application, version) != (_APPLICATION, _SCHEMA):
            raise _Foreign
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            _create(connection)
            _openings.pop(self.file, None)
        if self.file not in _openings:
            with suppress(sqlite3.OperationalError), connection:
                connection.execute("UPDATE opening SET count = count + 1")
            _openings[self.file] = connection.execute("SELECT count FROM opening").fetchone()[0]
        self._opening = _openings[self.file]


@dataclass(frozen=True, slots=True)
class Kept:
    """How much of one kind is kept."""

    analyser: str
    count: int
    size: int


def read_contents(file: Path) -> list[Kept]:
    """What a cache holds, the largest kind first; nothing where it cannot be read."""
    if not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
            query = "SELECT analyser, count(*), total(length(text)) FROM module GROUP BY analyser ORDER BY 3 DESC, 1"
            return [Kept(name, count, int(size)) for name, count, size in connection.execute(query)]
    except sqlite3.Error:
        return []


class _Foreign(Exception):
    """The file is a database, but another program's or another version's."""


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")  # of several processes that start at once, one makes the tables
    try:
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            for statement in _TABLES.split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _measure(connection: sqlite3.Connection) -> int:
    """Bytes of the pages in use; adding up the rows would read the whole file after every store."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((pages - free) * size)


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
