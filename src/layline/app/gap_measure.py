"""Measures one gap: the sentence that `gap report` and `gap verify` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.app.gap_coupling import measure_impact
from layline.core.policy import recommend
from layline.core.progress import Progress, silent
from layline.gap.areas import area_classes, find_package_changes, measure_areas
from layline.gap.changes import build_changes
from layline.gap.churn import measure_churn
from layline.gap.dependencies import compare_declarations, find_conflicts, read_declarations
from layline.gap.model import Dependencies, Gap
from layline.gap.overview import measure_footprint, pair_locks, policy_inputs, read_side, slug_of
from layline.gap.plan import build_plan, group_by_culprit
from layline.history import compare_commits, find_releases, read_commit, read_diff, read_log, read_touched_files
from layline.source.tree import Tree

if TYPE_CHECKING:
    from layline.app.gap import Endpoints
    from layline.app.workspace import Workspace
    from layline.core.evidence import Skipped
    from layline.git import Repository


def measure_between(
    workspace: Workspace, upstream: Repository, key: str, ends: Endpoints, progress: Progress = silent
) -> Gap:
    backend = workspace.settings.backend(key)
    pin, tip = Tree(upstream, ends.pin), Tree(upstream, ends.tip)
    progress("Reading history", 0, 4)
    sides = read_side(upstream, ends.pin, backend), read_side(upstream, ends.tip, backend)
    distance = compare_commits(upstream, ends.pin, ends.tip)
    diff = read_diff(upstream, ends.pin, ends.tip)
    log = list(read_log(upstream, ends.pin, ends.tip))
    touched = read_touched_files(upstream, ends.pin, ends.tip)
    progress("Reading dependencies", 1, 4)
    dependencies, skipped = read_dependencies(pin, tip, backend.dependencies)
    age = _days(sides[0].commit.date, sides[1].commit.date)
    progress("Comparing our code with the tip", 2, 4)
    impact = measure_impact(workspace, backend, pin, tip)
    inputs = policy_inputs(distance.behind, age, impact.couplings, dependencies.differences)
    releases = find_releases(upstream, ends.pin, ends.tip)
    return Gap(
        key=key,
        label=backend.label or key,
        ref=ends.ref,
        slug=slug_of(ends.ref),
        project=workspace.settings.project.name,
        downstream=workspace.downstream.name,
        downstream_commit=read_commit(workspace.downstream, workspace.commit),
        upstream=upstream.name,
        source_path=ends.pin_evidence.path,
        pin=sides[0],
        tip=sides[1],
        pin_evidence=ends.pin_evidence,
        distance=distance,
        diff=diff,
        releases=releases,
        footprint=measure_footprint(workspace.downstream, workspace.commit, backend),
        churn=measure_churn(diff, backend.churn),
        areas=measure_areas(diff, touched, backend.areas),
        packages=tuple(find_package_changes(pin.entries, tip.entries, diff)),
        shims=impact.shims,
        changes=build_changes(log, touched, area_classes(backend.areas), impact.used_files),
        dependencies=dependencies,
        surface=impact.surface,
        couplings=impact.couplings,
        stale_keys=impact.stale_keys,
        recommendation=recommend(inputs, workspace.settings.policy),
        plan=build_plan(log, releases, group_by_culprit(impact.couplings)),
        skipped=(*skipped, *impact.skipped),
    )


def read_dependencies(pin: Tree, tip: Tree, only: tuple[str, ...]) -> tuple[Dependencies, tuple[Skipped, ...]]:
    before, after = read_declarations(pin, only), read_declarations(tip, only)
    files = dict.fromkeys(path for _, path in sorted((*before.files, *after.files)))
    dependencies = Dependencies(
        differences=compare_declarations(before, after),
        conflicts=tuple(find_conflicts(after.items)),
        locks=tuple(pair_locks(before.locks, after.locks)),
        files=tuple(files),
    )
    return dependencies, after.skipped


def _days(before: str, after: str) -> int:
    from datetime import date

    return (date.fromisoformat(after) - date.fromisoformat(before)).days
