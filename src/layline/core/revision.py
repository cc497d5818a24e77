"""Commits and how two of them relate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_SQUASHED = re.compile(r"\(#(\d+)\)(?:\s*\[[^\]]*\])*\s*$")  # some write `… (#12) [skip ci]`
_MERGED = re.compile(r"^Merge pull request #(\d+) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit as git tells it; times are ISO 8601 with the zone they were recorded in."""

    hash: str
    committed: str
    authored: str
    author: str
    subject: str
    parents: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        """Committer date in the committer's own zone, YYYY-MM-DD (the rule every report states)."""
        return self.committed[:10]

    @property
    def pull_request(self) -> int | None:
        """The pull request a squash or merge commit names in its subject."""
        found = _SQUASHED.search(self.subject) or _MERGED.match(self.subject)
        return int(found.group(1)) if found else None


class Relation(StrEnum):
    """How a pin relates to a tip."""

    SAME = "same"
    BEHIND = "behind"
    """The pin is an ancestor of the tip: merge-base = pin."""
    AHEAD = "ahead"
    DIVERGED = "diverged"
    UNRELATED = "unrelated"


def relate(pin: str, tip: str, merge_base: str | None) -> Relation:
    match merge_base:
        case None:
            return Relation.UNRELATED
        case _ if pin == tip:
            return Relation.SAME
        case base if base == pin:
            return Relation.BEHIND
        case base if base == tip:
            return Relation.AHEAD
        case _:
            return Relation.DIVERGED
