"""One row for each backend on the home page, worst first: verdict, distance, breakage, what changed, what to do
next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layline.dashboard.backend_status import Standing, web_address
from layline.dashboard.breakage import Breakage
from layline.dashboard.prose import count_words, signed


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRow:
    """What a reader must know of one backend at a glance."""

    standing: Standing
    page: str
    breaks: int | None
    """Places of ours that break at the tip; None where nobody counted."""
    breaks_words: str
    changed: str
    """Since the report before."""
    next_step: str
    cause: tuple[int, str, str | None] | None
    """Places that one change breaks, its name, and its page."""
    command: str
    """What to run for the next step, where it is a command."""


def view_row(standing: Standing, breakage: Breakage | None) -> BackendRow:
    breaks = breakage.count if breakage is not None else standing.breaks.count if standing.breaks else None
    page = f"backends/{standing.key}.html"
    return BackendRow(
        standing=standing,
        page=page,
        breaks=breaks,
        breaks_words=_tell_breaks(breaks, breakage),
        changed=_tell_change(standing),
        next_step=_tell_next(standing, breaks, breakage),
        cause=_find_cause(breakage) if breaks else None,
        command=f"layline gap report {standing.key}" if breaks is None and standing.latest.behind is not None else "",
    )


def find_rows(standings: tuple[Standing, ...], breakages: Mapping[str, Breakage]) -> tuple[BackendRow, ...]:
    """The rows in the order of the standings; `breakages` by backend."""
    return tuple(view_row(standing, breakages.get(standing.key)) for standing in standings)


def _tell_breaks(breaks: int | None, breakage: Breakage | None) -> str:
    if breaks is None:
        return "not measured"
    if breaks == 0 or breakage is None:
        return "place breaks" if breaks == 1 else "places break"
    return f"of {count_words(breakage.touched, 'place')} {'breaks' if breaks == 1 else 'break'}"


def _tell_change(standing: Standing) -> str:
    step = standing.step
    if step is None:
        return "first measurement" if standing.latest.behind is not None else "–"
    number, since = step
    commits = f"{signed(number)} {'commit' if abs(number) == 1 else 'commits'}"
    moved = ", pin moved" if standing.pin_moved else ""
    change = standing.breaks_change
    places = f", {signed(change)} {'place' if abs(change) == 1 else 'places'}" if change else ""
    return f"{commits}{places}{moved} since {since}"


def _tell_next(standing: Standing, breaks: int | None, breakage: Breakage | None) -> str:
    behind = standing.latest.behind
    if behind is None:
        return "Measure its distance"
    if behind == 0:
        return "Nothing to do"
    if breaks is None:
        return "Count what breaks"
    if breaks == 0:
        free = "moving the pin breaks nothing of ours"
        return f"No hurry: {free}" if standing.advice.tone == "good" else "Move the pin: nothing of ours breaks"
    where = f" in {count_words(breakage.files, 'file')}" if breakage is not None else ""
    fixes = min(breakage.to_fix, breaks) if breakage is not None else breaks
    return f"Fix {count_words(fixes, 'place')}{where if fixes == breaks else f', {breaks} break'}"


def _find_cause(breakage: Breakage | None) -> tuple[int, str, str | None] | None:
    cause = breakage.root_cause if breakage is not None else None
    if cause is None or breakage is None:
        return None
    return cause[1], breakage.name_of(cause[0]), culprit_link(breakage, cause[0])


def culprit_link(breakage: Breakage, commit: str | None) -> str | None:
    """The page of an upstream commit, where the upstream has one."""
    if not commit or not breakage.upstream.startswith("https://"):
        return None
    return f"{web_address(breakage.upstream)}/commit/{commit}"
