"""Where a site is written: only into a folder that Layline made, and in one step."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from layline import codec
from layline.errors import ConfigError, Error, RecordError

MARKER = ".layline-site.json"
_SCHEMA = "layline.site/1"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def find_place(wanted: Path, project: Path) -> Path:
    """The absolute folder to write, or an error that says why not there."""
    given = wanted if wanted.is_absolute() else Path.cwd() / wanted
    if given.is_symlink():
        raise ConfigError(f"{wanted} is a symlink; a site is not written through one.")
    place = (
        Path(os.path.normpath(given.parent.resolve() / given.name)) if given.name not in ("", "..") else given.resolve()
    )
    root = project.resolve()
    if place == root or place in root.parents:
        raise ConfigError(
            f"{wanted} is the project itself or holds it; a build would replace it.",
            hint="Name a new folder, such as ./site.",
        )
    if not place.exists():
        return place
    if not place.is_dir():
        raise ConfigError(f"{wanted} is not a folder.")
    if any(place.iterdir()) and not is_ours(place):
        raise ConfigError(
            f"{wanted} is not empty and was not made by `layline dashboard build`.",
            hint="Name a new folder, or empty this one yourself.",
        )
    return place


def is_ours(place: Path) -> bool:
    """Whether a folder carries the marker of a site that Layline built."""
    marker = place / MARKER
    if marker.is_symlink() or not marker.is_file():
        return False
    try:
        plain = codec.parse_json(marker.read_bytes(), where=str(marker))
    except (RecordError, OSError):
        return False
    return isinstance(plain, dict) and plain.get("schema") == _SCHEMA


@contextmanager
def build_aside(place: Path) -> Iterator[Path]:
    """A new folder beside `place`; it is removed unless it was put in place. Those of killed builds are swept."""
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}.building-"))
    try:
        with (aside / MARKER).open("w", encoding="utf-8") as marker:
            fcntl.flock(marker, fcntl.LOCK_EX)  # says that this build is alive
            marker.write(codec.to_json({"schema": _SCHEMA, "made_by": "layline dashboard build"}))
            marker.flush()
            aside.chmod(0o755)
            yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        if posixpath.normpath(path) != path or path.startswith(("/", "..")):
            raise Error(f"{path!r} does not stand inside the site.")  # whatever else fails: nothing outside is written
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def put_in_place(aside: Path, place: Path) -> None:
    """Swap the finished folder with the old one: a reader sees one whole site or the other."""
    if not place.exists():
        aside.rename(place)
        return
    if not _exchange(aside, place):
        old = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}.building-"))
        place.rename(old / "old")
        aside.rename(place)
        shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Linux swaps two names in one step; elsewhere two renames must do."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise Error(f"{other} cannot be replaced: {os.strerror(code)}.")


def _sweep(place: Path) -> None:
    """Remove what killed builds left: folders of ours whose lock nobody holds."""
    for left in place.parent.glob(f".{place.name}.building-*"):
        marker = left / MARKER
        if left.is_symlink() or not marker.is_file() or marker.is_symlink():
            continue
        with marker.open("rb") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # another build is at work there
            shutil.rmtree(left, ignore_errors=True)
