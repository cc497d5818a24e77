"""What the pin has already: changes of the main line that a release branch took over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patterns import Classes
from layline.gap.churn import CODE, DEFAULT_CHURN_CLASSES

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.gap.changes import Changes, UpstreamChange

Read = Callable[[str, str], bytes | None]
"""The bytes of a commit's file; None where it has none."""


def mark_known(
    changes: Changes,
    touched: Mapping[str, tuple[str, ...]],
    pin: Commit,
    read: Read,
    copied: Collection[str] = (),
) -> Changes:
    """The same changes; those are known at the pin whose commits were `copied` to its branch, and those whose every
    added line of code it has. A release branch may take them over in one commit under another title, so the lines
    decide. What is newer than the pin cannot be in it.
    """
    classes = Classes(DEFAULT_CHURN_CLASSES, rest=CODE)

    def is_known(change: UpstreamChange) -> bool:
        if all(commit in copied for commit in change.commits):
            return True
        added = [
            (path, _count_added(read, commit, path))
            for commit in change.commits
            for path in touched.get(commit, ())
            if classes.of(path) == CODE
        ]
        return any(lines for _, lines in added) and all(
            not lines or lines <= _count_lines(read(pin.hash, path)) for path, lines in added
        )

    kept = (replace(one, is_known=True) if one.date <= pin.date and is_known(one) else one for one in changes.kept)
    return replace(changes, kept=tuple(kept))


def _count_added(read: Read, commit: str, path: str) -> Counter[bytes]:
    """Lines that a file has more often since a commit, each with how often it stands there now."""
    before, after = _count_lines(read(f"{commit}^", path)), _count_lines(read(commit, path))
    return Counter({line: number for line, number in after.items() if number > before[line]})


def _count_lines(data: bytes | None) -> Counter[bytes]:
    return Counter(line.strip() for line in (data or b"").splitlines() if line.strip())
