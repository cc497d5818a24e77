"""Where a text stands in the files of one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.errors import GitError, SilentGitError
from layline.source.tree import MAX_BLOB_BYTES

if TYPE_CHECKING:
    from layline.git import Repository

_LONGEST = 160


def find_written(repository: Repository, commit: str, text: str) -> tuple[str | None, int]:
    """The first place, `path:line:words`, and how many files could not be looked into."""
    try:
        out = repository.git("grep", "-n", "-I", "-F", "--no-color", "-e", text, commit)
    except SilentGitError:
        return None, 0
    except GitError:
        return _search(repository, commit, text.encode())  # git gives up at the first blob that is not here
    return out.decode("utf-8", "replace").split("\n", 1)[0].removeprefix(f"{commit}:")[:_LONGEST], 0


def _search(repository: Repository, commit: str, text: bytes) -> tuple[str | None, int]:
    entries = [entry for entry in repository.read_tree(commit) if entry.is_file]
    unread = 0
    for entry, blob in zip(entries, repository.stream_blobs(entry.oid for entry in entries), strict=True):
        if isinstance(blob, str):
            unread += 1
        elif len(blob.data) <= MAX_BLOB_BYTES and b"\0" not in blob.data[:8000] and text in blob.data:
            number = blob.data[: blob.data.index(text)].count(b"\n") + 1
            words = blob.data.split(b"\n")[number - 1].decode("utf-8", "replace")
            return f"{entry.path}:{number}:{words}"[:_LONGEST], 0
    return None, unread
