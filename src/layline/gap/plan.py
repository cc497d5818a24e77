"""An upgrade plan in steps: good stopping points between pin and tip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.gap.model import Cause, PlanStep
from layline.history import is_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from layline.core.revision import Commit


def build_plan(
    pin: Commit,
    log: Iterable[Commit],
    releases: Iterable[tuple[str, str]],
    causes: Iterable[Cause],
    *,
    most: int = 30,
) -> tuple[PlanStep, ...]:
    """Stops at releases, before each commit that breaks places of ours, and at the tip; the pin itself is one where the
    very next commit breaks something.

    The log is newest first and follows first parents; when there are too many stops, those before the commits that
    break most stay, and the first of them: no stop may lie behind a break that nobody told.
    """
    oldest_first = list(reversed(list(log)))
    if not oldest_first:
        return ()
    breaking = {cause.commit: cause for cause in causes}
    named = {commit: name for name, commit in releases if is_version(name)}
    steps = list(_find_stops([pin, *oldest_first], named, breaking))
    if len(steps) > most:
        first = next((index for index, step in enumerate(steps) if step.places), 0)
        weightiest = sorted(range(len(steps) - 1), key=lambda index: (index != first, -steps[index].places, -index))
        keep = sorted([*weightiest[: most - 1], len(steps) - 1])
        steps = [steps[index] for index in keep]
    return tuple(steps)


def _find_stops(
    commits: list[Commit], releases: Mapping[str, str], breaking: Mapping[str, Cause]
) -> Iterator[PlanStep]:
    for index, commit in enumerate(commits):
        following = commits[index + 1] if index + 1 < len(commits) else None
        cause = breaking.get(following.hash) if following else None
        if following is None:
            reason = "the tip"
        elif cause:
            number = f" (#{following.pull_request})" if following.pull_request else ""
            stop = "the last commit before" if index else "the pin itself; the next commit is"
            reason = f"{stop} {following.hash[:8]}{number}"
        elif index and commit.hash in releases:
            reason = f"release {releases[commit.hash]}"
        else:
            continue
        yield PlanStep(
            commit=commit.hash,
            date=commit.date,
            reason=reason,
            behind=index,
            breaks_next=cause.targets if cause else (),
            places=len(cause.places) if cause else 0,
        )
