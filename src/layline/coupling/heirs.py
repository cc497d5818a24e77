"""What classes of ours below upstream's define or set: a value that is said to be of upstream's class may be of one of
them, in whatever file of ours it stands.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TypeAlias

Below: TypeAlias = dict[str, str]
"""Upstream classes above some of ours → names that ours define or set; both with spaces between."""


def join_below(files: Iterable[Below]) -> dict[str, set[str]]:
    """Upstream class → the names, of all files together."""
    found: dict[str, set[str]] = {}
    for above, names in (item for one in files for item in one.items()):
        for base in above.split():
            found.setdefault(base, set()).update(names.split())
    return found


def says_same(asked: Mapping[str, bool], below: Mapping[str, Container[str]]) -> bool:
    """Whether the classes that there are now answer as they did."""
    for question, told in asked.items():
        holder, _, name = question.partition(" ")
        if (name in below.get(holder, ())) is not told:
            return False
    return True
