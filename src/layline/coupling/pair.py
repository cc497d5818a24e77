"""One upstream at two commits, and every place of ours that touches it: judged once, whoever asks.

`patches drift` builds its rows on it and tells the places outside patches; a gap report counts and lists all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from layline import codec
from layline.change.kept import KeptComparer, open_comparer
from layline.change.slots import tell_passing
from layline.change.surface import SurfaceChange
from layline.change.told import Told
from layline.change.trace import Tracer
from layline.core.evidence import Skipped
from layline.core.progress import Progress, silent
from layline.core.weak import weakly
from layline.coupling.behind import mark_behind
from layline.coupling.decide import RefKnowledge, decide
from layline.coupling.flags import FlagChanges, compare_flags_of, settle_flags
from layline.coupling.gated import drop_gated
from layline.coupling.heirs import join_below
from layline.coupling.installed import InstalledFunctions
from layline.coupling.judge import Judge
from layline.coupling.missing import drop_written
from layline.coupling.model import FAILING, Consequence, State, is_flag
from layline.coupling.own_code import find_running, judge_ours, read_indexes, read_ours
from layline.coupling.own_keys import find_own_keys
from layline.coupling.places import JudgedFiles, KeptPlaces, PlaceKeeper
from layline.coupling.reading import READING
from layline.coupling.signature_culprit import keeps_passing
from layline.coupling.unhanded import doubt_unhanded
from layline.coupling.unreached import drop_reached
from layline.coupling.version_guards import Running, VersionGuards
from layline.errors import Error
from layline.history.timeline import read_touched
from layline.interpreter.modules import Modules, find_project_roots
from layline.source import Index, Part, Tree, open_cache
from layline.source.at_tips import AtTips
from layline.source.facts import ANALYSER as FACTS
from layline.source.index import find_entries
from layline.source.instances import Instances
from layline.source.memos import Answers, Memos
from layline.source.names import longest_root, module_name
from layline.source.parsing import ANALYSER
from layline.source.seen import Asked, Read
from layline.source.shift import Shift
from layline.source.sight import Sight
from layline.source.versions import Versions
from layline.source.workers import begin_reading
from layline.workspace.kept import find_kept, find_pins, leave_out_unasked, open_memos

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from layline.core.evidence import Location
    from layline.coupling.heirs import Below
    from layline.coupling.model import Coupling
    from layline.workspace.open import Workspace

_TREES = 48
"""So many of our files are remembered as syntax trees, of which one takes about thirty times its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Files of two upstream commits that could not be read."""

    skipped: tuple[Skipped, ...]


@dataclass(eq=False)
class Pair:
    """A backend at two commits beside our code; each part is read when the first question needs it."""

    workspace: Workspace
    backend: str
    pin: str
    tip: str
    progress: Progress = silent

    def __post_init__(self) -> None:
        self.upstream = self.workspace.open_backend(self.backend)
        self.settings = self.workspace.settings.backend(self.backend)
        roots, packages = self.settings.source_roots, self.settings.packages
        self.part = Part(tree=Tree(self.upstream, self.pin), source_roots=roots, packages=packages)
        self._others = _other_parts(self.workspace, self.backend)
        commits = [[one.tree.commit, one.packages, one.source_roots] for one in (self.part, *self._others)]
        self.memos = open_memos("pair", commits, self.tip)
        self._shifts: dict[tuple[str, str], Shift] = {}
        self.answers = Answers(open_memos("blobs", ANALYSER))
        """What was asked of one file each, theirs or ours."""
        self.ask_key: Callable[[str, str], bool] = lambda _key, _told: False
        """Whether a config key is mentioned as it was noted; who notes keys says so."""
        self.owned: frozenset[tuple[Location, str]] = frozenset()
        """Line and target of what drift rows decide: the places are judged without them, so whoever has rows says so
        before."""
        self.recalled = (0, 0)
        """Of how many files the places were recalled, and of how many they were judged now."""
        self._ahead: Callable[[Callable[[], None]], list[Index]] | None = None
        self._far = (0, 0)
        """How many files of the two commits have been read, of how many."""

    def begin(self) -> None:
        """Where nothing is known of the two commits, other processes read them while this one does something else."""
        if self._known is None and "indexes" not in self.__dict__:
            self._ahead = begin_reading(self._read)

    def _read(self) -> list[Index]:
        return read_indexes(self._find_parts(self.pin), self._find_parts(self.tip), progress=self._note)

    def _note(self, what: str, done: int, total: int, at: str = "") -> None:
        self._far = done, total

    def _find_parts(self, commit: str) -> list[Part]:
        if commit == self.pin:
            return [self.part, *self._others]
        return [replace(self.part, tree=Tree(self.upstream, commit)), *self._others]

    def at_tips(self, memos: Memos, tip: str | None = None) -> AtTips:
        """What is kept in these memos with what it read of upstream, at the tip or at another commit."""
        now = tip or self.tip
        shift = partial(weakly(self._open_shift), now)
        return AtTips(memos, now, shift, weakly(self._ask), self.workspace.tree.entries)

    def _open_shift(self, tip: str, other: str) -> Shift:
        if (other, tip) not in self._shifts:
            touched = read_touched(self.upstream, other, tip)
            # what is being read for the tip is not read here as well
            versions = Versions(self.upstream, self.indexes if self._ahead is not None else (), open_cache())
            now = self.list_modules(tip)
            now.answers = self.answers
            self._shifts[other, tip] = Shift(self.list_modules(other), now, touched, versions)
        return self._shifts[other, tip]

    def list_modules(self, commit: str) -> Index:
        """The modules of a commit, none of them read."""
        parts = self._find_parts(commit)
        return Index(parts, [entry for number, part in enumerate(parts) for entry in find_entries(number, part)], {})

    def _ask(self, read: Read) -> bool:
        asked, what = read
        if asked is Asked.LOST:
            return self.comparer.stays_lost(what)
        if asked is Asked.FATE:
            name, _, told = what.rpartition("=")
            return (self._told[0].find(name) or str(self.comparer.find_fate(name))) == told
        if asked is Asked.CALLS:
            name, _, told = what.rpartition("=")
            return (self._told[1].find(name) or self.comparer.sites[1].tell(name)) == told
        if asked is Asked.PASSING:
            tracer = self.comparer.tracer_of(0)
            return tracer is not None and keeps_passing(tracer, what)
        if asked is Asked.HELD:
            return self._instances.holds(what)
        if asked is Asked.STARTS:
            return self.comparer.tip.loads.stay(what)
        if asked is Asked.PASSED:
            argument, _, told = what.rpartition("=")
            return tell_passing(self.comparer.tip.index, argument) == told
        if asked is Asked.THERE:
            named, _, told = what.rpartition("=")
            module, _, text = named.partition(" ")
            with self.comparer.seen.within(set()):
                return str(self.comparer.tip.resolve_in(module, text).exists) == told
        key, _, told = what.rpartition("=")
        return self.ask_key(key, told)

    @cached_property
    def _instances(self) -> Instances:
        return Instances(self.comparer.tip)

    @cached_property
    def _known(self) -> Unread | None:
        key = self.memos.key("unread")
        return codec.decode_kept(Unread, self.memos.recall([key]).get(key))

    @cached_property
    def indexes(self) -> tuple[Index, Index]:
        wait = self._ahead or begin_reading(self._read)
        then, now = wait(lambda: self.progress(f"reading {self.backend} at pin and tip", *self._far))
        return then, now

    @cached_property
    def comparer(self) -> KeptComparer:
        then, now = self.indexes
        now.watch()  # what is said is kept with what it read of the tip
        then.answers = now.answers = self.answers
        versions = Versions(self.upstream, (then, now), open_cache())
        tracer = Tracer(self.upstream, self.pin, self.tip, versions)
        tracer.answers = self.answers
        found = open_comparer("drift", then, now, (tracer,))
        found.fates, found.calls = self._told
        return found

    @cached_property
    def _told(self) -> tuple[Told, Told]:
        """What becomes of names, and who calls them."""
        given = [[one.tree.commit, one.packages, one.source_roots] for one in (self.part, *self._others)]
        # more history may come to a shallow clone
        tips = self.at_tips(Memos() if self.upstream.is_shallow else open_memos("fates", given))
        return Told("fate", tips), Told("calls", tips)

    @cached_property
    def versions(self) -> tuple[str | None, str | None]:
        """What upstream calls itself at pin and tip."""
        packages = self.settings.packages
        return find_running(self.upstream, self.pin, packages), find_running(self.upstream, self.tip, packages)

    @cached_property
    def running(self) -> Running:
        """Which lines of ours run at the versions of pin and tip."""
        ground = RefKnowledge(comparer=self.comparer, packages=self.settings.packages, keys={}, versions=self.versions)
        return Running(VersionGuards(self.modules), ground)

    @cached_property
    def modules(self) -> Modules:
        """Our files as syntax trees, parsed once for all who look at neighbouring lines of ours."""
        return Modules(self.workspace.tree, self.workspace.settings.project.source_roots, _TREES)

    @cached_property
    def sight(self) -> Sight:
        tree = self.workspace.tree
        roots = (*self.workspace.settings.project.source_roots, *find_project_roots(tree))
        return Sight(tree, roots, open_cache(analyser=FACTS))

    def open_memos(self, kind: str, *inputs: object) -> Memos:
        """What is kept of our files depends on our settings, all pins, the pin's commit and both versions; each
        part says what else, and notes what it reads of the tip.
        """
        workspace, tree = self.workspace, self.workspace.tree
        names = {path: module_name(path, workspace.settings.project.source_roots) for path in tree.paths(suffix=".py")}
        tops = sorted({name for name in names.values() if name and "." not in name})
        own = sorted({name.partition(".")[0] for name in names.values() if name})
        shared = [
            [path, tree.entries[path].oid]
            for path, name in names.items()
            if name and longest_root(name, self.settings.packages)
        ]
        given = (
            leave_out_unasked(workspace.settings),
            find_pins(workspace),
            self.backend,
            self.pin,
            self.versions,
            *inputs,
        )
        # more history may come to a shallow clone, and with it other culprits
        return Memos() if self.upstream.is_shallow else open_memos(kind, *given, tops, shared, own)

    @cached_property
    def places(self) -> KeptPlaces:
        """Every place of ours that touches this upstream, with what becomes of it; what did not change is recalled."""
        self.progress(READING, 0, 0)
        memos = self.open_memos("places")
        found = PlaceKeeper(self.at_tips(memos), self.sight, self.owned).find(self.sight.paths, self._judge)
        memos.save()
        self.recalled = (memos.recalled, memos.made)
        return found

    @cached_property
    def settled(self) -> tuple[Coupling, ...]:
        """Every place with its verdict, also those that read a command-line flag of upstream's: one count for all."""
        left = [one for one in self.places.couplings if not self._is_left_behind(one)]
        ours = self.workspace.tree
        reached = doubt_unhanded(drop_reached(drop_written(left, ours), ours), ours)
        couplings = tuple(mark_behind(drop_gated(reached, self.modules, self.installed.find_files), self.modules))
        if not any(is_flag(one.target) for one in couplings):
            return couplings
        flags = {row.name: row for row in self._flags.rows}
        gone = [name for name, row in flags.items() if row.change is SurfaceChange.REMOVED]
        keys = find_own_keys(ours, self.settings.configs, gone) if gone else frozenset()
        return settle_flags(couplings, flags, frozenset(self._flags.known), keys)

    def _is_left_behind(self, place: Coupling) -> bool:
        """Whether what breaks, or fails already, stands in a function that is handed on below other versions only."""
        fails = {State.TOO_NEW: (0,), **dict.fromkeys(FAILING, (0, 1))}.get(place.state, ())
        sides = (1,) if place.consequence is Consequence.WILL_BREAK else fails
        condition = self.installed.find(place.location) if sides else None
        if condition is None:
            return False
        return all(decide(condition, self.running.ground, side).holds is False for side in sides)

    @cached_property
    def installed(self) -> InstalledFunctions:
        """Which functions of ours only other versions call."""
        return InstalledFunctions(self.modules, self.sight.find_naming)

    @cached_property
    def _flags(self) -> FlagChanges:
        packages, roots = self.settings.packages, self.settings.source_roots

        def compare() -> FlagChanges:
            self.progress(f"comparing the command-line flags of {self.backend}", 0, 0)
            return compare_flags_of(self.comparer, packages)

        return find_kept(FlagChanges, "flags", compare, packages, roots, self.pin, self.tip)

    def _judge(self, paths: list[str], known: Mapping[str, Below]) -> JudgedFiles:
        finder, skipped = read_ours(self.workspace, self.part, self.sight.see_built(paths), self.indexes[0])
        finder.progress = self.progress
        below = finder.find_below(frozenset(paths))
        finder.below = join_below({**known, **below}.values())
        judge = Judge(self.comparer, self.running, self.owned, self.progress)
        judged = judge_ours(finder, judge, frozenset(paths))
        return JudgedFiles(
            couplings=judged.couplings, skipped=skipped, reads=judged.reads, below=below, asked=finder.asked
        )

    def read_skipped(self) -> tuple[Skipped, ...]:
        """Files of upstream that could not be read at either commit."""
        if self._known is not None and self.memos.compare is None:
            return self._known.skipped
        found = tuple(dict.fromkeys(item for index in self.indexes for item in _find_skipped(index)))
        self.memos.keep(self.memos.key("unread"), codec.encode(Unread(skipped=found)))
        return found

    def save(self) -> None:
        """Keep what was found for the next commit."""
        self.memos.save()
        if "comparer" in self.__dict__:
            self.comparer.save()
        self.answers.save()


def _find_skipped(index: Index) -> Iterator[Skipped]:
    """With the repository that each file belongs to: nobody is to look for it among our own."""
    for number, part in enumerate(index.parts):
        name = part.tree.repository.name
        yield from (replace(one, what=f"{name}: {one.what}") for one in index.skipped(number))


def _other_parts(workspace: Workspace, backend: str) -> list[Part]:
    """The other upstreams at their pins: names of theirs are not lost names of this one."""
    parts: list[Part] = []
    for key in workspace.settings.backends:
        if key == backend:
            continue
        try:
            parts.append(workspace.read_pinned_part(key))
        except Error:
            continue  # the inventory has said so already
    return parts
