"""Lock files, summarised: which packages at which versions. They pin what was resolved, not what is needed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from layline.gap.dependencies.model import LockedSet, canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_FILES = frozenset({"uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock"})
# tomllib needs a second for a large lock; its tables are regular enough to be read by line.
_PACKAGE = re.compile(r'^\[\[packages?\]\]\nname = "([^"]+)"(?:\nversion = "([^"]+)")?', re.MULTILINE)


def read_lock(path: str, text: str) -> LockedSet:
    found = _find_pipfile(text) if path.endswith("Pipfile.lock") else _find_packages(text)
    return LockedSet(path=path, versions=tuple(sorted(found)))


def _find_packages(text: str) -> Iterator[tuple[str, str]]:
    for name, version in _PACKAGE.findall(text):
        yield canonical_name(name), version or ""


def _find_pipfile(text: str) -> Iterator[tuple[str, str]]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return
    for section in ("default", "develop"):
        for name, entry in (plain.get(section) or {}).items() if isinstance(plain, dict) else ():
            version = entry.get("version", "") if isinstance(entry, dict) else ""
            yield canonical_name(name), str(version).removeprefix("==")
