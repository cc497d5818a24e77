"""A weekly or monthly report and its record, from git history; what other rooms know is handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped, encode_skipped
from layline.core.period import Cadence
from layline.core.records import encode_record
from layline.core.report import Answer, Report
from layline.errors import ConfigError, Error
from layline.history.commits import find_tip_at, read_commit
from layline.periodic.activity import read_activity
from layline.periodic.distance import FindNotable, ReportScope, Target
from layline.periodic.files import find_places, write_report
from layline.periodic.model import Activity, Effect, Previous, Window
from layline.periodic.presets import fill_preset
from layline.periodic.record import build_record
from layline.periodic.report import build_report
from layline.periodic.window import build_window, find_zone, parse_local
from layline.workspace.open import know_packages
from layline.workspace.records import GAP_FOLDER, load_records

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.periodic import answers
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The period asked for; by default that of the newest commit in the clones."""

    period: str | None = None
    since: str | None = None
    until: str | None = None
    couplings: bool = False
    """Also judge our couplings against each tip: slower, and the recommendation knows what breaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a periodic report needs of other rooms."""

    find_notable: FindNotable
    measure_effect: Callable[[Workspace, Target, str, str], Effect | None]
    read_effect: Callable[[Workspace, Target, str, str], Effect | None]
    """What a gap report of the same two commits has counted already."""
    render: Callable[[Report], str]


def report_period(
    workspace: Workspace, cadence: Cadence, span: Span, handed: Handed, *, write: bool, replace_foreign: bool
) -> Answer:
    """The report of a week or month, up to its end or to a moment."""
    settings = fill_preset(workspace.settings.periodic)
    workspace = know_packages(workspace) if span.couplings else workspace
    targets, missing = _open_targets(workspace)
    head = workspace.downstream.resolve(settings.ref)
    ours = read_commit(workspace.downstream, head)
    project = workspace.settings.project.name
    newest = [(project, ours)]
    newest += [(one.backend.label or key, read_commit(one.upstream, one.head)) for key, one in targets.items()]
    window = _choose_window(cadence, settings.timezone, span, [commit for _, commit in newest])
    previous, invalid = _find_previous(workspace, window)
    ground = _build_ground(workspace, window, head, previous, handed.find_notable)
    effect = handed.measure_effect if span.couplings else handed.read_effect
    ground = replace(ground, measure_effect=partial(effect, replace(workspace, commit=ground.tip)))
    activity = read_activity(ground, settings, targets, missing)
    stale = tuple(_find_stale(project, ours, window))
    activity = replace(activity, ended=ours.date if stale else "", skipped=(*stale, *activity.skipped, *invalid))
    places = find_places(workspace.settings.project, window.period)
    link = _link(workspace, settings.branch or activity.ref, places.report)
    categories = tuple(category.name for category in settings.categories)
    record = build_record(activity, project=project, path=places.report, link=link, categories=categories)
    report = build_report(activity, title=record.title, categories=categories)
    plain = encode_record(record)
    if write:
        write_report(workspace.root, places, handed.render(report), plain, replace_foreign=replace_foreign)
    data: answers.Periodic = {
        "schema": "layline.periodic/1",
        "record": plain,
        "written": [places.report, places.record] if write else [],
        **_tell(activity),
    }
    if span.period is None and span.until is None:
        report = replace(report, meta=(*report.meta, ("period", _say_chosen(newest, cadence))))
    if write:  # the files themselves do not say so
        report = replace(report, meta=(*report.meta, ("written", f"{places.report}, {places.record}")))
    return Answer(report=report, data=data)


def _find_stale(name: str, newest: Commit, window: Window) -> Iterator[Skipped]:
    """What cannot be known of a period that began after our clone was last brought up to date."""
    if datetime.fromisoformat(newest.committed) < window.start:
        why = (
            f"the newest commit of {name} here is dated {newest.date}, before this period began; later ones are not "
            "known"
        )
        yield Skipped("pull requests", why)


def _say_chosen(newest: list[tuple[str, Commit]], cadence: Cadence) -> str:
    name, commit = max(newest, key=lambda one: datetime.fromisoformat(one[1].committed))
    option = "--week" if cadence is Cadence.WEEKLY else "--month"
    return f"that of the newest commit in the clones ({name}, {commit.date}); {option} names another"


def _open_targets(workspace: Workspace) -> tuple[dict[str, Target], dict[str, Skipped]]:
    """Every backend whose upstream objects and ref are here; the others with the reason."""
    targets: dict[str, Target] = {}
    missing: dict[str, Skipped] = {}
    for key, backend in workspace.settings.backends.items():
        try:
            upstream = workspace.open_backend(key)
            head = upstream.resolve_upstream(backend.ref)
        except Error as error:
            missing[key] = Skipped(f"drift of {key}", error.message)
            continue
        targets[key] = Target(key=key, backend=backend, upstream=upstream, head=head)
    return targets, missing


def _choose_window(cadence: Cadence, timezone: str, span: Span, newest: list[Commit]) -> Window:
    zone = find_zone(timezone)
    since = None if span.since is None else parse_local(span.since, zone, option="--since")
    if span.until is not None:
        until: datetime | None = parse_local(span.until, zone, option="--until")
    elif span.period is None:
        until = max(datetime.fromisoformat(commit.committed) for commit in newest)
    else:
        until = None
    return build_window(cadence, timezone, period=span.period, until=until, since=since)


def _build_ground(
    workspace: Workspace, window: Window, head: str, previous: Mapping[str, Previous], find_notable: FindNotable
) -> ReportScope:
    tip = find_tip_at(workspace.downstream, head, window.end)
    if tip is None:
        shallow = workspace.downstream.is_shallow
        raise ConfigError(
            f"{workspace.downstream.name} has no commit up to {window.end.isoformat()}.",
            hint="The clone is shallow: `git fetch --unshallow`." if shallow else "Its history begins later.",
        )
    return ReportScope(
        downstream=workspace.downstream,
        # a commit of the window's first second belongs to the window
        before=find_tip_at(workspace.downstream, head, window.start - timedelta(seconds=1)),
        tip=tip,
        head=head,
        window=window,
        policy=workspace.settings.policy,
        backends=workspace.settings.backends,
        previous=previous,
        find_notable=find_notable,
        measure_effect=lambda *_: None,
    )


def _find_previous(workspace: Workspace, window: Window) -> tuple[dict[str, Previous], tuple[Skipped, ...]]:
    """By target, what the newest valid report before this one says, whatever its cadence; and the invalid ones."""
    records = load_records(workspace.root, docs=workspace.settings.project.docs)
    found: dict[str, Previous] = {}
    for item in records.periodic:
        record = item.record
        if record.moment >= window.end or record.report_id == window.period.id:
            continue
        for key in record.statuses:
            status = record.status(key)
            if status is not None and status.commit_gap is not None and status.upstream_head is not None:
                told = Previous(
                    since=record.report_id,
                    behind=status.commit_gap,
                    tip=status.upstream_head,
                    recommendation=status.recommendation,
                )
                found.setdefault(key, told)
    invalid = {
        problem.file: problem.reason for problem in reversed(records.problems) if f"{GAP_FOLDER}/" not in problem.file
    }
    own = find_places(workspace.settings.project, window.period).record
    skipped = tuple(Skipped(f"earlier figures of {file}", why) for file, why in sorted(invalid.items()) if file != own)
    return found, skipped


def _link(workspace: Workspace, branch: str, path: str) -> str:
    repository = workspace.settings.project.repository
    if repository is None:
        raise ConfigError(
            "project.repository is not set; a record needs it to link to its report.",
            hint='Add `repository = "https://…"` to [project] in layline.toml.',
        )
    return f"{repository.removesuffix('/').removesuffix('.git')}/blob/{branch.removeprefix('origin/')}/{path}"


def _tell(activity: Activity) -> answers.Happened:
    return {
        "downstream": {
            "repository": activity.repo,
            "ref": activity.ref,
            "before": activity.before,
            "tip": activity.tip,
        },
        "pull_requests": [
            {
                "number": pull.number,
                "title": pull.title,
                "author": pull.author,
                "merged": pull.merged.isoformat(),
                "commit": pull.commit.hash,
                "category": pull.category,
                "reason": pull.reason,
                "files": pull.files,
            }
            for pull in activity.pulls
        ],
        "direct_commits": [commit.hash for commit in activity.direct],
        "pins": [
            {
                "kind": item.move.kind,
                "name": item.move.name,
                "file": item.move.file,
                "before": item.move.before,
                "after": item.move.after,
                "commit": item.move.commit.hash,
                "pull_request": item.move.commit.pull_request,
                "distance": item.distance.behind if item.distance else None,
                "why": item.why,
            }
            for item in activity.moves
        ],
        "notable": {
            drift.key: [
                {"area": item.area, "number": item.number, "title": item.title, "commit": item.commit}
                for item in drift.notable
            ]
            for drift in activity.drifts
        },
        "skipped": encode_skipped(activity.skipped),
    }
