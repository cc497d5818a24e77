"""Reading and judging both sides of a drift question: what it costs where no answer was kept.

`app.patches_drift` imports this module on a miss only.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING
from weakref import ref

from layline.change.kept import KeptComparer
from layline.core.drift import DriftKind
from layline.core.evidence import Severity, Skipped
from layline.core.finding import Finding
from layline.core.progress import Parts, Progress, count, silent
from layline.core.why import Reason, Why
from layline.coupling.additions import accept_additions, accept_placed
from layline.coupling.agree import find_owned
from layline.coupling.around import mark_unreached
from layline.coupling.compare_target import compare_target
from layline.coupling.culprit import Hashes, blame_calls, find_hashes, find_unheard, name_culprits
from layline.coupling.decide import RefKnowledge
from layline.coupling.drift import judge_subjects
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.fold import fold_told
from layline.coupling.last_seen import find_last_seen
from layline.coupling.limits import limit_by_callers
from layline.coupling.own_attributes import accept_own
from layline.coupling.own_imports import OwnModules
from layline.coupling.pair import Pair
from layline.coupling.reads import Reader
from layline.coupling.replacements import Replacements
from layline.coupling.roots import find_since
from layline.coupling.subjects import Judged, Subject, count_uncompared, find_subjects
from layline.coupling.upstream_keys import find_keys
from layline.patches.declared_keys import Schema, read_schema
from layline.patches.drift.ask import Asked, DriftOptions
from layline.patches.drift.elsewhere import Elsewhere, find_elsewhere
from layline.patches.drift.imports import choose_rows, find_failing_imports, find_loaders, is_same_line, tell_callers
from layline.patches.drift.kept import KEPT, KeptDrift
from layline.patches.drift.mentions import Mentions, find_mentions
from layline.patches.drift.report import number_repeats
from layline.patches.drift.rows import Asked as AskedFor
from layline.patches.drift.rows import RowKeeper, note_names
from layline.patches.kept import read_inventories
from layline.source import Tree
from layline.source.cache import cache_directory
from layline.source.memos import Memos
from layline.source.names import find_target, module_name
from layline.workspace.kept import find_inputs, find_pins, is_checking, open_memos
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.core.patch import Inventory
    from layline.git import Repository
    from layline.source.seen import Read
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


def judge_drift(asked: Asked, options: DriftOptions, progress: Progress, pair: Pair | None = None) -> KeptDrift:
    """Every row, and the places of ours outside patches that no longer fit; what did not change is recalled.

    `pair`: the two commits, where another question has read them already.
    """
    workspace = know_packages(asked.workspace)
    parts = Parts(progress, tuple(_name_parts(workspace.label(asked.backend), options)))
    parts.begin()
    opening = Opening(pair or Pair(workspace, asked.backend, asked.pin, asked.tip, parts), parts)
    _ = opening.inventory
    parts.begin()
    judged = judge_rows(opening, culprits=options.culprits, since=options.since is not None)
    rows = _accept_ours([row for one in judged for row in one.rows], opening.pair)
    opening.pair.owned = find_owned(rows)
    if options.reads_ours:
        parts.begin()
    if not options.dead:
        rows = list(mark_unreached(rows, opening.pair.settled, opening.pair.modules))
    if options.dead:
        rows = [row for row in rows if row.kind is DriftKind.DEAD_AT_PIN]
    rows = list(number_repeats(sorted(rows, key=lambda row: row.order)))
    places = tuple(number_repeats(_find_places(rows, opening))) if options.reads_ours else ()
    if places and options.culprits:
        rows = list(blame_calls(rows, opening.pair.places.couplings, opening.pair.upstream))
    (recalled, made), (files, more) = opening.recalled, opening.pair.recalled
    progress(KEPT, recalled + files, recalled + made + files + more)
    found = KeptDrift(
        pin=asked.pin,
        tip=asked.tip,
        rows=tuple(rows),
        elsewhere=places,
        skipped=tuple(dict.fromkeys((*opening.inventory.skipped, *opening.pair.read_skipped()))),
        listed=sum(1 for _ in opening.inventory.every_effect()),
        uncompared=dict(count_uncompared(opening.inventory, judged)),
        loaders=find_loaders(rows, opening.inventory.unregistered),
    )
    opening.save()
    return found


def _name_parts(label: str, options: DriftOptions) -> Iterator[str]:
    yield "our patches"
    yield f"what they replace in {label}"
    if options.reads_ours:
        yield f"our other uses of {label}"


def judge_rows(
    opening: Opening, *, culprits: bool = False, since: bool = False, wanted: Callable[[Subject], bool] | None = None
) -> list[Judged]:
    """What is said of each effect, or of the wanted ones; what did not change is recalled, the rest is judged and kept for
    the next commit.
    """
    memos = opening.pair.open_memos("drift", (since, culprits))
    keeper = open_keeper(opening, memos)
    subjects = [one for one in find_subjects(opening.inventory) if wanted is None or wanted(one)]
    kept = keeper.recall(subjects)
    missing = [one for one, known in zip(subjects, kept, strict=True) if known is None]
    # who asks for culprits has judged the rows without them, too: a plan builds on those
    plain = open_keeper(opening, opening.pair.open_memos("drift", (since, False))) if culprits and missing else None
    fresh = iter(_judge_anew(missing, opening, keeper, plain, since) if missing else ())
    judged = [next(fresh) if known is None else known for known in kept]
    memos.save()
    if plain is not None:
        plain.memos.save()
    opening.recalled = memos.recalled, memos.made
    return judged


def find_rows(
    opening: Opening, *, culprits: bool = False, wanted: Callable[[Subject], bool] | None = None
) -> list[Drift]:
    """The rows of `patches drift`, as the inventory orders them, each with what became of its target: for who builds on
    what they say. Of the wanted ones alone where only these are asked for: no row depends on another.
    """
    sides = opening.opened.sides
    return [compare_again(row, sides) for row in find_bare_rows(opening, culprits=culprits, wanted=wanted)]


def find_bare_rows(
    opening: Opening, *, culprits: bool = False, wanted: Callable[[Subject], bool] | None = None
) -> list[Drift]:
    """The same for who only shows them: what became of a target is compared when somebody asks."""
    judged = judge_rows(opening, culprits=culprits, wanted=wanted)
    rows = _accept_ours([row for one in judged for row in one.rows], opening.pair)
    opening.pair.owned = find_owned(rows)
    return rows


def compare_again(row: Drift, sides: Sides) -> Drift:
    """Comparisons are not kept with rows; the comparer keeps them itself."""
    target = find_target(row.effect) if row.effect is not None else None
    if row.effect is None or target is None or row.comparison is not None:
        return row
    return replace(row, comparison=compare_target(target, row.effect, sides))


def _judge_anew(
    subjects: list[Subject], opening: Opening, keeper: RowKeeper, plain: RowKeeper | None, since: bool
) -> Iterator[Judged]:
    """Rows of these subjects; with their culprits where there is a keeper for the same without them, `plain`."""
    opened, said = opening.opened, list[_Said]()
    sides = replace(opened.sides, targets=keeper.targets, named=keeper.named)
    keeper.note()
    judging = judge_subjects(subjects, sides)
    named = count(subjects, "comparing targets", len(subjects), opening.progress, _name)
    for subject in named:
        reads: set[Read] = set()
        with sides.comparer.seen.within(reads):
            judged = next(judging)
        said.append(_Said(subject, judged, keeper.note(), reads))
    rows = [row for one in said for row in one.judged.rows]
    if since:
        rows = [_accept_new(row) for row in rows]
    opening.progress("looking for commits that took targets away", 0, 0)
    rows = list(find_last_seen(rows, sides, opened.upstream, opened.pin, opened.tip))
    if plain is not None:
        list(_keep(plain, said, rows))  # before more is read for the culprits
        opening.progress("looking for culprits", 0, 0)
        rows = list(name_culprits(rows, _find_hashes(rows, said, sides), opened.upstream))
    yield from _keep(keeper, said, rows)


def _keep(keeper: RowKeeper, said: list[_Said], rows: Iterable[Drift]) -> Iterator[Judged]:
    """What is said of each subject, kept with what it was read from so far."""
    found = iter(rows)
    for one in said:
        settled = replace(one.judged, rows=tuple(next(found) for _ in one.judged.rows))
        yield keeper.keep(one.subject, settled, one.asked, one.reads)


def _name(subject: Subject) -> str:
    effect = subject.effect
    return (effect.target if effect is not None else None) or subject.patch.id


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said of a subject, and what it was read from."""

    subject: Subject
    judged: Judged
    asked: AskedFor
    reads: set[Read]


def _find_hashes(rows: list[Drift], said: list[_Said], sides: Sides) -> list[Hashes]:
    """Of each row the commits that made it so; what is read for it is noted with its subject."""
    finding, found = find_hashes(rows, sides), list[Hashes]()
    for one in said:
        for _ in one.judged.rows:
            with sides.comparer.seen.within(one.reads):
                found.append(next(finding))
    return found


def open_keeper(opening: Opening, memos: Memos) -> RowKeeper:
    pair = opening.pair
    targets, named = note_names(opening.targets), note_names(pair.sight.named)
    tips = pair.at_tips(memos)
    return RowKeeper(tips, pair.sight, targets, named, opening.describe_key, lambda: opening.opened.sides.reader)


def _accept_ours(rows: list[Drift], pair: Pair) -> list[Drift]:
    """Rows about names that upstream never had and our own code reads are additions of ours; what our code calls for
    other versions alone does nothing.
    """
    held = list(accept_own(rows, pair.workspace.tree))
    ours = accept_placed(list(accept_additions(held, find_unheard(held), pair.workspace.tree)))
    return list(
        limit_by_callers(ours, pair.installed.find, lambda: pair.running.ground) if any(pair.versions) else ours
    )


def _accept_new(row: Drift) -> Drift:
    """A target that came after the commit compared from is no dead one: the patch was written for where we go."""
    if row.kind is not DriftKind.DEAD_AT_PIN or row.comparison is None or not row.comparison.after.exists:
        return row
    return row.settle(Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.NEW_SINCE)))


def open_drift(workspace: Workspace, backend: str, to: str | None, progress: Progress = silent) -> Opening:
    """The inventory and both upstream refs, read when they are needed."""
    workspace = know_packages(workspace)
    upstream = workspace.open_backend(backend)
    pin = workspace.find_pinned(backend).commit
    tip = upstream.resolve_upstream(to or workspace.settings.backend(backend).ref)
    return Opening(Pair(workspace, backend, pin, tip, progress), progress)


def recall_drift(workspace: Workspace, backend: str, to: str | None, progress: Progress = silent) -> Opening:
    """The question that this process opened last, where both refs and everything of ours are as they were; else a new
    one.

    For processes that are asked again and again: reading two refs costs more than comparing one patch.
    """
    known = know_packages(workspace)
    upstream = known.open_backend(backend)
    tip = upstream.resolve_upstream(to or known.settings.backend(backend).ref)
    inputs = (known.root, known.commit, known.worktree, cache_directory(), backend, tip, *find_inputs(known))
    if is_checking() or not _LAST or _LAST[0][0] != inputs:
        _LAST[:] = [(inputs, open_drift(known, backend, tip, progress))]
    return _LAST[0][1]


_LAST: list[tuple[tuple[object, ...], Opening]] = []
"""At most one: two refs of a large upstream take some hundred megabytes."""


@dataclass(eq=False)
class Opening:
    """A drift question whose parts are read when the first of its rows needs them."""

    pair: Pair
    progress: Progress

    def __post_init__(self) -> None:
        pair = self.pair
        pair.begin()
        opening = ref(self)
        pair.ask_key = lambda key, told: (it := opening()) is not None and str(dict.get(it.mentions, key)) == told
        given = [pair.settings.source_roots, pair.settings.packages, find_pins(pair.workspace)]
        # at the pin, and at one tip after the other
        memos = open_memos("mentions", *given, pair.pin), open_memos("mentions", *given)
        self._mentioned = pair.at_tips(memos[0], pair.pin), pair.at_tips(memos[1])
        self.recalled = (0, 0)
        """How many rows were recalled, and how many judged now."""

    @cached_property
    def inventory(self) -> Inventory:
        self.progress("reading the patches", 0, 0)
        (inventory,) = read_inventories(self.pair.workspace, (self.pair.backend,), self.progress)
        gc.collect()  # syntax trees of ours hold one another: the judges use their memory again
        return inventory

    @property
    def targets(self) -> frozenset[str]:
        """What we put something in the place of, inside registrations and outside."""
        effects = (one.effect for one in find_subjects(self.inventory))
        return frozenset(effect.target for effect in effects if effect is not None and effect.target)

    @cached_property
    def mentions(self) -> Mentions:
        """Config keys of the inventory → whether upstream's text knows them at pin and tip."""
        keys, pair = find_keys(self.inventory), self.pair
        then, now = (find_mentions(keys, tips, partial(pair.list_modules, tips.tip)) for tips in self._mentioned)
        return Mentions({key: (then[key], now[key]) for key in keys})

    @cached_property
    def declares(self) -> Callable[[str], bool]:
        return _declares(self.pair.workspace.tree, self.pair.settings.configs)

    def describe_key(self, key: str) -> object:
        """All that a judge can learn of a config key."""
        there = self.mentions.get(key)
        return [there, self.declares(key) if there == (True, False) else None]

    def save(self) -> None:
        """Keep what was found for the next commit."""
        self.pair.save()
        for tips in self._mentioned:
            tips.memos.save()

    @cached_property
    def opened(self) -> OpenedDrift:
        pair, inventory = self.pair, self.inventory
        settings, workspace, comparer = pair.settings, pair.workspace, pair.comparer
        self.mentions.seen = comparer.seen
        replacements = _open_replacements(workspace.downstream, workspace.commit)
        words = (pair.backend, *settings.packages)
        ground = RefKnowledge(
            comparer=comparer,
            packages=settings.packages,
            keys=self.mentions,
            declares=self.declares,
            versions=pair.versions,
            subjects=frozenset(word for name in words for word in re.split(r"[._]", name.lower())),
        )
        roots = workspace.settings.project.source_roots
        others = (other.packages for key, other in workspace.settings.backends.items() if key != pair.backend)
        sides = Sides(
            comparer=comparer,
            replacements=replacements,
            part=0,
            reader=Reader(comparer, replacements, pair.part.packages, roots),
            keys=self.mentions,
            own=_own_names(workspace),
            targets=self.targets,
            named=pair.sight.named,
            ground=ground,
            running=pair.running,
            foreign=tuple(name for packages in others for name in packages),
        )
        skipped = tuple(dict.fromkeys((*inventory.skipped, *pair.read_skipped())))
        return OpenedDrift(inventory, sides, pair.upstream, pair.pin, pair.tip, comparer, skipped)


@lru_cache(maxsize=2)
def _open_replacements(downstream: Repository, commit: str) -> Replacements:
    """One for all upstream commits that are asked about in turn."""
    return Replacements(Tree(downstream, commit))


def _own_names(workspace: Workspace) -> frozenset[str]:
    """First words of what the downstream's own modules are called."""
    names = (
        module_name(path, workspace.settings.project.source_roots)
        for path in workspace.tree.entries
        if path.endswith(".py")
    )
    return frozenset(name.partition(".")[0] for name in names if name)


def _declares(tree: Tree, configs: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a config file of ours sets a key; the files are read when the first doubt asks."""

    @cache
    def read() -> Schema:
        return read_schema(tree, configs)

    return lambda key: any(key == name or name.endswith(f".{key}") for name in read().keys)


def _find_places(rows: list[Drift], opening: Opening) -> Iterator[Elsewhere]:
    """Imports that keep patches from being installed first; then every other place, each once."""
    pair = opening.pair
    # what broke the import, not what else happened to the patch behind it
    causes = [
        replace(one, culprit=find_since(one.target, one.location, pair.places.couplings) or one.culprit)
        for one in find_failing_imports(rows)
    ]
    others = list(find_elsewhere(fold_told(pair.settled, rows)))
    if causes:
        ours = OwnModules(pair.workspace.tree, pair.workspace.settings.project.source_roots)
        causes = [tell_callers(one, rows, opening.inventory.unregistered, ours) for one in causes]
    for cause in causes:
        yield from choose_rows(cause, [one for one in others if is_same_line(one, cause)])
    for one in others:
        if not any(is_same_line(one, cause) for cause in causes):
            yield one
