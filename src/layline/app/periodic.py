"""`periodic weekly` and `periodic monthly`: a Markdown report and its record, from git history alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from layline.app.gap_coupling import measure_impact
from layline.app.gap_measure import read_patches
from layline.app.periodic_files import find_places, write_report
from layline.core.checks import clean_line
from layline.core.evidence import Skipped, encode_skipped
from layline.core.period import Cadence
from layline.core.records import encode_record
from layline.core.report import Answer
from layline.coupling.agree import agree_on_patches
from layline.dashboard.records import GAP_FOLDER, load_records
from layline.errors import ConfigError, Error
from layline.gap.areas import area_classes
from layline.gap.changes import build_changes
from layline.gap.overview import find_broken_places
from layline.history import find_tip_at, read_commit, read_log, read_touched_files
from layline.periodic.activity import read_activity
from layline.periodic.distance import ReportScope, Target
from layline.periodic.model import Activity, Effect, Notable, Previous, Window
from layline.periodic.presets import fill_preset
from layline.periodic.record import build_record
from layline.periodic.report import build_report
from layline.periodic.window import build_window, find_zone, parse_local
from layline.render.markdown import render_markdown
from layline.source import Tree
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.core.revision import Commit
    from layline.gap.changes import UpstreamChange
    from layline.workspace.open import Workspace

MOST_NOTABLE = 12
MOST_IN_ONE_AREA = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What the user says about the window; where nothing is said, the period of the newest commit at hand."""

    period: str | None = None
    since: str | None = None
    until: str | None = None
    couplings: bool = False
    """Also judge our couplings against each tip: slower, and the recommendation knows what breaks."""


def periodic_weekly(workspace: Workspace, span: Span, *, write: bool = True, replace_foreign: bool = False) -> Answer:
    """The report of an ISO week, up to its end or to a moment."""
    return _report(workspace, Cadence.WEEKLY, span, write=write, replace_foreign=replace_foreign)


def periodic_monthly(workspace: Workspace, span: Span, *, write: bool = True, replace_foreign: bool = False) -> Answer:
    """The report of a month, up to its end or to a moment."""
    return _report(workspace, Cadence.MONTHLY, span, write=write, replace_foreign=replace_foreign)


def _report(workspace: Workspace, cadence: Cadence, span: Span, *, write: bool, replace_foreign: bool) -> Answer:
    settings = fill_preset(workspace.settings.periodic)
    workspace = know_packages(workspace) if span.couplings else workspace
    targets, missing = _open_targets(workspace)
    head = workspace.downstream.resolve(settings.ref)
    newest = [read_commit(workspace.downstream, head)]
    newest += [read_commit(target.upstream, target.head) for target in targets.values()]
    window = _choose_window(cadence, settings.timezone, span, newest)
    previous, invalid = _find_previous(workspace, window)
    ground = _build_ground(workspace, window, head, previous)
    if span.couplings:
        ground = replace(ground, measure_effect=partial(_measure_effect, replace(workspace, commit=ground.tip)))
    activity = read_activity(ground, settings, targets, missing)
    activity = replace(activity, skipped=(*activity.skipped, *invalid))
    places = find_places(workspace.settings.project, window.period)
    link = _link(workspace, settings.branch or activity.ref, places.report)
    categories = tuple(category.name for category in settings.categories)
    record = build_record(
        activity, project=workspace.settings.project.name, path=places.report, link=link, categories=categories
    )
    report = build_report(activity, title=record.title, categories=categories)
    plain = encode_record(record)
    if write:
        write_report(workspace.root, places, render_markdown(report), plain, replace_foreign=replace_foreign)
    data = {
        "schema": "layline.periodic/1",
        "record": plain,
        "written": [places.report, places.record] if write else [],
        **_tell(activity),
    }
    if write:  # the files themselves do not say so
        report = replace(report, meta=(*report.meta, ("written", f"{places.report}, {places.record}")))
    return Answer(report=report, data=data)


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


def _build_ground(workspace: Workspace, window: Window, head: str, previous: Mapping[str, Previous]) -> ReportScope:
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


def _measure_effect(workspace: Workspace, target: Target, pin: str, tip: str) -> Effect | None:
    """What the way from pin to tip does to our code; None where `packages` does not say what is the backend's."""
    if not target.backend.packages:
        return None
    impact = measure_impact(workspace, target.backend, Tree(target.upstream, pin), Tree(target.upstream, tip))
    patches, _ = read_patches(workspace, target.key, tip)
    couplings = agree_on_patches(impact.couplings, patches or ())
    breaking = len(find_broken_places(couplings, patches or ()))
    return Effect(will_break=breaking, used_files=frozenset(impact.used_files))


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


def find_notable(target: Target, since: str, tip: str, used: frozenset[str]) -> tuple[tuple[Notable, ...], int]:
    """Upstream changes between two commits and how many there are: what touches `used` first, then the broadest."""
    touched = read_touched_files(target.upstream, since, tip)
    changes = build_changes(read_log(target.upstream, since, tip), touched, area_classes(target.backend.areas), used)
    told: list[Notable] = []
    for change in changes.kept:
        if len(told) < MOST_NOTABLE and sum(item.area == change.area for item in told) < MOST_IN_ONE_AREA:
            told.append(
                Notable(
                    area=change.area,
                    number=change.number,
                    title=_bare_title(change),
                    commit=change.commits[0],
                    ours=len(change.ours),
                )
            )
    return tuple(told), len(changes.kept)


def _bare_title(change: UpstreamChange) -> str:
    """Some titles name the pull request twice."""
    return clean_line(change.title.removesuffix(f"(#{change.number})"), 160) or change.commits[0][:12]


def _link(workspace: Workspace, branch: str, path: str) -> str:
    repository = workspace.settings.project.repository
    if repository is None:
        raise ConfigError(
            "project.repository is not set, and a record links its report there.",
            hint='Add `repository = "https://…"` to [project] in layline.toml.',
        )
    return f"{repository.removesuffix('/').removesuffix('.git')}/blob/{branch.removeprefix('origin/')}/{path}"


def _tell(activity: Activity) -> dict[str, Any]:
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
