"""Files of ours that are written for a backend but stand beyond its configured folders: examples, tests, configs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.config import Backend

_WORDS = re.compile(r"[^a-z0-9]+")


def list_beyond(paths: Iterable[str], key: str, backend: Backend) -> tuple[tuple[str, int], ...]:
    """Folders and files beyond the configured ones that are called like the backend or a package of it."""
    names = (key, *(name for name in backend.packages if "." not in name))
    folders = (folder.rstrip("/") for folder in (*backend.integration, *backend.patches))
    return find_beyond(paths, names, (*folders, *([backend.path] if backend.path else [])))


def find_beyond(paths: Iterable[str], names: Iterable[str], folders: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Folders (or single files) whose name holds one of `names` as a word, with their number of files, largest first.

    What stands below `folders` is left out, and so is what the project hides (names that begin with a dot).
    """
    wanted = {name.lower() for name in names if name}
    known = tuple(f"{folder.strip('/')}/" for folder in folders)
    found: Counter[str] = Counter()
    for path in paths:
        if not path.startswith((*known, ".")) and f"{path}/" not in known:
            place = _place(path, wanted)
            if place is not None:
                found[place] += 1
    return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _place(path: str, wanted: set[str]) -> str | None:
    """The outermost part of a path that is called like the backend."""
    parts = path.split("/")
    for depth, part in enumerate(parts, 1):
        if wanted & set(_WORDS.split(part.lower())):
            return "/".join(parts[:depth])
    return None
