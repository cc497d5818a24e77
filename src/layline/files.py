"""Writing files so that nothing is ever half-written, and nothing but a regular file is ever replaced; waiting for one
that somebody else writes.
"""

from __future__ import annotations

import os
import select
import stat
import tempfile
from pathlib import Path

from layline.errors import Error

_LONGEST_CHAIN = 40
"""Of symlinks, as Linux follows them."""


def write_named(path: Path, content: str | bytes) -> None:
    """Save to the path a user names (`-o`): a symlink is followed, as every other tool does; a failure is a
    sentence.
    """
    try:
        if _is_open_file(path):
            _write_into(path, content)
        else:
            write_atomically(Path(os.path.realpath(path)), content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Error(f"{path} cannot be written: {error.strerror}.") from None


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` in one step; missing folders are made.

    A device, pipe or terminal is written to and stays what it is. A symlink is replaced, never followed: in a project
    that others wrote it may lead anywhere.
    """
    if _is_special(path):
        _write_into(path, content)
        return
    data = _encode(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101  mkstemp makes it private
        os.replace(temporary, path)  # noqa: PTH105  atomic on POSIX
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108
        raise


def write_inside(root: Path, relative: str, content: str | bytes) -> None:
    """As `write_atomically`, for a file of the user's project: never through a symlink, and a failure is a sentence."""
    place = root
    for part in relative.split("/")[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise Error(
                f"{relative} cannot be written: {place} is a symlink or not a folder.",
                hint="Put a plain folder in its place.",
            )
    try:
        write_atomically(root / relative, content)
    except OSError as error:
        where = name_path(root / relative)
        raise Error(
            f"{where} cannot be written: {error.strerror}.", hint="Name a folder that you can write to."
        ) from None


def name_path(path: Path) -> str:
    """As a person types it here; whole where it lies far away."""
    relative = os.path.relpath(os.path.realpath(path))
    return str(path) if relative.startswith("../../") else relative


def _is_special(path: Path) -> bool:
    """True for what is neither a regular file nor a folder nor a symlink."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _is_open_file(path: Path) -> bool:
    """True for a name of a file that is open already (`/dev/stdout`, `/dev/fd/3`): whoever opened it says where it
    goes.
    """
    for _ in range(_LONGEST_CHAIN):
        if not path.is_symlink() or path.is_relative_to("/proc"):
            break
        path = path.parent / path.readlink()
    return path.is_symlink() and path.is_relative_to("/proc")


def _write_into(path: Path, content: str | bytes) -> None:
    """Write without making or cutting anything: a pipe, a device, a file that someone else opened."""
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "wb") as file:  # noqa: PTH123  never cut
        file.write(_encode(content))


def _encode(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def has_input(file: int, seconds: float | None) -> bool:
    """Whether something can be read within a time; unlike `select`, also of file numbers above 1,023."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    return bool(waiting.poll(None if seconds is None else max(0, seconds) * 1000))
