"""Objects through one long-lived `git cat-file --batch`."""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TypeAlias

from layline.errors import GitError, MissingObject
from layline.git.commands import argv, environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


_FEW = 60
"""So many ids fit into the smallest pipe (4,096 bytes) at once: git may wait for us to read while we still write."""
_Reply: TypeAlias = "tuple[str, str, bytes] | None"
"""Id, type and bytes of an object; None where it is missing."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a tree; `mode` tells files, symlinks (120000) and gitlinks (160000) apart."""

    mode: str
    oid: str
    path: str
    size: int | None = None

    @property
    def is_gitlink(self) -> bool:
        return self.mode == "160000"

    @property
    def is_symlink(self) -> bool:
        return self.mode == "120000"

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")


@dataclass(frozen=True, slots=True)
class Blob:
    oid: str
    data: bytes


def find_in_tree(tree: Blob, name: str) -> TreeEntry | None:
    """The entry called `name` of a tree as git stores it: mode, name and the bytes of an id, again and again.

    ValueError where it is nothing of the kind.
    """
    wanted, digits = name.encode("utf-8", "surrogateescape"), len(tree.oid) // 2
    at = 0
    while at < len(tree.data):
        end = tree.data.index(b"\0", at)
        mode, _, called = tree.data[at:end].partition(b" ")
        at = end + 1 + digits
        if at > len(tree.data):
            raise ValueError(f"tree {tree.oid} ends within an entry")
        if called == wanted:
            return TreeEntry(_show_mode(int(mode, 8)), tree.data[end + 1 : at].hex(), name)
    return None


def _show_mode(mode: int) -> str:
    """As `git ls-tree` does: of a file's permissions only one says anything, whatever old programs wrote."""
    return f"{0o100755 if mode & 0o100 else 0o100644:06o}" if mode >> 12 == 0o10 else f"{mode:06o}"


class ObjectReader:
    """Answers one object at a time, or streams many; safe to use from several threads."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def read(self, name: str, *, kind: str | None = None) -> Blob:
        """The object called `name` (an id, or `<commit>:<path>`)."""
        if "\n" in name:
            raise MissingObject(repr(name), self._name)
        [found] = self._ask([name])
        if found is None:
            raise MissingObject(name, self._name)
        oid, type_, data = found
        if kind is not None and type_ != kind:
            raise MissingObject(f"{name} of type {kind} (it is a {type_})", self._name)
        return Blob(oid, data)

    def stream(self, oids: Iterable[str]) -> Iterator[Blob | str]:
        """Every object in order; the id itself where it is missing."""
        wanted = list(oids)
        replies = self._stream_many(wanted) if len(wanted) > _FEW else self._ask(wanted)
        for oid, found in zip(wanted, replies, strict=True):
            yield oid if found is None else Blob(found[0], found[2])

    def _ask(self, names: list[str]) -> list[_Reply]:
        """A few objects of the process that waits for questions; a new one is started after a failure, so that no
        answer is taken for that to another question.
        """
        if not names:
            return []
        with self._lock:
            stdin, stdout = _pipes(self._start())
            try:
                stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
                stdin.flush()
                return [self._reply(stdout, name) for name in names]
            except BrokenPipeError:
                self._stop()
                raise self._explain_end(names[0]) from None
            except BaseException:
                self._stop()
                raise

    def _stream_many(self, wanted: list[str]) -> Iterator[_Reply]:
        """One process of its own, fed by a thread."""
        process = _open_batch(self._directory, buffered=True)
        stdin, stdout = _pipes(process)
        feeder = threading.Thread(target=_feed, args=(stdin, wanted), daemon=True)
        feeder.start()
        try:
            for oid in wanted:
                yield self._reply(stdout, oid)
        finally:
            process.kill()
            feeder.join(timeout=5)
            _close(process)

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():  # after a fork: the other side goes on asking that process
            self._process, self._owner = None, os.getpid()
        if self._process is None or self._process.poll() is not None:
            self._process = _open_batch(self._directory, buffered=False)
        return self._process

    def _stop(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            _close(self._process)
        self._process = None

    def _reply(self, stdout: IO[bytes], name: str) -> _Reply:
        header = stdout.readline()
        if not header:
            raise self._explain_end(name)
        words = header.rstrip(b"\n").rsplit(b" ", 2)
        if len(words) != 3 or not words[2].isdigit():
            return None  # "<name> missing", "<name> ambiguous"
        size = int(words[2])
        data = stdout.read(size)
        stdout.read(1)
        if len(data) != size:
            raise GitError(f"{self._name}: {name} is cut short; the object store looks corrupt.")
        return words[0].decode("ascii"), words[1].decode("ascii"), data

    def _explain_end(self, name: str) -> GitError:
        return GitError(
            f"{self._name}: git stopped while reading {name}; the object store looks corrupt.",
            hint="Run `git fsck` in that repository, or fetch a fresh clone.",
        )


def _open_batch(directory: Path, *, buffered: bool) -> subprocess.Popen[bytes]:
    options = ("cat-file", "--batch", "--buffer") if buffered else ("cat-file", "--batch")
    return subprocess.Popen(
        argv(directory, options),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise GitError("git cat-file gave no pipes.")
    return process.stdin, process.stdout


def _feed(stdin: IO[bytes], oids: list[str]) -> None:
    try:
        stdin.write("".join(f"{oid}\n" for oid in oids).encode("ascii"))
        stdin.close()
    except (BrokenPipeError, ValueError):
        return  # the reader has stopped; nobody waits for the rest


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    process.wait()
