"""What a path given to us turns into: only regular files are replaced."""

from __future__ import annotations

import fcntl
import os
import resource
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from layline.errors import Error
from layline.files import has_input, write_atomically, write_inside, write_named


def _make_null(path: Path) -> None:
    """A device node of our own, made like the machine's null device."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        with path.open("wb"):
            pass
    except PermissionError:
        pytest.skip("device nodes can only be made, and opened, by root outside a container")


def _make_terminal(path: Path) -> int:
    master, slave = os.openpty()
    path.symlink_to(os.ttyname(slave))
    return master


@pytest.mark.parametrize("write", [write_atomically, write_named])
def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    device = tmp_path / "null"
    _make_null(device)
    before = device.stat()
    write(device, "words")
    after = device.stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


@pytest.mark.parametrize("write", [write_atomically, write_named])
def test_a_pipe_carries_the_bytes(tmp_path: Path, write: Callable[[Path, str], None]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_bytes()))
    reader.start()
    write(pipe, "words" * 50_000)
    reader.join()
    assert said == [b"words" * 50_000]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_terminal_shows_the_text(tmp_path: Path) -> None:
    master = _make_terminal(tmp_path / "terminal")
    write_named(tmp_path / "terminal", "words")
    assert os.read(master, 100) == b"words"
    assert (tmp_path / "terminal").is_symlink()


def test_a_named_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to("target")
    write_named(link, "new")
    assert (link.is_symlink(), target.read_text()) == (True, "new")


def test_a_named_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("folder/target")
    write_named(tmp_path / "link", "new")
    assert (tmp_path / "folder/target").read_text() == "new"


def test_standard_output_is_written_not_replaced(tmp_path: Path) -> None:
    """The shell's file behind `/dev/stdout` keeps what it holds, as with `>>`."""
    with (tmp_path / "out").open("ab") as out:
        out.write(b"before ")
        out.flush()
        write_named(Path(f"/proc/self/fd/{out.fileno()}"), "words")
        out.write(b" after")
    assert (tmp_path / "out").read_text() == "before words after"


def test_a_link_of_the_project_is_replaced_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    root = tmp_path / "project"
    root.mkdir()
    (root / "record.json").symlink_to(precious)
    write_inside(root, "record.json", "{}")
    assert precious.read_text() == "mine"
    assert not (root / "record.json").is_symlink()


def test_what_cannot_be_written_is_named_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "record.json").mkdir()
    with pytest.raises(Error) as told:
        write_inside(tmp_path, "record.json", "{}")
    assert f"{tmp_path.name}/record.json cannot be written: Is a directory." in told.value.message
    assert told.value.hint == "Name a folder that you can write to."


def test_a_folder_is_refused_by_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Error, match="Is a directory"):
        write_named(tmp_path, "words")


def test_mode_and_neighbours_of_a_replaced_file(tmp_path: Path) -> None:
    file = tmp_path / "new/file"
    write_atomically(file, "one")
    write_atomically(file, b"two")
    assert file.read_bytes() == b"two"
    assert [path.name for path in file.parent.iterdir()] == ["file"]


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 1200, reason="this many files may not be open")
def test_a_file_number_beyond_what_select_takes_is_waited_for() -> None:
    reading, writing = os.pipe()
    high = fcntl.fcntl(reading, fcntl.F_DUPFD, 1100)
    try:
        assert not has_input(high, 0)
        os.write(writing, b"x")
        assert has_input(high, None)
    finally:
        for file in (reading, writing, high):
            os.close(file)
