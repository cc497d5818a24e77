"""The kernel files at one moment: paths, modes and bytes, named by their hash."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.campaign.ledger.crash_points import crash_point
from layline.errors import BenchError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MAX_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One kernel file."""

    path: str
    mode: str
    """As git writes it: 100644 or 100755."""
    data: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class KernelFiles:
    """All files a round may change, in path order."""

    files: tuple[File, ...]

    @property
    def id(self) -> str:
        listed = "".join(f"{file.mode} {file.sha256} {file.path}\0" for file in self.files)
        return hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()

    def file(self, path: str) -> File | None:
        return next((file for file in self.files if file.path == path), None)


def read_kernel_files(root: Path, paths: Iterable[str]) -> KernelFiles:
    """The kernel files as they stand in a tree; a missing file is simply not in the snapshot."""
    return KernelFiles(tuple(file for path in sorted(paths) if (file := _read_file(root, path)) is not None))


def _read_file(root: Path, path: str) -> File | None:
    place = root / path
    try:
        found = place.lstat()
        if not stat.S_ISREG(found.st_mode) or place.parent.resolve() != (root.resolve() / path).parent:
            raise ConfigError(
                f"{path} is not a plain file inside the tree.", hint="A kernel file cannot be a link or a device."
            )
        if found.st_size > MAX_BYTES:
            raise ConfigError(f"{path} is larger than {MAX_BYTES >> 20} MiB.", hint="A kernel is source text.")
        return File(path=path, mode="100755" if found.st_mode & stat.S_IXUSR else "100644", data=place.read_bytes())
    except FileNotFoundError:
        return None


def encode_content(file: File) -> dict[str, Any]:
    """A file's bytes for the ledger: text where it is text, base64 where not."""
    try:
        return {"sha256": file.sha256, "text": file.data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"sha256": file.sha256, "base64": base64.b64encode(file.data).decode("ascii")}


def decode_content(plain: Mapping[str, Any]) -> bytes:
    data = plain["text"].encode("utf-8") if "text" in plain else base64.b64decode(plain["base64"])
    if hashlib.sha256(data).hexdigest() != plain["sha256"]:
        raise BenchError(f"The ledger's copy of {plain['sha256'][:12]} does not have that hash.")
    return bytes(data)


def encode_kernel_files(kernel: KernelFiles) -> dict[str, Any]:
    return {
        "id": kernel.id,
        "files": [{"path": file.path, "mode": file.mode, "sha256": file.sha256} for file in kernel.files],
    }


def write_kernel_files(root: Path, kernel: KernelFiles, paths: Iterable[str]) -> None:
    """Make the kernel files of a tree exactly those of the snapshot, each in one step."""
    for path in sorted(paths):
        place, file = root / path, kernel.file(path)
        temporary = place.with_name(f".{place.name}.layline")
        temporary.unlink(missing_ok=True)  # a crash may have left one
        if file is None:
            place.unlink(missing_ok=True)
            continue
        current = _read_file(root, path) if place.exists() else None
        if current == file:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as handle:
            handle.write(file.data)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.chmod(_mode(place, file))
        crash_point()
        temporary.replace(place)
        crash_point()


def _mode(place: Path, file: File) -> int:
    """Permissions of the file that stands there, its executable bit as in the snapshot."""
    kept = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o644
    executable = (kept & 0o444) >> 2
    return kept | executable if file.mode == "100755" else kept & ~0o111
