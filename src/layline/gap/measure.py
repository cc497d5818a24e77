"""Measures one gap: the sentence that `gap report` and `gap verify` share. What other rooms know is handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from layline.core.evidence import Skipped, locate_skipped
from layline.core.policy import recommend
from layline.core.progress import Progress, silent
from layline.coupling.own_code import find_version
from layline.coupling.pair import Pair
from layline.gap.already import mark_known
from layline.gap.areas import area_classes, find_package_changes, measure_areas, name_deletions, name_origins
from layline.gap.between import Copies, History, read_history
from layline.gap.causes import find_causes
from layline.gap.changes import Changes, build_changes, mark_lost
from layline.gap.churn import measure_churn
from layline.gap.demands import OwnNeeds, find_demands
from layline.gap.dependencies import Rank, compare_declarations, find_conflicts, read_declarations
from layline.gap.dependencies.mentions import open_mentions
from layline.gap.dependencies.reading import rank_of
from layline.gap.done import find_done
from layline.gap.effort import find_lost, measure_effort
from layline.gap.impact import Impact, list_named, read_impact
from layline.gap.model import Dependencies, Gap, LastMove
from layline.gap.needs import mark_imported, name_needs
from layline.gap.overview import (
    find_broken_places,
    find_fixes,
    measure_footprint,
    pair_locks,
    policy_inputs,
    slug_of,
)
from layline.gap.own_files import find_mentions, find_outside, list_yaml
from layline.gap.plan import build_plan
from layline.gap.platform import compare_platforms
from layline.gap.refused import Bound, Refused, find_allowing, find_holding, find_refused
from layline.gap.switched_off import name_switches, open_reader
from layline.history.changes import read_diff
from layline.history.commits import read_commit, read_log
from layline.history.pins import find_pin_moves
from layline.history.tags import find_releases_around
from layline.source.tree import Tree
from layline.workspace.guessed import say_guess
from layline.workspace.kept import open_memos

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.core.policy import Recommendation
    from layline.core.report import Report
    from layline.coupling.drift_model import Drift
    from layline.gap.areas import PackageChange
    from layline.gap.dependencies import Declarations, Unread
    from layline.gap.endpoints import Endpoints
    from layline.gap.model import Cause, PlanStep
    from layline.git import Repository
    from layline.history.tags import ReleaseBranch
    from layline.workspace.open import Workspace


Mentions: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Packages of upstream, each with the files of ours that name it."""
Ours: TypeAlias = "tuple[tuple[Drift, ...] | None, Beside, Impact]"
"""The rows of our patches, what stands beside them, and every other place of ours."""
ReadPatches: TypeAlias = "Callable[[Pair], tuple[tuple[Drift, ...] | None, Beside]]"
"""The drift of our patches between two commits: analysers never import one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What stands beside the rows of our patches: why there are none, and patches that nobody compared because their target
    cannot be named without running the code.
    """

    skipped: tuple[Skipped, ...] = ()
    unnamed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """What a gap report needs of other rooms."""

    read_patches: ReadPatches
    render: Callable[[Report], str]


def measure_between(
    workspace: Workspace,
    upstream: Repository,
    key: str,
    ends: Endpoints,
    read_patches: ReadPatches | None = None,
    progress: Progress = silent,
) -> Gap:
    """Everything between pin and tip; git reads the history while worker processes parse our code and theirs."""
    pair, sides = (
        Pair(workspace, key, ends.pin, ends.tip, progress),
        (Tree(upstream, ends.pin), Tree(upstream, ends.tip)),
    )
    history, (patches, beside, impact) = _read_both(upstream, ends, pair, read_patches)
    progress("comparing requirements", 0, 0)
    dependencies, skipped = _read_dependencies(upstream, history, pair.settings, sides)
    progress("looking for the upstream changes behind what breaks", 0, 0)
    fixes = find_fixes(impact.couplings, patches or ())
    packages, mentions = _find_named(pair, sides, history)
    needs = (dependencies, _read_own_needs(workspace, pair.settings))
    causes = tuple(_find_causes(workspace, history, (patches or (), impact), needs, (packages, mentions)))
    plan = build_plan(history.sides[0].commit, history.log, history.releases, causes)
    refused = _find_refused(workspace, pair.settings, sides, history)
    done = tuple(find_done(workspace.tree, *sides, patches or (), pair.answers))
    pair.answers.save()
    return Gap(
        key=key,
        label=pair.settings.label or key,
        ref=ends.ref,
        slug=slug_of(ends.ref),
        project=workspace.settings.project.name,
        downstream=workspace.downstream.name,
        downstream_commit=read_commit(workspace.downstream, workspace.commit),
        upstream=upstream.name,
        source_path=ends.pin_evidence.path,
        pin=history.sides[0],
        tip=history.sides[1],
        pin_evidence=ends.pin_evidence,
        guess=say_guess(pair.settings),
        distance=history.distance,
        diff=history.diff,
        releases=history.releases,
        other_tags=history.other_tags,
        release=history.release,
        branch=_name_lacking(upstream, history, causes),
        last_move=_read_last_move(workspace, key),
        footprint=measure_footprint(workspace.downstream, workspace.commit, pair.settings, key),
        churn=measure_churn(history.diff, pair.settings.churn),
        areas=measure_areas(history.diff, history.touched, pair.settings.areas),
        packages=packages,
        shims=impact.shims,
        changes=_find_changes(history, pair.settings, _find_used(impact, patches or ()), sides),
        dependencies=dependencies,
        surface=impact.surface,
        couplings=impact.couplings,
        stale_keys=impact.stale_keys,
        recommendation=_recommend(workspace, history, (patches or (), impact), needs),
        plan=plan,
        around=_find_around(upstream, ends, plan),
        allowing=_find_allowing(workspace, pair.settings, history),
        refused=refused,
        holding=_find_holding(upstream, pair.settings, refused, plan),
        causes=tuple(cause for cause in causes if cause.places),
        effort=measure_effort(workspace.tree.read_text, fixes, find_lost(impact.couplings)) if impact.surface else None,
        outside=find_outside(workspace.tree.entries, sorted(find_broken_places(impact.couplings, patches or ()))),
        patches=patches,
        unnamed=beside.unnamed,
        tests=impact.tests,
        follows=impact.follows,
        successors=impact.successors,
        done=done,
        asked=impact.asked,
        read_files=impact.read_files,
        mentions=mentions,
        defaults=impact.defaults,
        skipped=(*skipped, *impact.skipped, *beside.skipped),
    )


def _read_both(
    upstream: Repository, ends: Endpoints, pair: Pair, read_patches: ReadPatches | None
) -> tuple[History, Ours]:
    """What git tells, read beside what our code says."""
    backend = pair.settings
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        # the long part in front: an interrupt reaches the main thread alone, and waits for nobody
        reading = pool.submit(read_history, upstream, backend, ends)
        ours = judge_ours(pair, read_patches if backend.packages else None)
        pair.progress("reading the history between pin and tip", 0, 0)
        return reading.result(), ours
    finally:
        pool.shutdown(wait=False)


def _name_lacking(upstream: Repository, history: History, causes: Iterable[Cause]) -> ReleaseBranch | None:
    """The branch of the coming release, with the changes that ask something of us and that it does not have."""
    if history.branch is None:
        return None
    there = tuple(read_log(upstream, history.sides[0].commit.hash, history.branch.commit))
    known = {one.hash for one in there} | {one.pull_request for one in there if one.pull_request}
    without = (one.name for one in causes if one.commit not in known and one.number not in known)
    return replace(history.branch, without=tuple(without))


def _find_used(impact: Impact, patches: Iterable[Drift]) -> set[str]:
    """Files of upstream that our code touches."""
    return {*impact.used_files} | {one.path for row in patches for one in row.evidence if one.path}


def _find_named(pair: Pair, sides: tuple[Tree, Tree], history: History) -> tuple[tuple[PackageChange, ...], Mentions]:
    """Packages that are new or gone, and those gone that YAML files of ours still name."""
    tree, folders = pair.workspace.tree, (*pair.settings.configs, *list_named(pair))
    packages = tuple(_find_packages(*sides, history))
    return packages, tuple(find_mentions(tree, list_yaml(tree.entries, folders), packages, sides[1].entries))


def _find_packages(pin: Tree, tip: Tree, history: History) -> Iterator[PackageChange]:
    """Packages that are new or gone, with the commits that deleted them or made them of older code."""
    changed = find_package_changes(pin.entries, tip.entries, history.diff)
    copies = Copies(tip.repository)
    gone = name_deletions(changed, history.log, history.touched)
    yield from name_origins(gone, history.log, history.touched, cache(copies.read), pin.entries)
    copies.save()


def _find_deletions(packages: tuple[PackageChange, ...], mentions: Mentions) -> dict[str, list[str]]:
    """Commits that delete packages of which our configuration speaks, each with these packages."""
    named = {path for path, _ in mentions}
    found: dict[str, list[str]] = {}
    for one in packages:
        if one.by is not None and one.path in named:
            found.setdefault(one.by.hash, []).append(one.path)
    return found


def _find_changes(history: History, backend: Backend, ours: set[str], sides: tuple[Tree, Tree]) -> Changes:
    """What upstream did between the two, what touches files we use told from the rest."""
    found = build_changes(history.log, history.touched, area_classes(backend.areas), ours)
    then, now = (frozenset(side.entries) for side in sides)
    marked = mark_lost(found, history.touched, then, now)
    return mark_known(marked, history.touched, history.sides[0].commit, sides[1].repository.read_file, history.copied)


def _read_dependencies(
    upstream: Repository, history: History, backend: Backend, sides: tuple[Tree, Tree]
) -> tuple[Dependencies, tuple[Skipped, ...]]:
    found, skipped = read_dependencies(*sides, backend.dependencies)
    memos = open_memos("declared")
    ground = history.log, history.touched, open_reader(upstream, memos)
    needs = tuple(name_needs(mark_imported(found.differences, sides[1]), *ground))
    platform = tuple(name_switches(found.platform, *ground))
    memos.save()
    return replace(found, platform=platform, differences=needs), skipped


def judge_ours(pair: Pair, read_patches: ReadPatches | None) -> Ours:
    """The rows of our patches first: what they decide nobody else judges."""
    pair.begin()
    patches, beside = read_patches(pair) if read_patches is not None else (None, Beside())
    impact, rows = read_impact(pair, patches or ())
    return None if patches is None else rows, beside, impact


def _recommend(
    workspace: Workspace,
    history: History,
    ours: tuple[tuple[Drift, ...], Impact],
    needs: tuple[Dependencies, OwnNeeds],
) -> Recommendation:
    """What upstream's own package brings along, or ours ask for already, is no reason to sync."""
    (patches, impact), (dependencies, own) = ours, needs
    unmet = [row for row in dependencies.differences if not (row.now and own.meet(row.kind, row.name, row.now.spec))]
    places, fixes = (find(impact.couplings, patches) for find in (find_broken_places, find_fixes))
    broken = (len(places), len(fixes)) if impact.surface else None
    inputs = policy_inputs(history.distance.behind, history.age_days, broken, unmet)
    return recommend(inputs, workspace.settings.policy)


def _find_causes(
    workspace: Workspace,
    history: History,
    ours: tuple[tuple[Drift, ...], Impact],
    needs: tuple[Dependencies, OwnNeeds],
    named: tuple[tuple[PackageChange, ...], Mentions],
) -> Iterator[Cause]:
    """Upstream changes that break places of ours or ask something else of us, with the lines behind them."""
    (patches, impact), read = ours, cache(workspace.tree.read_text)
    lost = find_lost(impact.couplings)
    demands = find_demands(_find_deletions(*named), needs[0], impact.stale_keys, impact.follows, needs[1])
    for cause in find_causes(history.log, impact.couplings, patches, demands):
        yield replace(cause, lines=measure_effort(read, (*cause.places, *cause.again), lost).lines)


def _read_own_needs(workspace: Workspace, backend: Backend) -> OwnNeeds:
    """Of a submodule nothing is installed but what ours ask for."""
    return OwnNeeds(read_declarations(workspace.tree, last=Rank.METADATA).items, installed=backend.path is None)


def _find_refused(
    workspace: Workspace, backend: Backend, sides: tuple[Tree, Tree], history: History
) -> tuple[Refused, ...]:
    before, after = (side.version.text if side.version is not None else None for side in history.sides)
    return find_refused(workspace.tree, backend, sides, (before, after))


def _find_allowing(workspace: Workspace, backend: Backend, history: History) -> Bound | None:
    """Only a newer version counts: the newest release where the pin lacks it, or the tip's own."""
    pin, tip = history.sides
    newest = [history.release.name] if history.release is not None and history.release.lacks else []
    newest += [tip.version.text] if tip.version is not None and pin.version is not None else []
    newer = [one for one in newest if pin.version is None or one != pin.version.text]
    return find_allowing(workspace.tree, backend, newer)


def _find_holding(
    upstream: Repository, backend: Backend, refused: tuple[Refused, ...], plan: tuple[PlanStep, ...]
) -> tuple[Refused, ...]:
    step = next((one for one in plan if one.places), None)
    version = find_version(upstream, step.commit, backend.packages) if refused and step is not None else None
    return find_holding(refused, version)


def _find_around(upstream: Repository, ends: Endpoints, plan: tuple[PlanStep, ...]) -> tuple[str | None, str | None]:
    """The newest release without the first change that breaks us, and the first one with it."""
    first = next((step.next for step in plan if step.places and step.next), None)
    return find_releases_around(upstream, ends.pin, first) if first is not None else (None, None)


def _read_last_move(workspace: Workspace, key: str) -> LastMove | None:
    """Nothing where the pin was only ever introduced."""
    downstream, backend = workspace.downstream, workspace.settings.backend(key)
    for commit, before, after in find_pin_moves(downstream, None, workspace.commit, key, backend):
        if before is None or after is None:
            return None
        diff = read_diff(downstream, commit.parents[0], commit.hash)
        new = [one for one in diff.files if one.status == "A"]
        return LastMove(
            commit=commit,
            files=len(diff.files),
            insertions=diff.insertions,
            deletions=diff.deletions,
            new_files=len(new),
            new_lines=sum(one.insertions for one in new),
        )
    return None


def read_dependencies(pin: Tree, tip: Tree, only: tuple[str, ...]) -> tuple[Dependencies, tuple[Skipped, ...]]:
    before, after = read_declarations(pin, only), read_declarations(tip, only)
    files = dict.fromkeys(path for _, path in sorted((*before.files, *after.files)))
    dependencies = Dependencies(
        differences=compare_declarations(before, after),
        conflicts=tuple(find_conflicts(after.items)),
        locks=tuple(pair_locks(before.locks, after.locks)),
        files=tuple(files),
        platform=compare_platforms(before, after, (open_mentions(pin), open_mentions(tip))),
        unread=(_find_unread(before), _find_unread(after)),
    )
    return dependencies, locate_skipped(after.skipped, tip.repository.name, tip.commit)


def _find_unread(declarations: Declarations) -> tuple[Unread, ...]:
    return tuple(one for one in declarations.unread if one.path and rank_of(one.path) is Rank.METADATA)
