"""Paths of the upstream that a sentence says were added: there at the tip, and not before."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.gap.audit.model import AuditedField, AuditVerdict, leave

if TYPE_CHECKING:
    from layline.gap.audit.ground import MeasuredPair

_ADDED = re.compile(r"(?:[-*]\s+)?Added (?:\w+ )*?(?P<list>`[^`]+`(?:(?:,? and |, )`[^`]+`)*|[\w.-]+/[\w./-]*\w/?)")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?\Z")


def find_added_paths(text: str) -> Iterator[str]:
    """The paths right behind `Added`; a bare file name in such a list stands in the folder of the path before it."""
    found = _ADDED.match(text.strip())
    folder = ""
    for name in (
        re.findall(r"[^`,\s]+", found["list"].replace("` and `", "`, `").replace(", and ", ", ")) if found else ()
    ):
        if not _PATH.match(name) or not (folder or "/" in name):
            return  # a flag, a class, a word: not a path of the tree
        path = name if "/" in name else posixpath.join(folder, name)
        folder = posixpath.dirname(path.rstrip("/"))
        yield path


def check_added_path(field: str, path: str, ground: MeasuredPair) -> AuditedField:
    """Confirmed where the tip has the path and the pin has not."""
    pin, tip = (_holds(ground, commit, path) for commit in (ground.pin, ground.tip))
    root = path.partition("/")[0]
    if not (pin or tip or _holds(ground, ground.pin, root) or _holds(ground, ground.tip, root)):
        return leave(field, path, f"neither side has anything called {root}; it may not be a path")
    computed = "the pin has it already" if pin else "added" if tip else "neither the pin nor the tip has it"
    verdict = AuditVerdict.CONFIRMED if tip and not pin else AuditVerdict.CONTRADICTED
    side = ground.pin if pin else ground.tip
    command = f"git ls-tree {side} -- {path.rstrip('/')}"
    return AuditedField(field=field, published=path, computed=computed, verdict=verdict, evidence=command)


def _holds(ground: MeasuredPair, commit: str, path: str) -> bool:
    return ground.upstream.read_entry(commit, path) is not None
