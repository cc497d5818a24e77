"""An answer as a compiler would print it: one finding, one line that can be searched, with file:line of ours first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layline.core.evidence import Alert, Location, Severity, Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing about one line of ours."""

    location: Location
    message: str
    """One sentence that names the target, without a full stop."""
    severity: Severity = Severity.OK
    code: str = ""
    """What kind of finding it is; empty: a plain row of a list."""
    tail: str = ""
    """The end of the line."""
    short: str = ""
    """The same in few words, for a terminal."""
    details: tuple[tuple[str, str], ...] = ()
    """A word and what is to be said under it: target, since, why, fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Diagnostics that belong together: one root cause, or one heading."""

    title: str = ""
    items: tuple[Diagnostic, ...] = ()
    counts: tuple[tuple[int, str], ...] = ()
    """A number and what it counts, one below the other."""
    lines: tuple[str, ...] = ()
    """What is said about all of them, below the items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a terminal shows of an answer whose rows are places of ours."""

    title: str
    """The first line answers the question with one number."""
    meta: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()
    groups: tuple[Group, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def limit_listing(listing: Listing, most: int) -> Listing:
    """The first `most` diagnostics; a line says how many were left out."""
    kept: list[Group] = []
    left = most
    total = sum(len(group.items) for group in listing.groups)
    for group in listing.groups:
        items = group.items[: max(left, 0)]
        left -= len(items)
        if items or not group.items:
            kept.append(replace(group, items=items))
    if total > most:
        last = max((at for at, group in enumerate(kept, 1) if group.items), default=0)
        kept.insert(last, Group(lines=(f"… {total - most} more; raise --limit, or use --format json.",)))
    return replace(listing, groups=tuple(kept))


def join_listings(title: str, listings: Sequence[Listing], skipped: Sequence[Skipped] = ()) -> Listing:
    """One after the other, each under its own first line."""
    return Listing(
        title=title,
        alerts=tuple(dict.fromkeys(alert for one in listings for alert in one.alerts)),
        groups=tuple(group for one in listings for group in (Group(title=one.title, lines=one.meta), *one.groups)),
        skipped=tuple(dict.fromkeys((*skipped, *(item for one in listings for item in one.skipped)))),
    )
