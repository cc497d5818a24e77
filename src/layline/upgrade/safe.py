"""The safe pin: the newest commit at which nothing of ours breaks that does not break today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What breaks at one commit and not today, and which commits did it."""

    broken: frozenset[str] = frozenset()
    culprits: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SafePin:
    """Where one can go without an edit."""

    commit: str
    ahead: int
    """First-parent commits after the pin; 0: the pin itself is the newest."""
    next_breaks: int
    """Places that the commit after it breaks; 0: it is the last one asked about."""
    next_commit: str | None = None
    """That commit, judged in full as this one was."""


def find_safe_pin(pin: str, order: Sequence[str], judge: Callable[[str], Verdict]) -> SafePin:
    """Search from the newest commit down, led by culprits; the answer and the commit after it are judged in full.

    `order`: first-parent commits after the pin, oldest first. What broke in a window before the answer and was mended
    upstream does not matter. A culprit breaks its places from itself up to the commit that was judged, so that nothing
    between them can be safe; where none is known, halves are judged.
    """
    high, verdict = len(order) - 1, judge(order[-1]) if order else Verdict()
    while high >= 0 and verdict.broken:
        known = [order.index(one) for one in verdict.culprits if one in order[: high + 1]]
        low = min(known) - 1 if known else _halve(order, high, verdict.broken, judge)
        high = min(low, high - 1)
        verdict = judge(order[high]) if high >= 0 else Verdict()
    return _climb(pin, order, high, judge)


def _halve(order: Sequence[str], high: int, broken: frozenset[str], judge: Callable[[str], Verdict]) -> int:
    """The last commit below `high` before which none of these places broke."""
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        if judge(order[middle]).broken & broken:
            high = middle
        else:
            low = middle
    return low


def _climb(pin: str, order: Sequence[str], at: int, judge: Callable[[str], Verdict]) -> SafePin:
    """Upwards as long as the next commit fits, too: a culprit may have been told too early."""
    while at + 1 < len(order):
        later = judge(order[at + 1])
        if later.broken:
            safe = order[at] if at >= 0 else pin
            return SafePin(commit=safe, ahead=at + 1, next_breaks=len(later.broken), next_commit=order[at + 1])
        at += 1
    return SafePin(commit=order[at] if at >= 0 else pin, ahead=at + 1, next_breaks=0)
