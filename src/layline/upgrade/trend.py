"""`gap trend`: how far behind a backend was, how many patches there were and how many broke, month by month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Skipped
from layline.core.progress import Progress, silent, within
from layline.core.prose import count, verb
from layline.core.report import Answer, Chart, Report, Section, Table
from layline.errors import ConfigError, Error
from layline.history.commits import compare_commits, find_tip_at, read_commit
from layline.upgrade.cells import judge_cells
from layline.upgrade.judging import pin_of

if TYPE_CHECKING:
    from layline.upgrade import answers
    from layline.workspace.open import Workspace

SCHEMA: Literal["layline.trend/1"] = "layline.trend/1"
_MONTHS = 12
_UNKNOWN = "layline.toml"
"""Where a pin is written that has no history of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One day: the downstream, its pin and upstream as they were."""

    date: str
    commit: str
    pin: str
    tip: str
    behind: int
    patches: int
    """Effects of patches on this upstream."""
    breaks: int
    """Places of ours that broke at the tip of that day, in patches and outside, as `patches drift` counts them."""
    moved: bool = False
    """The pin is another than at the point before."""


def find_points(
    workspace: Workspace, key: str, since: date | None, progress: Progress = silent
) -> tuple[list[Point], list[Skipped], bool]:
    """The first day of each month, and now; days that cannot be read are told, and whether the pin of some is not known."""
    days = find_days(workspace, since)
    points: list[Point] = []
    skipped: list[Skipped] = []
    unknown = [day for day in days[:-1] if not _is_pin_known(workspace, key, day)]
    days = [day for day in days if day not in unknown]
    if unknown:
        before = f"before {days[0].date().isoformat()}"
        skipped.append(
            Skipped(before, f"{_UNKNOWN} was not committed then, so the version that our code used is not known")
        )
    for number, day in enumerate(days, 1):
        part = f"judging {day.date().isoformat()}, {number} of {len(days)} days"
        progress(part, 0, 0)
        try:
            found = _measure(workspace, key, day, points[-1].pin if points else None, within(progress, part))
        except Error as error:
            if number == len(days) and not points:
                raise  # no day can be read, and this is why
            skipped.append(Skipped(day.date().isoformat(), error.message))
            continue
        points += [found] if found is not None else []
    upstream = workspace.open_backend(key)
    if not points and upstream.is_shallow:
        told = f"The clone of {upstream.name} is shallow and holds no commit of that time."
        raise ConfigError(told, hint="Fetch them: git fetch --unshallow.")
    if not points:
        raise ConfigError(f"Nothing is known about {key!r} since then.", hint="Choose an earlier --since.")
    return points, skipped, bool(unknown)


def _is_pin_known(workspace: Workspace, key: str, day: datetime) -> bool:
    """A pin that is written in the settings file has a history where that file was committed."""
    pin, path = workspace.settings.backend(key).pin, workspace.settings_path
    if pin is None or pin.revision is None:
        return True
    commit = find_tip_at(workspace.downstream, workspace.commit, day) if path is not None else None
    return commit is not None and path is not None and workspace.downstream.read_file(commit, path) is not None


def build_trend_answer(key: str, label: str, found: tuple[list[Point], list[Skipped], bool]) -> Answer:
    points, skipped, is_cut = found
    title = _say(points, label, is_cut=is_cut)
    data: answers.Trend = {
        "schema": SCHEMA,
        "backend": key,
        "points": [_encode(point) for point in points],
        "skipped": [{"what": one.what, "why": one.why} for one in skipped],
    }
    return Answer(report=_build_report(points, title, tuple(skipped)), data=data)


def find_days(workspace: Workspace, since: date | None) -> list[datetime]:
    """The first moment of each month from `since` (default: a year back) on, and the moment of the commit itself."""
    last = datetime.fromisoformat(read_commit(workspace.downstream, workspace.commit).committed).astimezone(UTC)
    first = since or (last - timedelta(days=365)).date()
    if first > last.date():
        raise ConfigError(f"The newest commit is of {last.date()}, before {first}.", hint="Choose an earlier --since.")
    days = []
    year, month = first.year, first.month
    while (year, month) <= (last.year, last.month):
        days.append(datetime(year, month, 1, tzinfo=UTC))
        year, month = (year, month + 1) if month < _MONTHS else (year + 1, 1)
    return [day for day in days if first <= day.date() and day < last] + [last]


def find_moment(workspace: Workspace, key: str, day: datetime) -> tuple[Workspace, str] | None:
    """The downstream and upstream's tip as they were on a day; None where one of them did not exist."""
    commit = find_tip_at(workspace.downstream, workspace.commit, day)
    upstream = workspace.open_backend(key)
    tip = find_tip_at(upstream, upstream.resolve_upstream(workspace.settings.backend(key).ref), day)
    return (workspace.look_at(commit), tip) if commit is not None and tip is not None else None


def _measure(workspace: Workspace, key: str, day: datetime, before: str | None, progress: Progress) -> Point | None:
    moment = find_moment(workspace, key, day)
    if moment is None:
        return None
    then, tip = moment
    upstream, pin = pin_of(then, key)
    judged = judge_cells(then, key, tip, progress)
    return Point(
        date=day.date().isoformat(),
        commit=then.commit,
        pin=pin,
        tip=tip,
        behind=compare_commits(upstream, pin, tip).behind,
        patches=len(judged.cells),
        breaks=judged.breaks,
        moved=before is not None and before != pin,
    )


def _say(points: list[Point], label: str, *, is_cut: bool) -> str:
    first, last = points[0], points[-1]
    moves = sum(point.moved for point in points)
    moved = ("did not move", "moved once")[moves] if moves <= 1 else f"moved {moves} times"
    ago = f"; {_say_point(first)} on {first.date}; the pin {moved} in between"
    cut = f". The pin of earlier days is not known: only {_UNKNOWN} names it. Commit that file, or name a file of the project that has the pin (`pin = {{ file = … }}`)"
    return f"{label}: {_say_point(last)} on {last.date}{ago if len(points) > 1 else ''}{cut if is_cut else ''}."


def _say_point(point: Point) -> str:
    return (
        f"{count(point.behind, 'commit')} behind and {count(point.breaks, 'place')} that {verb(point.breaks, 'breaks')}"
    )


def _encode(point: Point) -> answers.Point:
    return {
        "date": point.date,
        "commit": point.commit,
        "pin": point.pin,
        "tip": point.tip,
        "behind": point.behind,
        "patches": point.patches,
        "breaks": point.breaks,
        "moved": point.moved,
    }


def _build_report(points: list[Point], title: str, skipped: tuple[Skipped, ...]) -> Report:
    rows = tuple(
        (one.date, one.pin[:8] + (" (moved)" if one.moved else ""), str(one.behind), str(one.patches), str(one.breaks))
        for one in points
    )
    columns = ("date", "pin", "commits behind", "patches", "places that break")
    table = Table(columns=columns, rows=rows, numeric=frozenset({2, 3, 4}))
    charts = (
        Chart(kind="trend", title="Commits behind", series=_cut(points, "behind"), unit="commits"),
        Chart(kind="trend", title="Places that break", series=_cut(points, "breaks"), unit="places"),
    )
    return Report(title=title, sections=(Section(title="By month", blocks=(table, *charts)),), skipped=skipped)


def _cut(points: list[Point], field: str) -> tuple[tuple[str, tuple[tuple[float | str, float], ...]], ...]:
    """One line for each pin: it is broken where the pin moved."""
    lines: dict[str, list[tuple[float | str, float]]] = {}
    for one in points:
        lines.setdefault(one.pin[:8], []).append((one.date, float(getattr(one, field))))
    return tuple((name, tuple(found)) for name, found in lines.items())
