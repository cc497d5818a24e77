"""Reading and judging both sides of a drift question: what it costs where no answer was kept.

`app.patches_drift` imports this module on a miss only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from layline.app.ahead import begin
from layline.app.comparisons import KeptComparer, open_comparer
from layline.app.drift_kept import KeptDrift
from layline.app.own_code import find_version, judge_ours, read_indexes, read_ours, read_running
from layline.app.patches import read_inventories
from layline.app.patches_drift import Asked, DriftOptions
from layline.app.upstreams import read_pinned_part
from layline.app.workspace import cache_directory, know_packages
from layline.change.trace import Tracer
from layline.core.drift import DriftKind
from layline.core.evidence import Severity, Skipped
from layline.core.finding import Finding
from layline.core.progress import Progress, silent
from layline.core.why import Reason, Why
from layline.coupling.additions import accept_additions
from layline.coupling.culprit import find_culprits, find_last_seen, find_unheard
from layline.coupling.decide import RefKnowledge
from layline.coupling.drift import count_uncompared, find_drifts, skipped_of
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.model import Consequence
from layline.coupling.reading import Finder
from layline.coupling.reads import Reader
from layline.coupling.replacements import Replacements
from layline.coupling.upstream_keys import find_keys, read_mentions
from layline.errors import Error
from layline.patches.declared_keys import Schema, read_schema
from layline.patches.drift_imports import find_failing_imports
from layline.patches.drift_report import IMPORTS, TOUCHES, Elsewhere, number_repeats, tells_elsewhere
from layline.source import Part, Tree, open_cache
from layline.source.names import module_name
from layline.source.versions import Versions

if TYPE_CHECKING:
    from layline.app.workspace import Workspace
    from layline.core.patch import Inventory
    from layline.git import Repository


@dataclass(frozen=True, slots=True, eq=False)
class OpenedDrift:
    """A drift question with both sides read."""

    inventory: Inventory
    sides: Sides
    upstream: Repository
    pin: str
    tip: str
    comparer: KeptComparer
    skipped: tuple[Skipped, ...] = ()


def judge_drift(asked: Asked, options: DriftOptions, progress: Progress) -> KeptDrift:
    """Every row, and the places of ours outside patches that no longer fit."""
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
    places = () if ours is None else tuple(_find_places(rows, ours, sides, progress))
    opened.comparer.save()
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
    comparer = open_comparer("drift", then, now, (Tracer(upstream, pin, tip, versions),))
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
    return OpenedDrift(inventory, sides, upstream, pin, tip, comparer, skipped)


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


def _find_places(
    rows: list[Drift], ours: Callable[[], Finder], sides: Sides, progress: Progress
) -> Iterator[Elsewhere]:
    """Imports that keep patches from being installed first; then every other place, each once."""
    causes = tuple(find_failing_imports(rows))
    told = {item.location for item in causes}
    yield from causes
    for one in _find_elsewhere(ours, sides, progress):
        if one.touch != IMPORTS or one.location not in told:
            yield one


def _find_elsewhere(ours: Callable[[], Finder], sides: Sides, progress: Progress) -> Iterator[Elsewhere]:
    """Every other place of ours that breaks; overrides and calls also where they only may."""
    progress("reading our overrides and calls", 0, 0)
    severities = {Consequence.WILL_BREAK: Severity.BREAKS, Consequence.MAY_BREAK: Severity.LOOK}
    for item in judge_ours(ours(), sides.comparer, sides.running):
        if tells_elsewhere(item):
            yield Elsewhere(
                touch=TOUCHES[item.touch],
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
