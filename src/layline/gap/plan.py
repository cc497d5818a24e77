"""An upgrade plan in steps: good stopping points between pin and tip."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from layline.core.prose import count, listed
from layline.gap.model import NOTHING, Cause, PlanStep
from layline.history.tags import is_final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from layline.core.revision import Commit
    from layline.gap.model import Demand


_METHOD = 20
"""A method to write anew weighs as much as so many lines of settings."""


def build_plan(
    pin: Commit,
    log: Iterable[Commit],
    releases: Iterable[tuple[str, str]],
    causes: Iterable[Cause],
    *,
    most: int = 100,
) -> tuple[PlanStep, ...]:
    """Stops at releases after the pin, before each commit that breaks places of ours, for the first time or again, or asks something
    else of us, and at the tip; the pin itself is one where the very next commit breaks something.

    The log is newest first and follows first parents; when there are too many stops, those before the commits that
    break most stay, and the first of them: no stop may lie behind a break that nobody told.
    """
    oldest_first = list(reversed(list(log)))
    if not oldest_first:
        return ()
    breaking = {cause.commit: cause for cause in causes}
    # beside a pin on a branch of its own, upstream's line has commits that are older than it: no way up leads there
    later = {one.hash for one in oldest_first if _read_time(one) > _read_time(pin)}
    named = {commit: name for name, commit in releases if is_final(name) and commit in later}
    steps = list(_find_stops([pin, *oldest_first], named, breaking))
    if len(steps) > most:
        first = next((index for index, step in enumerate(steps) if step.places), 0)
        weightiest = sorted(range(len(steps) - 1), key=lambda index: (index != first, *weigh(steps[index]), -index))
        keep = sorted([*weightiest[: most - 1], len(steps) - 1])
        steps = [steps[index] for index in keep]
    return tuple(steps)


def _read_time(commit: Commit) -> datetime:
    return datetime.fromisoformat(commit.committed)


def weigh(step: PlanStep) -> tuple[int, bool, int]:
    """Sort key: most work first, in lines and methods of ours; then what takes a model, a platform or a version of
    Python away.
    """
    asks = step.asks
    python = any(need.startswith("Python ") for need in asks.needs)
    work = max(step.lines, step.places + step.again) + asks.lines + asks.methods
    return -work, not (asks.deletes or asks.off or python), -len(asks.needs)


def say_breaks(step: PlanStep) -> str:
    """`breaks 4 places, 3 of them again (7 lines)`, without lines where each place is one; empty where nothing breaks."""
    if not step.places and not step.again:
        return ""
    told = f"breaks {count(step.places + step.again, 'place')}"
    again = (f", {step.again} of them again" if step.places else " again") if step.again else ""
    lines = f" ({count(step.lines, 'line')})" if step.lines > step.places + step.again else ""
    return f"{told}{again}{lines}"


def find_stops(plan: Iterable[PlanStep]) -> list[PlanStep]:
    """The steps between pin and tip."""
    return [step for step in list(plan)[:-1] if step.behind]


def say_asks(asks: Demand, files: int | None = None) -> list[str]:
    """What a commit asks of us beside our code, in clauses; `files` of ours name what it deletes."""
    named = f", named in {count(files, 'YAML file')} of ours" if files else ""
    return [
        *([f"changes the methods behind {count(asks.methods, 'override')} of ours"] if asks.methods else []),
        *([f"deletes {listed(list(asks.deletes))}{named}"] if asks.deletes else []),
        *([f"drops {count(len(asks.keys), 'key')} of our YAML ({count(asks.lines, 'line')})"] if asks.keys else []),
        *([f"switches {listed(list(asks.off))} off in upstream's CI"] if asks.off else []),
        *([f"needs {listed(list(asks.needs), most=3)}"] if asks.needs else []),
    ]


def _find_stops(
    commits: list[Commit], releases: Mapping[str, str], breaking: Mapping[str, Cause]
) -> Iterator[PlanStep]:
    """A stop that brings next to nothing is none: where the first break lies right behind the pin, the pin is it."""
    last = len(commits) - 1
    is_first = True
    for index, commit in enumerate(commits):
        following = commits[index + 1] if index < last else None
        cause = breaking.get(following.hash) if following else None
        stays = cause is not None and is_first and 100 * index < last
        if following is None:
            reason = "the tip"
        elif cause:
            reason = _say_stop(following, index if stays else None)
        elif index and commit.hash in releases:
            reason = f"release {releases[commit.hash]}"
        else:
            continue
        is_first = False
        stop = commits[0] if stays else commit
        yield PlanStep(
            commit=stop.hash,
            date=stop.date,
            reason=reason,
            behind=0 if stays else index,
            breaks_next=cause.targets if cause else (),
            places=len(cause.places) if cause else 0,
            again=len(cause.again) if cause else 0,
            lines=cause.lines if cause else 0,
            asks=cause.asks if cause else NOTHING,
            next=cause.commit if cause else None,
            number=cause.number if cause else None,
            ahead=index + 1 if stays else 1,
        )


def _say_stop(following: Commit, from_pin: int | None) -> str:
    name = following.hash[:8] + (f" (#{following.pull_request})" if following.pull_request else "")
    if from_pin is None:
        return f"the last commit before {name}"
    return f"the pin itself; {f'{from_pin + 1} commits later' if from_pin else 'right after it'} comes {name}"
