"""`patches drift|diff|retarget`: whether every patch still fits at any upstream ref."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from layline.app.ahead import begin
from layline.app.drift_kept import KeptDrift, read_kept
from layline.app.own_code import find_version, judge_ours, read_indexes, read_ours, read_running
from layline.app.patches import find_inputs, read_inventories
from layline.app.patches_read import open_reading
from layline.app.uncommitted import tell_uncommitted
from layline.app.upstreams import read_pinned_part
from layline.app.workspace import cache_directory, know_packages
from layline.change.compare import Comparer
from layline.change.trace import Tracer
from layline.core.drift import DriftKind
from layline.core.evidence import Evidence, Severity, Skipped
from layline.core.finding import Finding
from layline.core.progress import Progress, silent
from layline.core.report import Answer, Block, Bullets, Code, Paragraph, Report, Section, Subject
from layline.core.why import Reason, Why
from layline.coupling.additions import accept_additions
from layline.coupling.culprit import find_culprits, find_last_seen, find_unheard
from layline.coupling.decide import RefKnowledge
from layline.coupling.drift import count_uncompared, find_drifts, skipped_of
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.model import Consequence, Touch
from layline.coupling.reading import Finder
from layline.coupling.reads import Reader
from layline.coupling.replacements import Replacements
from layline.coupling.threeway import build_three_way
from layline.coupling.upstream_keys import find_keys, read_mentions
from layline.errors import Error
from layline.git.overlay import Overlay
from layline.history import read_commit
from layline.patches.baseline import Accepted, find_stale, parse_baseline, split_accepted
from layline.patches.declared_keys import Schema, read_schema
from layline.patches.diff_report import build_diff_report, encode_views
from layline.patches.drift_imports import find_failing_imports
from layline.patches.drift_lines import build_drift_listing
from layline.patches.drift_report import (
    DriftReport,
    Elsewhere,
    build_findings,
    build_report,
    encode_drift,
    number_repeats,
)
from layline.patches.inventory.read import read_inventory
from layline.patches.named import find_named
from layline.patches.wanted import ALL, Wanted
from layline.source import Part, Resolver, Tree, open_cache
from layline.source.names import module_name
from layline.source.versions import Versions
from layline.upgrade.retarget import build_retarget, confirm

if TYPE_CHECKING:
    from layline.app.workspace import Workspace
    from layline.core.patch import Inventory
    from layline.git import Repository
    from layline.patches import answers

FAIL_ON = {"breaks": (Severity.BREAKS,), "look": (Severity.BREAKS, Severity.LOOK), "none": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftOptions:
    """How a drift question is asked."""

    to: str | None = None
    culprits: bool = False
    fail_on: str = "breaks"
    baseline: Path | None = None
    today: date = date.max
    since: str | None = None
    """The upstream commit compared from; default: the pin. For a pull request that moves it: where it was."""
    dead: bool = False
    """Only ask what does nothing today already: the pin is compared with itself."""
    wanted: Wanted = ALL
    """Which rows the answer has; its exit code counts those."""
    elsewhere: bool = True
    """Also ask about our overrides and calls; a gap report, which judges all of our code itself, does not."""

    @property
    def reads_ours(self) -> bool:
        return self.elsewhere and not self.dead


@dataclass(frozen=True, slots=True, eq=False)
class OpenedDrift:
    """A drift question with both sides read."""

    inventory: Inventory
    sides: Sides
    upstream: Repository
    pin: str
    tip: str
    skipped: tuple[Skipped, ...] = ()


def patches_drift(workspace: Workspace, backend: str, options: DriftOptions, *, progress: Progress = silent) -> Answer:
    """Say, for every effect of every patch of `backend`, what became of its target between pin and tip."""
    baseline = _read_baseline(options.baseline)
    asked, found = find_drift(workspace, backend, options, progress)
    rows = tuple(row for row in found.rows if options.wanted.keeps_row(row))
    places = tuple(item for item in found.elsewhere if options.wanted.keeps_elsewhere(item))
    counted, accepted = split_accepted(rows, baseline, options.today)
    elsewhere, elsewhere_accepted = split_accepted(places, baseline, options.today)
    used = (item for _, item in (*accepted, *elsewhere_accepted))
    drift = DriftReport(
        backend=backend,
        label=workspace.settings.backend(backend).label or backend,
        downstream=Evidence(repo=workspace.downstream.name, commit=workspace.commit),
        pin=read_commit(asked.upstream, found.pin),
        tip=read_commit(asked.upstream, found.tip),
        rows=counted,
        accepted=accepted,
        stale=find_stale(baseline, used),
        skipped=found.skipped,
        listed=found.listed,
        uncompared=found.count_uncompared(rows),
        culprits=options.culprits,
        elsewhere=elsewhere,
        elsewhere_accepted=elsewhere_accepted,
    )
    severities = {*(row.severity for row in counted), *(item.severity for item in drift.elsewhere)}
    needs = bool(counted) if options.dead else bool(severities & set(FAIL_ON[options.fail_on]))
    answer = Answer(
        report=build_report(drift),
        data=encode_drift(drift),
        needs_person=needs,
        findings=build_findings(drift),
        listing=build_drift_listing(
            drift,
            whole=split_accepted(found.rows, baseline, options.today)[0],
            commits={name: read_commit(asked.upstream, name) for name in {one.culprit for one in elsewhere} if name},
            notes=Severity.OK in options.wanted.severities,
        ),
        subject=Subject(repo=workspace.downstream.name, commit=workspace.commit, question=f"patches-drift/{backend}"),
    )
    return tell_uncommitted(workspace, answer, [backend])


def find_drift(
    workspace: Workspace, backend: str, options: DriftOptions, progress: Progress = silent
) -> tuple[Asked, KeptDrift]:
    """The rows themselves, before a baseline or a filter: what other analysers build on."""
    asked = _ask(know_packages(workspace), backend, options)
    return asked, read_kept(asked.inputs, lambda: _find(asked, options, progress))


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A drift question whose refs are known."""

    workspace: Workspace
    backend: str
    upstream: Repository
    pin: str
    tip: str
    inputs: tuple[object, ...] = ()
    """All that the answer depends on besides our own code."""


def _ask(workspace: Workspace, backend: str, options: DriftOptions) -> Asked:
    settings = workspace.settings.backend(backend)
    upstream = workspace.open_backend(backend)
    pinned = workspace.find_pinned(backend)
    pin = upstream.resolve(options.since) if options.since else pinned.commit
    tip = pinned.commit if options.dead else upstream.resolve_upstream(options.to or settings.ref)
    how = (options.since is not None, options.dead, options.culprits, options.elsewhere, upstream.is_shallow)
    return Asked(workspace, backend, upstream, pin, tip, (backend, pin, tip, *how, *find_inputs(workspace)))


def _find(asked: Asked, options: DriftOptions, progress: Progress) -> KeptDrift:
    workspace = asked.workspace
    opened = open_drift(workspace, asked.backend, asked.tip, progress, since=asked.pin)
    sides = opened.sides
    ours = begin(lambda: read_ours(workspace, sides.pin.index.parts[sides.part])) if options.reads_ours else None
    rows: list[Drift] = list(_watch(find_drifts(opened.inventory, opened.sides), opened.inventory, progress))
    if options.since is not None:
        rows = [_accept_new(row) for row in rows]
    rows = settle(rows, workspace, opened)
    if options.dead:
        rows = [row for row in rows if row.kind is DriftKind.DEAD_AT_PIN]
    if options.culprits:
        progress("looking for culprits", 0, 0)
        rows = list(find_culprits(rows, opened.sides, opened.upstream))
    rows = list(number_repeats(sorted(rows, key=lambda row: row.order)))
    places = () if ours is None else (*find_failing_imports(rows), *_find_elsewhere(ours, sides, progress))
    return KeptDrift(
        pin=opened.pin,
        tip=opened.tip,
        rows=tuple(rows),
        elsewhere=places,
        skipped=opened.skipped,
        listed=sum(1 for _ in opened.inventory.every_effect()),
        uncompared=dict(count_uncompared(opened.inventory, opened.sides)),
    )


def settle(rows: Iterable[Drift], workspace: Workspace, opened: OpenedDrift) -> list[Drift]:
    """Rows about names the pin does not have: until when upstream had them, or that they are additions of ours."""
    seen = list(find_last_seen(rows, opened.sides, opened.upstream, opened.pin))
    return list(accept_additions(seen, find_unheard(seen), Tree(workspace.downstream, workspace.commit)))


def _watch(rows: Iterator[Drift], inventory: Inventory, progress: Progress) -> Iterator[Drift]:
    total = sum(len(patch.effects) for patch in inventory.patches)
    for number, row in enumerate(rows, 1):
        progress("comparing targets", number, max(total, number))
        yield row


def _accept_new(row: Drift) -> Drift:
    """A target that came after the commit compared from is no dead one: the patch was written for where we go."""
    if row.kind is not DriftKind.DEAD_AT_PIN or row.comparison is None or not row.comparison.after.exists:
        return row
    return row.settle(Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.NEW_SINCE)))


def open_drift(
    workspace: Workspace, backend: str, to: str | None, progress: Progress = silent, *, since: str | None = None
) -> OpenedDrift:
    """Read the inventory and both upstream refs."""
    workspace = know_packages(workspace)
    settings = workspace.settings.backend(backend)
    upstream = workspace.open_backend(backend)
    pin = upstream.resolve(since) if since else workspace.find_pinned(backend).commit
    tip = upstream.resolve_upstream(to or settings.ref)
    part = Part(tree=Tree(upstream, pin), source_roots=settings.source_roots, packages=settings.packages)
    others = _other_parts(workspace, backend)
    read_sides = begin(lambda: read_indexes([part, *others], [replace(part, tree=Tree(upstream, tip)), *others]))
    progress("reading the patches", 0, 0)
    (inventory,) = read_inventories(workspace, (backend,), progress)
    progress(f"reading {backend} at pin and tip", 0, 0)
    then, now = read_sides()
    versions = Versions(upstream, (then, now), open_cache(cache_directory()))
    comparer = Comparer(Resolver(then), Resolver(now), (Tracer(upstream, pin, tip, versions),))
    ours = Tree(workspace.downstream, workspace.commit)
    keys = read_mentions((then, now), 0, find_keys(inventory))
    replacements = _open_replacements(workspace.downstream, workspace.commit)
    ground = RefKnowledge(
        comparer=comparer,
        packages=settings.packages,
        keys=keys,
        declares=_declares(ours, settings.configs),
        versions=(find_version(upstream, pin, settings.packages), find_version(upstream, tip, settings.packages)),
        subjects=frozenset(word for name in (backend, *settings.packages) for word in re.split(r"[._]", name.lower())),
    )
    roots = workspace.settings.project.source_roots
    sides = Sides(
        comparer=comparer,
        replacements=replacements,
        part=0,
        reader=Reader(comparer, replacements, then.parts[0].packages, roots),
        keys=keys,
        own=_own_names(workspace, ours),
        targets=frozenset(effect.target for patch in inventory.patches for effect in patch.effects if effect.target),
        ground=ground,
        running=read_running(ours, roots, ground),
        foreign=tuple(
            name for key, other in workspace.settings.backends.items() if key != backend for name in other.packages
        ),
    )
    skipped = tuple(dict.fromkeys((*inventory.skipped, *skipped_of(sides))))
    return OpenedDrift(inventory, sides, upstream, pin, tip, skipped)


@lru_cache(maxsize=2)
def _open_replacements(downstream: Repository, commit: str) -> Replacements:
    """One for all upstream commits that are asked about in turn."""
    return Replacements(Tree(downstream, commit))


def _own_names(workspace: Workspace, tree: Tree) -> frozenset[str]:
    """First words of what the downstream's own modules are called."""
    names = (
        module_name(path, workspace.settings.project.source_roots) for path in tree.entries if path.endswith(".py")
    )
    return frozenset(name.partition(".")[0] for name in names if name)


def _declares(tree: Tree, configs: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a config file of ours sets a key; the files are read when the first doubt asks."""

    @cache
    def read() -> Schema:
        return read_schema(tree, configs)

    return lambda key: any(key == name or name.endswith(f".{key}") for name in read().keys)


def _find_elsewhere(ours: Callable[[], Finder], sides: Sides, progress: Progress) -> Iterator[Elsewhere]:
    """Overrides that cannot take what upstream passes, and calls that no longer bind; imports are `gap report`'s."""
    progress("reading our overrides and calls", 0, 0)
    severities = {Consequence.WILL_BREAK: Severity.BREAKS, Consequence.MAY_BREAK: Severity.LOOK}
    for item in judge_ours(ours(), sides.comparer, sides.running):
        if item.touch in {Touch.OVERRIDE, Touch.CALL} and item.consequence in severities:
            yield Elsewhere(
                touch=item.touch.value,
                target=item.target,
                location=item.location,
                culprit=item.culprit,
                severity=severities[item.consequence],
                detail=item.detail or item.state.value,
                new_target=item.new_target,
                tip_evidence=item.tip_evidence,
            )


def _other_parts(workspace: Workspace, backend: str) -> list[Part]:
    """The other upstreams at their pins: names of theirs are not lost names of this one."""
    parts: list[Part] = []
    for key in workspace.settings.backends:
        if key == backend:
            continue
        try:
            parts.append(read_pinned_part(workspace, key))
        except Error:
            continue  # the inventory has said so already
    return parts


def _read_baseline(file: Path | None) -> tuple[Accepted, ...]:
    if file is None:
        return ()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"The baseline {file} cannot be read: {error}.") from None
    return parse_baseline(text, where=str(file))


def patches_diff(workspace: Workspace, patch: str, *, to: str | None = None, progress: Progress = silent) -> Answer:
    """The three-way view of one patch: upstream then, upstream now, ours."""
    named = find_named(read_inventories(workspace, tuple(workspace.settings.backends), progress), patch)
    backend, patch = named.inventory.backend, named.patch.id
    opened = open_drift(workspace, backend, to, progress)
    rows = [
        row
        for row in find_drifts(opened.inventory, opened.sides)
        if row.patch == patch or (row.effect is not None and row.effect.id in named.ids)
    ]
    views = [view for row in rows if (view := build_three_way(row, opened.sides)) is not None]
    here = Evidence(repo=workspace.downstream.name, commit=workspace.commit)
    return Answer(
        report=build_diff_report(patch, views, here), data=encode_views(patch, backend, opened.pin, opened.tip, views)
    )


def patches_retarget(workspace: Workspace, backend: str, *, to: str | None = None) -> tuple[Answer, str]:
    """The edit for moved and renamed targets: an answer that tells it, and the diff itself."""
    opened = open_drift(workspace, backend, to)
    rows = sorted(find_drifts(opened.inventory, opened.sides), key=lambda row: row.order)
    found = build_retarget(rows, Tree(workspace.downstream, workspace.commit), opened.sides.pin, opened.sides.tip)
    if found.files:
        again = _read_edited(workspace, backend, {file.path: file.after for file in found.files})
        found = confirm(found, opened.inventory.every_effect(), again.every_effect(), opened.sides.tip)
    blocks: list[Block] = []
    if found.done:
        blocks.append(Bullets(tuple(dict.fromkeys(found.done))))
    if found.diff:
        blocks.append(Code(found.diff, "diff"))
    report = Report(
        title=f"Retargeting {backend}: {len(set(found.done))} targets",
        sections=(Section(title="The edit", blocks=tuple(blocks) or (Paragraph("Nothing moved or was renamed."),)),),
        skipped=tuple(dict.fromkeys(found.left)),
    )
    data: answers.Retarget = {
        "schema": "layline.retarget/1",
        "backend": backend,
        "pin": opened.pin,
        "tip": opened.tip,
        "done": list(dict.fromkeys(found.done)),
        "diff": found.diff,
        "left": [{"what": item.what, "why": item.why} for item in dict.fromkeys(found.left)],
    }
    return Answer(report=report, data=data), found.diff


def _read_edited(workspace: Workspace, backend: str, files: dict[str, str]) -> Inventory:
    """The inventory as it would be with these files."""
    data = {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
    edited = replace(workspace, downstream=Overlay(workspace.downstream, workspace.commit, data))
    opened = open_reading(edited)
    return read_inventory(opened.reading, backend, opened.upstreams.look_up, opened.upstreams.pins.get(backend))
