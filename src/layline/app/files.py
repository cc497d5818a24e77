"""Writing files so that nothing is ever half-written."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from layline.errors import Error

if TYPE_CHECKING:
    from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace `path` in one step; missing folders are made."""
    data = content.encode("utf-8") if isinstance(content, str) else content
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
                f"{relative} cannot be written: {place} is a symlink or no folder.",
                hint="Put a plain folder in its place.",
            )
    try:
        write_atomically(root / relative, content)
    except OSError as error:
        raise Error(f"{relative} cannot be written: {error.strerror}.") from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
