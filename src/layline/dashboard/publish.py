"""Where a site is written: only into a folder that Layline made, and in one step."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from layline import codec
from layline.errors import ConfigError, Error, RecordError

if TYPE_CHECKING:
    from layline.dashboard import answers

MARKER = ".layline-site.json"
_SCHEMA: Literal["layline.site/1"] = "layline.site/1"
_WITH_REPORTS = ("backends", "weekly", "monthly", "reports", "patches", "campaigns")
_OLD_FILES = frozenset({"index.html", "sections.json", ".nojekyll"})
"""What every build wrote at the top of a site before the marker listed it."""
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
    if ".git" in place.parts:
        raise ConfigError(f"{wanted} lies inside a .git folder.", hint="Name a new folder, such as ./site.")
    root = project.resolve()
    if place == root or place in root.parents:
        raise ConfigError(
            f"{wanted} is the project itself or contains it; a build would replace it.",
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
    return _read_marker(place) is not None


def list_own(place: Path) -> frozenset[str] | None:
    """The files that a build wrote into `place`; None where its marker does not say (a site of an older Layline)."""
    files = (_read_marker(place) or {}).get("files")
    return frozenset(map(str, files)) if isinstance(files, list) else None


def _read_marker(place: Path) -> dict[str, Any] | None:
    marker = place / MARKER
    if marker.is_symlink() or not marker.is_file():
        return None
    try:
        plain = codec.parse_json(marker.read_bytes(), where=str(marker))
    except (RecordError, OSError):
        return None
    return plain if isinstance(plain, dict) and plain.get("schema") == _SCHEMA else None


def refuse_emptying(place: Path, wanted: Path) -> None:
    """A site with reports is not replaced by one without any: a misspelt folder is likelier than that."""
    if any(any((place / folder).glob("**/*.html")) for folder in _WITH_REPORTS):
        raise ConfigError(
            f"The project has no report, patch inventory or campaign, but the site in {wanted} shows some. It was left unchanged.",
            hint="Check project.docs in layline.toml, or remove the old site yourself.",
        )


@contextmanager
def build_aside(place: Path) -> Iterator[Path]:
    """A new folder beside `place`, gone again unless it was put in place; what cannot be written is one sentence."""
    try:
        with _make_aside(place) as aside:
            yield aside
    except OSError as error:
        raise Error(
            f"The site cannot be written to {place}: {error.strerror}.", hint="What was there before is untouched."
        ) from None


@contextmanager
def _make_aside(place: Path) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}.building-"))
    try:
        with (aside / MARKER).open("w", encoding="utf-8") as marker:
            fcntl.flock(marker, fcntl.LOCK_EX)  # says that this build is alive
            marker.write(_describe(()))
            marker.flush()
            aside.chmod(0o755)
            yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        if posixpath.normpath(path) != path or path.startswith(("/", "..")):
            raise Error(f"{path!r} is not inside the site.")  # whatever else fails: nothing outside is written
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    (folder / MARKER).write_text(_describe(files), encoding="utf-8")


def _describe(files: Iterable[str]) -> str:
    told: answers.Site = {"schema": _SCHEMA, "made_by": "layline dashboard build", "files": sorted(files)}
    return codec.to_json(told)


def keep_foreign(place: Path, aside: Path, files: Iterable[str]) -> tuple[str, ...]:
    """Carry over what no build wrote (CNAME, downloads, a .git of the publishing branch); yields their paths."""
    own = list_own(place) or frozenset()
    taken = own | set(files) | {MARKER}
    kept = [path for path in _list_files(place) if path not in taken and (own or _is_surely_foreign(path))]
    for path in kept:
        target = aside / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(place / path, target, follow_symlinks=False)
    return tuple(kept)


def _is_surely_foreign(path: str) -> bool:
    """Where the marker does not list what was written: no build ever wrote these, older ones all the rest."""
    return path.startswith(".") if "/" in path else path not in _OLD_FILES


def _list_files(place: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(place):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in links)
        yield from ((Path(folder) / name).relative_to(place).as_posix() for name in sorted([*links, *names]))


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
