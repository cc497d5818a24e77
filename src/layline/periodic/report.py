"""The report people read: executive summary, pull requests, pins, one section per target, evidence."""

from __future__ import annotations

from collections.abc import Iterator

from layline.core.checks import clean_line
from layline.core.evidence import Alert, Evidence, Severity
from layline.core.report import Block, Bullets, Cell, Inline, Paragraph, Report, Section, Table
from layline.history.commits import say_count
from layline.periodic.distance import show_distance
from layline.periodic.findings import (
    build_findings,
    count_categories,
    show_advice,
    show_count,
    show_steadiness,
    show_step,
    show_trend,
)
from layline.periodic.model import Activity, CountedMove, Drift, Notable, PullRequest, RepoDrift, TrackedCommit

STALE_DAYS = 7
"""An upstream that was silent for longer than this before the window's end may simply not have been fetched."""
RULES = (
    "The tip of a ref at a time is its last first-parent commit by committer date up to then; dates are committer "
    "dates in the committer's own time zone; a pull request is a first-parent commit that names one, merged when "
    "that commit was made."
)


def build_report(activity: Activity, *, title: str, categories: tuple[str, ...]) -> Report:
    window = activity.window
    return Report(
        title=title,
        meta=(
            ("window", f"{window.start.isoformat()} up to {window.end.isoformat()} ({window.timezone})"),
            ("downstream", f"{activity.repo}, {activity.ref} at {activity.tip[:12]}"),
        ),
        sections=(
            Section(title="Key findings", blocks=(Bullets(build_findings(activity, categories)),)),
            _tell_pulls(activity, categories),
            _tell_moves(activity),
            *(_tell_drift(drift) for drift in activity.drifts),
            *(_tell_repo_drift(activity, drift) for drift in activity.repo_drifts),
            Section(title="How it was read", blocks=(Paragraph(RULES), _tell_commands(activity))),
        ),
        alerts=tuple(_find_alerts(activity)),
        skipped=activity.skipped,
    )


def _find_alerts(activity: Activity) -> Iterator[Alert]:
    for item in activity.unmeasured:
        yield Alert(severity=Severity.LOOK, message=f"{item.what} was not measured: {item.why}")
    for drift in activity.drifts:
        if drift.stale_days > STALE_DAYS:
            message = (
                f"the newest known commit of {drift.label} {drift.ref} is {drift.stale_days} days older than the "
                "window's end; if upstream is still developed, use --fetch first"
            )
            yield Alert(severity=Severity.LOOK, message=message)


def _tell_pulls(activity: Activity, categories: tuple[str, ...]) -> Section:
    title = "Merged pull requests"
    if activity.ended:
        said = (
            f"Not known: the newest commit of our clone is dated {activity.ended}, before this window. Fetch, and "
            "run the command again."
        )
        return Section(title=title, blocks=(Paragraph(said),))
    counts = count_categories(activity, categories)
    listed = ", ".join(f"{name}: {count}" for name, count in counts.items())
    blocks: list[Block] = [Paragraph(f"{len(activity.pulls)} merged. {listed}.")]
    if activity.pulls:
        columns = ("PR", "merged", "title", "author", "category", "why", "files")
        rows = tuple(_pull_row(activity, pull) for pull in activity.pulls)
        blocks.append(Table(columns=columns, rows=rows, numeric=frozenset({6})))
    if activity.direct:
        blocks.append(Paragraph("Commits that name no pull request (pushed directly, or merged by rebase):"))
        blocks.append(
            Bullets(
                tuple(
                    (_commit_cell(activity.repo, item.hash), f" {clean_line(item.subject)}") for item in activity.direct
                )
            )
        )
    return Section(title=title, blocks=tuple(blocks))


def _pull_row(activity: Activity, pull: PullRequest) -> tuple[Inline, ...]:
    base = activity.repo.removesuffix(".git")
    link = f"{base}/pull/{pull.number}" if activity.repo.startswith("https://github.com/") else None
    return (
        Cell(f"#{pull.number}", link=link),
        Cell(f"{pull.merged:%Y-%m-%d %H:%M}", evidence=Evidence(repo=activity.repo, commit=pull.commit.hash)),
        pull.title,
        pull.author,
        pull.category,
        pull.reason,
        str(pull.files),
    )


def _tell_moves(activity: Activity) -> Section:
    if not activity.moves:
        said = f"No submodule and no commit variable of a workflow or Dockerfile moved ({show_count(activity.submodules, 'submodule')})."
        return Section(title="Pins", blocks=(Paragraph(said),))
    rows = tuple(_move_row(activity, item) for item in activity.moves)
    return Section(title="Pins", blocks=(Table(columns=("pin", "where", "old → new", "moved by"), rows=rows),))


def _move_row(activity: Activity, item: CountedMove) -> tuple[Inline, ...]:
    move = item.move
    lines = (move.line, move.line) if move.line else None
    place = Evidence(repo=activity.repo, commit=move.commit.hash, path=move.file, lines=lines)
    mover = f"#{move.commit.pull_request}" if move.commit.pull_request else move.commit.hash[:8]
    step = show_step(item) if move.before and move.after else f"{show_step(item)} ({item.why})"
    by = Cell(mover, evidence=Evidence(repo=activity.repo, commit=move.commit.hash))
    return Cell(move.name, code=True), Cell(move.file, evidence=place, code=True), step, by


def _tell_drift(drift: Drift) -> Section:
    change = show_trend(drift)
    rows: tuple[tuple[Inline, ...], ...] = (
        ("pin", (_commit_cell(drift.repo, drift.pin.hash), f" {drift.pin.date}: {drift.pin.subject}")),
        (f"tip of {drift.ref}", (_commit_cell(drift.repo, drift.tip.hash), f" {drift.tip.date}: {drift.tip.subject}")),
        ("behind", f"{show_count(drift.distance.behind, 'commit')} ({change})"),
        (
            "ahead",
            f"{show_count(drift.distance.ahead, 'commit')} (relation of pin to tip: {drift.distance.relation.value})",
        ),
        ("between pin and tip", show_count(drift.age_days or 0, "day")),
        ("recommendation", f"{drift.recommendation}{show_steadiness(drift)}: {drift.recommendation.rule}"),
    )
    if drift.recommendation.inputs.will_break is not None:
        number = drift.recommendation.inputs.will_break
        listing = f" (`layline gap report` lists {'it' if number == 1 else 'them'})" if number else ""
        rows = (*rows[:-1], ("breaks at the tip", f"{show_count(number, 'place')} of ours{listing}"), rows[-1])
    blocks: list[Block] = [Table(columns=("what", "value"), rows=rows)]
    if drift.notable:
        since = drift.previous.since if drift.previous else "the pin"
        blocks.append(
            Paragraph(f"Notable upstream changes since {since}, {len(drift.notable)} of {drift.upstream_changes}:")
        )
        blocks.append(_tell_notable(drift))
    return Section(title=f"{drift.label}: upstream drift", blocks=tuple(blocks))


def _tell_notable(drift: Drift) -> Table:
    """By area; how many files that we use a change touches is told where couplings were judged."""
    judged = drift.recommendation.inputs.will_break is not None
    columns = ("area", "change", "touches", "PR") if judged else ("area", "change", "PR")
    by_area: dict[str, list[Notable]] = {}
    for item in drift.notable:
        by_area.setdefault(item.area, []).append(item)
    rows = (_notable_row(drift.repo, item, judged) for items in by_area.values() for item in items)
    return Table(columns=columns, rows=tuple(rows))


def _notable_row(repo: str, item: Notable, judged: bool) -> tuple[Inline, ...]:
    number = f"#{item.number}" if item.number else item.commit[:8]
    used = (f"{show_count(item.ours, 'file')} we use" if item.ours else "",) if judged else ()
    return item.area, item.title, *used, Cell(number, evidence=Evidence(repo=repo, commit=item.commit))


def _tell_repo_drift(activity: Activity, drift: RepoDrift) -> Section:
    rows = tuple(_tracked_row(activity, pin) for pin in drift.pins)
    columns = ("pin", "where", f"when the {drift.unit} began", "now", "distance", "in the window")
    blocks: list[Block] = [Table(columns=columns, rows=rows), Paragraph(show_advice(drift.recommendation))]
    if drift.upstream is not None:
        blocks.append(
            Paragraph(
                f"Against its own upstream, pin {drift.upstream.pin.hash[:8]} ({drift.upstream.pin.date}) is "
                f"{show_count(drift.upstream.distance.behind, 'commit')} behind {drift.upstream.ref} "
                f"{drift.upstream.tip.hash[:8]} "
                f"({drift.upstream.tip.date}), {show_trend(drift.upstream)}."
            )
        )
    return Section(title=f"{drift.label}: drift since {drift.base.date()}", blocks=tuple(blocks))


def _tracked_row(activity: Activity, pin: TrackedCommit) -> tuple[Inline, ...]:
    lines = (pin.line, pin.line) if pin.line else None
    where = Evidence(repo=activity.repo, commit=activity.tip, path=pin.file, lines=lines)
    counted = show_distance(pin.distance) if pin.distance else "not counted"
    in_window = show_distance(pin.window_distance) if pin.window_distance else "not counted"
    if not pin.counted or pin.distance is None:
        counted = "same" if pin.current == pin.base else "moved, not counted"
    if not pin.counted or pin.window_distance is None:
        in_window = "same" if pin.current == pin.start else "moved, not counted"
    return (
        Cell(pin.variable, code=True),
        Cell(pin.file, evidence=where, code=True),
        Cell((pin.base or "none")[:12], code=True),
        Cell((pin.current or "none")[:12], code=True),
        counted,
        in_window,
    )


def _tell_commands(activity: Activity) -> Table:
    """Every figure with the command that prints it inside a clone."""
    span = f"{activity.before}..{activity.tip}" if activity.before else activity.tip
    rows: list[tuple[Inline, ...]] = [
        ("merged pull requests", Cell(f"git log --first-parent --format='%h %cI %s' {span}", code=True), activity.repo)
    ]
    drifts = [*activity.drifts, *(item.upstream for item in activity.repo_drifts if item.upstream is not None)]
    for drift in drifts:
        count = say_count(drift.distance.pin, drift.distance.tip)
        tip = f"git rev-list -1 --first-parent --min-age={int(activity.window.end.timestamp())} {drift.ref}"
        rows.append((f"{drift.label} behind", Cell(count, code=True), drift.repo))
        rows.append((f"{drift.label} tip", Cell(tip, code=True), drift.repo))
    for repo_drift in activity.repo_drifts:
        for pin in repo_drift.pins:
            if pin.distance is not None and repo_drift.upstream is not None:
                count = say_count(pin.distance.pin, pin.distance.tip)
                rows.append(
                    (f"{repo_drift.label} {pin.name} distance", Cell(count, code=True), repo_drift.upstream.repo)
                )
    return Table(columns=("what", "command", "in a clone of"), rows=tuple(rows))


def _commit_cell(repo: str, commit: str) -> Cell:
    return Cell(commit[:12], evidence=Evidence(repo=repo, commit=commit), code=True)
