"""`patches drift|diff|retarget`: whether every patch still fits at any upstream ref."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from layline.app.patches import read_inventories
from layline.app.workspace import cache_directory
from layline.core.evidence import Evidence, Severity, Skipped
from layline.core.report import Answer
from layline.errors import Error
from layline.history import read_commit, read_pin
from layline.patches.baseline import Accepted, parse_baseline, split_accepted
from layline.patches.culprit import find_culprits
from layline.patches.drift import Drift, Sides, find_drifts, skipped_of
from layline.patches.drift_report import DriftReport, build_report, encode_drift, find_findings
from layline.patches.keys import find_keys, read_mentions
from layline.patches.replacements import Replacements
from layline.source import Part, Resolver, Tree, build_index, open_cache
from layline.source.compare import Comparer
from layline.source.trace import Tracer

if TYPE_CHECKING:
    from layline.app.workspace import Workspace
    from layline.git import Repository
    from layline.patches.model import Inventory

FAIL_ON = {"breaks": (Severity.BREAKS,), "look": (Severity.BREAKS, Severity.LOOK), "none": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftOptions:
    """How a drift question is asked."""

    to: str | None = None
    culprits: bool = False
    fail_on: str = "breaks"
    baseline: Path | None = None
    today: date = date.max


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A drift question with both sides read."""

    inventory: Inventory
    sides: Sides
    upstream: Repository
    pin: str
    tip: str
    skipped: tuple[Skipped, ...] = ()


def patches_drift(workspace: Workspace, backend: str, options: DriftOptions) -> Answer:
    """Say, for every effect of every patch of `backend`, what became of its target between pin and tip."""
    baseline = _read_baseline(options.baseline)
    opened = open_drift(workspace, backend, options.to)
    rows: list[Drift] = list(find_drifts(opened.inventory, opened.sides))
    if options.culprits:
        rows = list(find_culprits(rows, opened.sides, opened.upstream))
    rows.sort(key=lambda row: row.order)
    counted, accepted, stale = split_accepted(rows, baseline, options.today)
    drift = DriftReport(
        backend=backend, label=workspace.settings.backend(backend).label or backend,
        downstream=Evidence(repo=workspace.downstream.name, commit=workspace.commit),
        pin=read_commit(opened.upstream, opened.pin), tip=read_commit(opened.upstream, opened.tip), rows=counted,
        accepted=accepted, stale=stale, skipped=opened.skipped, culprits=options.culprits,
    )  # fmt: skip
    needs = any(row.severity in FAIL_ON[options.fail_on] for row in counted)
    return Answer(
        report=build_report(drift), data=encode_drift(drift), needs_person=needs, findings=tuple(find_findings(drift))
    )  # fmt: skip


def open_drift(workspace: Workspace, backend: str, to: str | None) -> Opened:
    """Read the inventory and both upstream refs."""
    settings = workspace.settings.backend(backend)
    upstream = workspace.open_backend(backend)
    pin = upstream.resolve(read_pin(workspace.downstream, workspace.commit, backend, settings).revision)
    tip = upstream.resolve_upstream(to or settings.ref)
    (inventory,) = read_inventories(workspace, (backend,))
    parts = [Part(tree=Tree(upstream, pin), source_roots=settings.source_roots, packages=settings.packages)]
    others = list(_other_parts(workspace, backend))
    cache = open_cache(cache_directory())
    then = build_index([*parts, *others], cache)
    now = build_index([replace(parts[0], tree=Tree(upstream, tip)), *others], cache)
    cache.close()
    comparer = Comparer(Resolver(then), Resolver(now), (Tracer(upstream, pin, tip),))
    sides = Sides(
        comparer=comparer, replacements=Replacements(Tree(workspace.downstream, workspace.commit)), part=0,
        keys=read_mentions((then, now), 0, find_keys(inventory)),
        targets=frozenset(effect.target for patch in inventory.patches for effect in patch.effects if effect.target),
        foreign=tuple(name for key, other in workspace.settings.backends.items() if key != backend for name in other.packages),
    )  # fmt: skip
    skipped = tuple(dict.fromkeys((*inventory.skipped, *skipped_of(sides))))
    return Opened(inventory, sides, upstream, pin, tip, skipped)


def _other_parts(workspace: Workspace, backend: str) -> list[Part]:
    """The other upstreams at their pins: names of theirs are not lost names of this one."""
    parts: list[Part] = []
    for key, settings in workspace.settings.backends.items():
        if key == backend:
            continue
        try:
            repository = workspace.open_backend(key)
            pin = repository.resolve(read_pin(workspace.downstream, workspace.commit, key, settings).revision)
        except Error:
            continue  # the inventory has said so already
        parts.append(Part(tree=Tree(repository, pin), source_roots=settings.source_roots, packages=settings.packages))
    return parts


def _read_baseline(file: Path | None) -> tuple[Accepted, ...]:
    if file is None:
        return ()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"The baseline {file} cannot be read: {error}.") from None
    return parse_baseline(text, where=str(file))
