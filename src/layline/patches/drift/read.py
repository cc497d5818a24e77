"""Reading and judging both sides of a drift question: what it costs where no answer was kept.

`app.patches_drift` imports this module on a miss only.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from layline import codec
from layline.change.kept import KeptComparer, open_comparer
from layline.change.trace import Tracer
from layline.core.drift import DriftKind
from layline.core.evidence import Severity, Skipped
from layline.core.finding import Finding
from layline.core.progress import Progress, silent
from layline.core.why import Reason, Why
from layline.coupling.additions import accept_additions
from layline.coupling.culprit import find_culprits, find_last_seen, find_unheard
from layline.coupling.decide import RefKnowledge
from layline.coupling.drift import judge_subjects
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.model import Consequence
from layline.coupling.own_code import find_version, judge_ours, read_indexes, read_ours, read_running
from layline.coupling.reads import Reader
from layline.coupling.replacements import Replacements
from layline.coupling.subjects import Judged, Subject, count_uncompared, find_subjects
from layline.coupling.upstream_keys import find_keys, read_mentions
from layline.errors import Error
from layline.executors.ahead import begin
from layline.interpreter.modules import find_project_roots
from layline.patches.declared_keys import Schema, read_schema
from layline.patches.drift.ask import Asked, DriftOptions
from layline.patches.drift.imports import find_failing_imports
from layline.patches.drift.kept import KEPT, KeptDrift
from layline.patches.drift.places import PlaceKeeper
from layline.patches.drift.report import IMPORTS, TOUCHES, Elsewhere, number_repeats, tells_elsewhere
from layline.patches.drift.rows import Asked as AskedFor
from layline.patches.drift.rows import RowKeeper, note_names
from layline.patches.kept import read_inventories
from layline.patches.upstreams import read_pinned_part
from layline.source import Part, Tree, open_cache
from layline.source.facts import ANALYSER as FACTS
from layline.source.memos import Memos
from layline.source.names import longest_root, module_name
from layline.source.sight import Sight
from layline.source.versions import Versions
from layline.workspace.kept import find_pins, open_memos
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.core.patch import Inventory
    from layline.coupling.model import Coupling
    from layline.git import Repository
    from layline.source import Index
    from layline.workspace.open import Workspace


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
    """Every row, and the places of ours outside patches that no longer fit; what did not change is recalled."""
    workspace = asked.workspace
    opening = Opening(know_packages(workspace), asked.backend, asked.pin, asked.tip, progress)
    how = (options.since is not None, options.culprits)
    keepers = open_keepers(opening, how)
    subjects = list(find_subjects(opening.inventory))
    kept = keepers.rows.recall(subjects)
    missing = [one for one, known in zip(subjects, kept, strict=True) if known is None]
    fresh = iter(_judge_anew(missing, opening, keepers.rows, options) if missing else ())
    judged = [next(fresh) if known is None else known for known in kept]
    rows = accept_ours([row for one in judged for row in one.rows], workspace)
    if options.dead:
        rows = [row for row in rows if row.kind is DriftKind.DEAD_AT_PIN]
    rows = list(number_repeats(sorted(rows, key=lambda row: row.order)))
    places = tuple(_find_places(rows, opening, keepers.places)) if options.reads_ours else ()
    progress(KEPT, keepers.memos.recalled, keepers.memos.recalled + keepers.memos.made)
    found = KeptDrift(
        pin=opening.pin,
        tip=opening.tip,
        rows=tuple(rows),
        elsewhere=places,
        skipped=tuple(dict.fromkeys((*opening.inventory.skipped, *opening.read_skipped()))),
        listed=sum(1 for _ in opening.inventory.every_effect()),
        uncompared=dict(count_uncompared(opening.inventory, judged)),
    )
    opening.save()
    keepers.memos.save()
    return found


def _judge_anew(
    subjects: list[Subject], opening: Opening, keeper: RowKeeper, options: DriftOptions
) -> Iterator[Judged]:
    """Rows of these subjects, with their culprits where they are asked for, kept for the next commit."""
    opened, said, asked = opening.opened, list[Judged](), list[AskedFor]()
    sides = replace(opened.sides, targets=keeper.targets)
    keeper.note()
    for number, judged in enumerate(judge_subjects(subjects, sides), 1):
        opening.progress("comparing targets", number, len(subjects))
        said.append(judged)
        asked.append(keeper.note())
    rows = [row for judged in said for row in judged.rows]
    if options.since is not None:
        rows = [_accept_new(row) for row in rows]
    rows = list(find_last_seen(rows, sides, opened.upstream, opened.pin))
    if options.culprits:
        opening.progress("looking for culprits", 0, 0)
        rows = list(find_culprits(rows, sides, opened.upstream))
    found = iter(rows)
    for subject, judged, names in zip(subjects, said, asked, strict=True):
        settled = replace(judged, rows=tuple(next(found) for _ in judged.rows))
        yield keeper.keep(subject, settled, names)


@dataclass(frozen=True, slots=True)
class Keepers:
    """What recalls the parts of an answer."""

    memos: Memos
    rows: RowKeeper
    places: PlaceKeeper


def open_keepers(opening: Opening, how: tuple[object, ...]) -> Keepers:
    """All parts depend on our settings, every pin and the two commits; each says what else."""
    workspace = opening.workspace
    tree = workspace.tree
    names = {path: module_name(path, workspace.settings.project.source_roots) for path in tree.paths(suffix=".py")}
    tops = sorted({name for name in names.values() if name and "." not in name})
    packages = workspace.settings.backend(opening.backend).packages
    shared = [[path, tree.entries[path].oid] for path, name in names.items() if name and longest_root(name, packages)]
    own = sorted(_own_names(workspace, tree))
    given = (workspace.settings, find_pins(workspace), opening.backend, opening.pin, opening.tip, how)
    # more history may come to a shallow clone, and with it other culprits
    memos = Memos() if opening.upstream.is_shallow else open_memos("drift", *given, tops, shared, own)
    roots = (*workspace.settings.project.source_roots, *find_project_roots(tree))
    sight = Sight(tree, roots, open_cache(analyser=FACTS))
    targets = note_names(opening.targets)
    rows = RowKeeper(memos, sight, targets, opening.describe_key, lambda: opening.opened.sides.reader)
    return Keepers(memos, rows, PlaceKeeper(memos, sight))


def accept_ours(rows: list[Drift], workspace: Workspace) -> list[Drift]:
    """Rows about names that upstream never had and our own code reads are additions of ours."""
    return list(accept_additions(rows, find_unheard(rows), workspace.tree))


def settle(rows: Iterable[Drift], workspace: Workspace, opened: OpenedDrift) -> list[Drift]:
    """Rows about names the pin does not have: until when upstream had them, or that they are additions of ours."""
    return accept_ours(list(find_last_seen(rows, opened.sides, opened.upstream, opened.pin)), workspace)


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
    upstream = workspace.open_backend(backend)
    pin = upstream.resolve(since) if since else workspace.find_pinned(backend).commit
    tip = upstream.resolve_upstream(to or workspace.settings.backend(backend).ref)
    return Opening(workspace, backend, pin, tip, progress).opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Files of two upstream commits that could not be read."""

    skipped: tuple[Skipped, ...]


@dataclass(eq=False)
class Opening:
    """A drift question whose parts are read when the first of its rows needs them."""

    workspace: Workspace
    backend: str
    pin: str
    tip: str
    progress: Progress

    def __post_init__(self) -> None:
        self.upstream = self.workspace.open_backend(self.backend)
        self.settings = self.workspace.settings.backend(self.backend)
        roots, packages = self.settings.source_roots, self.settings.packages
        self._part = Part(tree=Tree(self.upstream, self.pin), source_roots=roots, packages=packages)
        self._others = _other_parts(self.workspace, self.backend)
        commits = [[one.tree.commit, one.packages, one.source_roots] for one in (self._part, *self._others)]
        self.memos = open_memos("pair", commits, self.tip)
        # nothing is known of the two commits: other processes read them while this one reads our patches
        self._ahead = begin(self._read) if self._known is None else self._read

    def _read(self) -> list[Index]:
        tip = replace(self._part, tree=Tree(self.upstream, self.tip))
        return read_indexes([self._part, *self._others], [tip, *self._others])

    @cached_property
    def _known(self) -> Unread | None:
        key = self.memos.key("unread")
        return codec.decode_kept(Unread, self.memos.recall([key]).get(key))

    @cached_property
    def inventory(self) -> Inventory:
        self.progress("reading the patches", 0, 0)
        (inventory,) = read_inventories(self.workspace, (self.backend,), self.progress)
        gc.collect()  # syntax trees of ours hold one another: the judges use their memory again
        return inventory

    @cached_property
    def indexes(self) -> tuple[Index, Index]:
        self.progress(f"reading {self.backend} at pin and tip", 0, 0)
        then, now = self._ahead()
        return then, now

    @property
    def targets(self) -> frozenset[str]:
        return frozenset(effect.target for patch in self.inventory.patches for effect in patch.effects if effect.target)

    @cached_property
    def mentions(self) -> dict[str, tuple[bool, bool]]:
        """Config keys of the inventory → whether upstream's text knows them at pin and tip."""
        keys = {key: self.memos.key("mention", key) for key in sorted(find_keys(self.inventory))}
        kept = self.memos.recall(keys.values()) if self.memos.compare is None else {}
        known = {key: kept[name]["there"] for key, name in keys.items() if name in kept}
        missing = frozenset(keys) - known.keys()
        fresh = read_mentions(self.indexes, 0, missing) if missing else {}
        for key, there in fresh.items():
            self.memos.keep(keys[key], {"there": list(there)})
        return {key: (bool(then), bool(now)) for key, (then, now) in (known | fresh).items()}

    @cached_property
    def declares(self) -> Callable[[str], bool]:
        return _declares(self.workspace.tree, self.settings.configs)

    def describe_key(self, key: str) -> object:
        """All that a judge can learn of a config key."""
        there = self.mentions.get(key)
        return [there, self.declares(key) if there == (True, False) else None]

    def read_skipped(self) -> tuple[Skipped, ...]:
        """Files of upstream that could not be read at either commit."""
        if self._known is not None and self.memos.compare is None:
            return self._known.skipped
        then, now = self.indexes
        found = tuple(dict.fromkeys((*then.skipped(), *now.skipped())))
        self.memos.keep(self.memos.key("unread"), codec.encode(Unread(skipped=found)))
        return found

    def save(self) -> None:
        """Keep what was found for the next commit."""
        self.memos.save()
        if "opened" in self.__dict__:
            self.opened.comparer.save()

    @cached_property
    def opened(self) -> OpenedDrift:
        inventory, settings, upstream, workspace = self.inventory, self.settings, self.upstream, self.workspace
        then, now = self.indexes
        versions = Versions(upstream, (then, now), open_cache())
        comparer = open_comparer("drift", then, now, (Tracer(upstream, self.pin, self.tip, versions),))
        ours = workspace.tree
        replacements = _open_replacements(workspace.downstream, workspace.commit)
        words = (self.backend, *settings.packages)
        ground = RefKnowledge(
            comparer=comparer,
            packages=settings.packages,
            keys=self.mentions,
            declares=self.declares,
            versions=(
                find_version(upstream, self.pin, settings.packages),
                find_version(upstream, self.tip, settings.packages),
            ),
            subjects=frozenset(word for name in words for word in re.split(r"[._]", name.lower())),
        )
        roots = workspace.settings.project.source_roots
        sides = Sides(
            comparer=comparer,
            replacements=replacements,
            part=0,
            reader=Reader(comparer, replacements, then.parts[0].packages, roots),
            keys=self.mentions,
            own=_own_names(workspace, ours),
            targets=self.targets,
            ground=ground,
            running=read_running(ours, roots, ground),
            foreign=tuple(
                name
                for key, other in workspace.settings.backends.items()
                if key != self.backend
                for name in other.packages
            ),
        )
        skipped = tuple(dict.fromkeys((*inventory.skipped, *self.read_skipped())))
        return OpenedDrift(inventory, sides, upstream, self.pin, self.tip, comparer, skipped)


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


def _find_places(rows: list[Drift], opening: Opening, keeper: PlaceKeeper) -> Iterator[Elsewhere]:
    """Imports that keep patches from being installed first; then every other place, each once."""
    causes = tuple(find_failing_imports(rows))
    told = {item.location for item in causes}
    yield from causes
    for one in _find_elsewhere(opening, keeper):
        if one.touch != IMPORTS or one.location not in told:
            yield one


def _find_elsewhere(opening: Opening, keeper: PlaceKeeper) -> Iterator[Elsewhere]:
    """Every other place of ours that breaks; overrides and calls also where they only may."""
    opening.progress("reading our overrides and calls", 0, 0)
    severities = {Consequence.WILL_BREAK: Severity.BREAKS, Consequence.MAY_BREAK: Severity.LOOK}

    def judge(paths: list[str]) -> tuple[Coupling, ...]:
        sides = opening.opened.sides
        finder = read_ours(opening.workspace, sides.pin.index.parts[sides.part], keeper.sight.see(paths))
        return judge_ours(finder, sides.comparer, sides.running, frozenset(paths))

    for item in keeper.find(keeper.sight.paths, judge):
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
