"""The one door from upgrades to the judges: what fits one upstream commit, and what breaks between two.

Everything that `upgrade`, `patches matrix`, `gap trend`, `watch` and `impact` know about our places comes through here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from layline.core.evidence import Evidence, Severity
from layline.core.ours import is_own
from layline.core.progress import Progress, silent
from layline.core.why import Reason, Why, say_parts
from layline.coupling.around import mark_unreached
from layline.coupling.culprit import blame_calls, find_hashes, find_unheard, name_culprits
from layline.coupling.drift_model import Drift
from layline.coupling.fold import find_row, find_told, fold_told
from layline.coupling.model import Consequence, Coupling, Touch
from layline.coupling.overrides import Overrides
from layline.coupling.own_code import read_indexes, read_ours
from layline.coupling.reading import Finder
from layline.coupling.roots import find_culprit
from layline.coupling.states import find_place
from layline.git.overlay import Overlay
from layline.patches.drift.elsewhere import TOUCHES, Elsewhere
from layline.patches.drift.imports import find_failing_imports
from layline.patches.drift.read import OpenedDrift, Opening, find_rows, open_drift
from layline.source import Definition, DefinitionKind, Module, Tree, parse_module
from layline.source.resolve import Resolver
from layline.upgrade.absolute import Judged, OwnGround, Standing, find_judged
from layline.upgrade.off_lines import OffLines
from layline.upgrade.patched import find_judged_effects
from layline.upgrade.values import Break
from layline.workspace.kept import find_inputs, find_kept
from layline.workspace.open import know_packages, pin_to

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.workspace.open import Workspace


Causes: TypeAlias = "tuple[tuple[str, str], ...]"
"""What each of several upstream commits did, and its hash."""


def find_lines(rows: Iterable[Judged | Break | Drift | Coupling | Elsewhere]) -> frozenset[tuple[str, int]]:
    return frozenset((one.location.path, one.location.line) for one in rows)


def edit_to(workspace: Workspace, files: Mapping[str, str]) -> Workspace:
    """The same downstream with these files in the place of its own."""
    data = {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
    return replace(workspace, downstream=Overlay(workspace.downstream, workspace.commit, data)) if data else workspace


def judge_at(workspace: Workspace, key: str, commit: str, progress: Progress = silent) -> Standing:
    """Every import, target, call and anchor of ours at one upstream commit; kept, because nothing of it changes."""
    known = know_packages(workspace)
    # at its own pin what other answers have read is read already
    there = known if pin_of(known, key)[1] == commit else pin_to(known, key, commit)
    return find_kept(
        Standing, "standing", lambda: _judge(there, key, commit, progress), key, commit, *find_inputs(there)
    )


def _judge(there: Workspace, key: str, commit: str, progress: Progress) -> Standing:
    opening = open_drift(there, key, commit, progress)
    opened = opening.opened
    finder, _ = read_ours(there, opened.sides.tip.index.parts[opened.sides.part])
    progress("looking at our imports and calls", 0, 0)
    built = Overrides(opened.sides.comparer)
    ours = find_judged(finder.find_places(), opened.sides.tip, _read_ground(finder, opened), built)
    patches = {patch.id: patch for patch in opened.inventory.patches}
    progress("looking at our patches", 0, 0)
    rows = find_rows(opening)
    effects = find_judged_effects(rows, patches, opened.sides, find_unheard(rows))
    places = sorted(_merge((*ours, *effects)), key=_misfits_first)
    opening.save()
    return Standing(commit=commit, places=tuple(places), skipped=opened.skipped)


def _read_ground(finder: Finder, opened: OpenedDrift) -> OwnGround:
    modules = [
        (entry, module)
        for entry in finder.index.entries.values()
        if entry.part == 0 and (module := finder.index.module(entry.name)) is not None
    ]
    indirect = (
        (entry.path, line)
        for entry, module in modules
        for one in module.definitions
        if one.kind is DefinitionKind.CLASS and one.bases and not _has_upstream_base(finder, entry.name, one)
        for line in range(one.lines[0], one.lines[1] + 1)
    )
    ground = OwnGround(
        alternatives=frozenset(
            (entry.path, item.line) for entry, module in modules for item in module.imports if item.group
        ),
        indirect=frozenset(indirect),
        replaced=frozenset(
            name
            for effect in opened.inventory.every_effect()
            if effect.replacement is not None
            for name in (effect.target, effect.alias_of)
            if name is not None
        ),
    )
    if opened.sides.running is None:
        return ground
    lines = OffLines(opened.sides.running)
    return replace(ground, may_not_run=lines.may_not_run, is_off=lines.is_off)


def _has_upstream_base(finder: Finder, module: str, definition: Definition) -> bool:
    symbol = finder.resolver.resolve_in(module, definition.bases[0].partition("[")[0])
    return symbol.home is not None and finder.owns(symbol.home)


def _merge(rows: Iterable[Judged]) -> Iterable[Judged]:
    """Each place once; of what several readers say of it the worst."""
    found: dict[tuple[str, int, str, str], Judged] = {}
    for row in rows:
        key = (row.location.path, row.location.line, row.target, row.way)
        if is_own(row.location.path) and (key not in found or found[key].fits):
            found[key] = row
    return found.values()


def _misfits_first(row: Judged) -> tuple[bool, str, int, str, str]:
    return row.fits, row.location.path, row.location.line, row.target, row.way


def is_broken(row: Drift) -> bool:
    """It breaks on the way, and does not fail already."""
    return row.severity is Severity.BREAKS and not row.fails_already


def find_drift_lines(rows: Iterable[Drift], couplings: Iterable[Coupling]) -> frozenset[tuple[str, int]]:
    """The places that `patches drift` counts as broken, in patches and outside."""
    listed = list(rows)
    broken = find_lines(row for row in listed if is_broken(row))
    ours = find_lines(one for one in couplings if one.consequence is Consequence.WILL_BREAK and one.touch in TOUCHES)
    return broken | ours | find_lines(find_failing_imports(listed))


@dataclass(frozen=True, eq=False)
class Between:
    """What becomes of our places from the pin to another commit."""

    opened: OpenedDrift
    rows: tuple[Drift, ...]
    """One for each effect, worst first, with culprits."""
    couplings: tuple[Coupling, ...]

    @property
    def drift_lines(self) -> frozenset[tuple[str, int]]:
        """The places that `patches drift` counts as broken."""
        return find_drift_lines(self.rows, fold_told(self.couplings, self.rows))

    def find_behind(self) -> Iterator[Coupling]:
        """Places that break once more behind a name that is imported from elsewhere."""
        return (one for one in self.couplings if one.consequence is Consequence.WILL_BREAK and _is_behind(one))

    def find_breaks(self, misfits: Iterable[Judged] = ()) -> Iterator[Break]:
        """Each place once: those that surely do not fit there, then those that only a comparison shows."""
        rows, told = {(row.location, row.target): row for row in self.rows}, find_told(self.rows)
        seen: set[tuple[str, int]] = set()
        for one in misfits:
            seen.add((one.location.path, one.location.line))
            row = rows.get((one.location, one.target))
            around = find_row(told, one.location, one.target)
            if row is None and around is None and self._is_fine(one):
                continue  # what both commits were read for knows more than the end alone
            culprit, causes = self._blame(one, row)
            found = replace(find_break(self.opened, one, row, culprit), causes=causes)
            yield replace(found, place=around.location) if around is not None else found
        for row in self.rows:
            place = (row.location.path, row.location.line)
            if is_broken(row) and row.target is not None and place not in seen:
                seen.add(place)
                yield _break_of_row(row, find_culprit(self.couplings, row))
        for item in self.couplings:
            place = (item.location.path, item.location.line)
            later = _is_behind(item)  # judging the edited files shows it
            if item.consequence is Consequence.WILL_BREAK and not (item.touch is Touch.PATCH or later or place in seen):
                around = find_row(told, item.location, item.target)
                found = _break_of_coupling(item)
                yield replace(found, place=around.location) if around is not None else found

    def _is_fine(self, one: Judged) -> bool:
        """Whether the comparison of both commits has looked at this line and found that it does not break."""
        here = self._find_here(one)
        return bool(here) and all(item.consequence is not Consequence.WILL_BREAK for item in here)

    def _blame(self, one: Judged, row: Drift | None) -> tuple[str | None, Causes]:
        """Who broke a place: what its row says, else what is said of this line, or of this name in the file."""
        culprit = find_culprit(self.couplings, row) if row is not None else None
        if row is not None and culprit is not None:
            return culprit, _name_causes(row)
        known = self._find_here(one) or self._by_name.get(one.key, [])
        found = next((item for item in known if item.culprit is not None), None)
        return (found.culprit, found.causes) if found is not None else (None, ())

    def _find_here(self, one: Judged) -> list[Coupling]:
        """What is said of this line."""
        same = self._by_name.get(one.key, ())
        return [item for item in same if one.location.line in (item.location.line, *item.lines)]

    @cached_property
    def _by_name(self) -> dict[tuple[str, str, str], list[Coupling]]:
        """What is said of a name in a file, the worst first: two lines of it may use it in two ways."""
        found: dict[tuple[str, str, str], list[Coupling]] = defaultdict(list)
        for item in self.couplings:
            found[item.location.path, item.target, item.touch.value].append(item)
        return found


def find_break(opened: OpenedDrift, one: Judged, row: Drift | None = None, culprit: str | None = None) -> Break:
    """A place that does not fit, with where its target went and who did it."""
    comparer = opened.sides.comparer
    found = comparer.compare(one.target)
    if culprit is None and not found.after.exists:
        culprit = comparer.find_loss(found)
    return Break(
        location=one.location,
        target=one.target,
        way=one.way,
        # what stands at the pin has its own history: the commit alone knows only when such a name was last there
        why=(row.detail if row is not None and row.severity is Severity.BREAKS else "") or one.told,
        new_target=found.new_home,
        culprit=culprit,
        idle=one.way == Touch.PATCH.value and row is not None and row.severity is not Severity.BREAKS,
        evidence=_find_home(opened.sides.tip, found.new_home) or one.evidence,
    )


def _is_behind(item: Coupling) -> bool:
    return any(why.reason is Reason.ONCE_MENDED for why in item.why)


def _break_of_row(row: Drift, culprit: str | None) -> Break:
    home = row.comparison.new_home if row.comparison is not None else None
    return Break(
        location=row.location,
        target=row.target or "",
        way=Touch.PATCH.value,
        why=row.detail,
        new_target=home,
        culprit=culprit,
        evidence=row.tip_evidence,
        causes=_name_causes(row),
    )


def _name_causes(row: Drift) -> Causes:
    by_commit: dict[str, list[Why]] = {}
    for one in row.causes:
        by_commit.setdefault(one.commit.hash, []).append(one.why)
    sums = [one.why for one in row.findings]
    return tuple((say_parts(parts, sums), commit) for commit, parts in by_commit.items())


def _break_of_coupling(item: Coupling) -> Break:
    return Break(
        location=item.location,
        target=item.target,
        way=item.touch.value,
        why=item.detail or item.state.value,
        new_target=item.new_target,
        culprit=item.culprit,
        evidence=item.tip_evidence,
        causes=item.causes,
    )


def _find_home(tip: Resolver, name: str | None) -> Evidence | None:
    return find_place(tip, tip.resolve(name)) if name is not None else None


def judge_between(workspace: Workspace, key: str, to: str, progress: Progress = silent) -> Between:
    """Our patches, imports, calls and overrides from the pin to another commit, with who did it."""
    opening = open_drift(know_packages(workspace), key, to, progress)
    return _close(opening, find_rows(opening, culprits=True))


def judge_as_drift(
    workspace: Workspace, key: str, to: str, progress: Progress = silent, *, culprits: bool = True
) -> Between:
    """The same from the rows that `patches drift` keeps: whoever has asked it before does not wait again."""
    opening = open_drift(know_packages(workspace), key, to, progress)
    rows = find_rows(opening)
    if culprits:
        progress("looking for culprits", 0, 0)
        opened = opening.opened
        rows = list(name_culprits(rows, list(find_hashes(rows, opened.sides)), opened.upstream))
    return _close(opening, rows)


def _close(opening: Opening, rows: list[Drift]) -> Between:
    pair = opening.pair
    rows = list(mark_unreached(rows, pair.settled, pair.modules))
    blamed = sorted(blame_calls(rows, pair.places.couplings, pair.upstream), key=lambda row: row.order)
    found = Between(opening.opened, tuple(blamed), pair.settled)
    opening.save()
    return found


def pin_of(workspace: Workspace, key: str) -> tuple[Repository, str]:
    pinned = workspace.find_pinned(key)
    return pinned.repository, pinned.commit


class Stops:
    """Upstream at the commits where an upgrade stops; each is read when it is first asked about."""

    def __init__(self, upstream: Repository, commits: tuple[str, ...], opened: OpenedDrift) -> None:
        self._upstream = upstream
        self._commits = commits
        self._tip = opened.sides.tip
        self._part = self._tip.index.parts[opened.sides.part]
        self._known: dict[str, Resolver] = {opened.tip: self._tip}

    def has(self, step: int, name: str) -> bool:
        commit = self._commits[step]
        if commit not in self._known:
            if self._defines(commit, name):
                return True  # one file is read, where the whole tree would take a minute
            (index,) = read_indexes([replace(self._part, tree=Tree(self._upstream, commit))])
            self._known[commit] = Resolver(index)
        return self._known[commit].resolve(name).exists

    def _defines(self, commit: str, name: str) -> bool:
        """True if the file that defines a name at the tip does so at this commit, too."""
        there = self._tip.resolve(name)
        if there.definition is None or there.module is None or there.home != name:
            return False
        path = self._tip.index.entries[there.module].path
        data = self._upstream.read_file(commit, path)
        module = parse_module(path, data) if data is not None else None
        names = {one.qualname for one in module.definitions} if isinstance(module, Module) else set[str]()
        return there.definition.qualname in names


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaks:
    """What one upstream commit breaks, as it is kept."""

    breaks: tuple[Break, ...]


def judge_commit(workspace: Workspace, key: str, base: str, tip: str) -> tuple[Break, ...]:
    """What breaks between two upstream commits, whatever the pin is: places that fit the first and not the second."""
    known = know_packages(pin_to(workspace, key, base))
    inputs = key, base, tip, known.open_backend(key).is_shallow, *find_inputs(known)

    def make() -> Breaks:
        return Breaks(breaks=tuple(judge_between(known, key, tip).find_breaks()))

    return find_kept(Breaks, "breaks", make, *inputs).breaks
