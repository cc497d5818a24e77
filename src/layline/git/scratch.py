"""The files of a commit in a folder of their own, written without git's checkout: no hook, no filter, no attribute."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from layline.errors import GitError
from layline.git.objects import Blob

if TYPE_CHECKING:
    from layline.git.repository import Repository


def write_files(repository: Repository, commit: str, folder: Path) -> None:
    """Every file of the commit below `folder`; links last, so that nothing is written through one."""
    entries = [entry for entry in repository.read_tree(commit) if entry.is_file or entry.is_symlink]
    for entry in entries:
        _refuse_outside(entry.path)
    by_blob: dict[str, list[tuple[str, str]]] = {}
    for entry in entries:
        by_blob.setdefault(entry.oid, []).append((entry.path, entry.mode))
    links: list[tuple[Path, bytes]] = []
    for blob in repository.stream_blobs(by_blob):
        if not isinstance(blob, Blob):
            raise GitError(f"{repository.name} lacks the object {blob}.", hint="Fetch it first.")
        for path, mode in by_blob[blob.oid]:
            place = folder / path
            if mode == "120000":
                links.append((place, blob.data))
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(blob.data)
            place.chmod(0o755 if mode == "100755" else 0o644)
    for place, data in links:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(data.decode("utf-8", "surrogateescape"))


def _refuse_outside(path: str) -> None:
    parts = PurePosixPath(path).parts
    if path.startswith("/") or any(part in {"..", "."} or part.lower() == ".git" for part in parts):
        raise GitError(f"The tree holds a path that leaves its folder: {path!r}.")
