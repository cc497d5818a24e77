"""Does each place of ours fit one upstream commit? Absolute: nothing is compared with an older one.

After an upgrade pin and tip are the same commit, so that a comparison of the two is empty and proves nothing. Here
every import, attribute, call and override of ours is looked up in the one tree that it will meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from layline.change.binding import CallShape, CallSite, check_call
from layline.change.call_sites import find_call_sites
from layline.core.evidence import Evidence, Location, Skipped
from layline.core.ours import is_packaged
from layline.core.why import Reason, Why, say, say_all
from layline.coupling.binding_kind import count_returned
from layline.coupling.callee import find_callee, is_anothers
from layline.coupling.compiled import is_compiled
from layline.coupling.crossed import find_crossed
from layline.coupling.missing import is_no_member
from layline.coupling.model import Touch
from layline.coupling.overrides import Overrides
from layline.coupling.past_modules import stood_once
from layline.coupling.place import Place
from layline.coupling.states import find_place
from layline.coupling.taken import APART
from layline.source import Definition, DefinitionKind, Symbol, SymbolKind
from layline.source.names import parents
from layline.source.resolve import Resolver
from layline.workspace.kept import find_kept

_SEEN = {Reason.PASSED_AT, Reason.PASSED_SLOT, Reason.CALLED_AT}
"""A call of upstream's that our override does not take is seen."""
_IMPORTS = {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What upstream's history up to the commit says of a missing name."""

    commit: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One place of ours at one upstream commit."""

    location: Location
    target: str
    way: str
    """How we touch it, such as `imports the name`."""
    fits: bool
    why: str = ""
    """Of a misfit the reason; of a place that fits, why a missing name does not matter."""
    removed: Removed | None = None
    evidence: Evidence | None = None

    @property
    def told(self) -> str:
        """The reason, with what the history says of it."""
        return f"{self.why}; {self.removed.text}" if self.removed is not None else self.why

    @property
    def key(self) -> tuple[str, str, str]:
        """The same after lines moved."""
        return self.location.path, self.target, self.way


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Every place of ours at one upstream commit."""

    commit: str
    places: tuple[Judged, ...]
    """Misfits first, then by place."""
    skipped: tuple[Skipped, ...] = ()

    @property
    def misfits(self) -> tuple[Judged, ...]:
        return tuple(one for one in self.places if not one.fits)

    @property
    def bad_lines(self) -> frozenset[tuple[str, int]]:
        """File and line of each misfit: the unit in which breakage is counted."""
        return frozenset((one.location.path, one.location.line) for one in self.misfits)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnGround:
    """What our own code says of places that upstream's tree alone would misjudge."""

    alternatives: frozenset[tuple[str, int]] = frozenset()
    """File and line of imports that stand in one branch of several: only one of them runs."""
    may_not_run: Callable[[Location, str], bool] = lambda _location, _name: True
    """Whether such an import of a name need not fail where upstream does not have it."""
    is_off: Callable[[Location, str], bool] = lambda _location, _name: False
    """Whether our code tests for a version and does not run the line at this one."""
    indirect: frozenset[tuple[str, int]] = frozenset()
    """Lines of classes of ours whose base is another class of ours: `super()` means that one."""
    replaced: frozenset[str] = frozenset()
    """Upstream names that our patches put something else in the place of."""


def find_judged(
    places: Iterable[Place], there: Resolver, ground: OwnGround, built: Overrides | None = None
) -> Iterator[Judged]:
    """One row for each place that can be decided; what only a run knows gives none. `built` judges the constructors of
    our classes, as `patches drift` does.
    """
    listed = list(places)
    if built is not None:
        built.ask(listed)
    missing = {(one.location.path, one.target) for one in listed if one.touch in _IMPORTS and _is_gone(one, there)}
    calls = _read_calls(listed, there)
    written = {one.target for one in listed if one.touch is Touch.PATCH} | ground.replaced
    overrides = _collect_overrides(listed)
    for place in listed:
        if place.touch in _IMPORTS:
            row = _judge_import(place, there, ground)
        elif place.target.startswith("args.") or place.instance or place.touch is Touch.PATCH:
            continue  # flags and attributes need something to be compared with; patches are judged as such
        elif any((place.location.path, name) in missing for name in (place.imported, *parents(place.target))):
            continue  # the import fails first, and is told
        elif built is not None and place.override is not None and place.override.name == "__init__":
            row = _judge_built(place, there, place.override, built)
        elif place.touch is Touch.OVERRIDE:
            row = _judge_override(place, there, calls, overrides)
        elif place.target in written or (place.bound and _at(place) in ground.indirect):
            continue  # what is called there is ours
        else:
            row = _judge_use(place, there)
        if row is not None and not row.fits and ground.is_off(place.location, place.target.rpartition(".")[2]):
            row = replace(row, fits=True, why="it does not fit, but our code does not run it at this version")
        if row is not None:
            yield row


def _at(place: Place) -> tuple[str, int]:
    return place.location.path, place.location.line


def _row(place: Place, there: Resolver, *, fits: bool, why: str = "", symbol: Symbol | None = None) -> Judged:
    found = symbol if symbol is not None else there.resolve(place.target)
    return Judged(
        location=place.location,
        target=place.target,
        way=place.touch.value,
        fits=fits,
        why=why,
        evidence=find_place(there, found),
    )


def _judge_import(place: Place, there: Resolver, ground: OwnGround) -> Judged | None:
    symbol = there.resolve(place.target)
    if symbol.exists and not _is_member(place.target, there):
        return _row(place, there, fits=True)
    if not symbol.exists and (not _is_gone(place, there) or is_compiled(there, place.target)):
        return None
    if place.type_checking:
        return _row(place, there, fits=True, why="imported for type checking only")
    if place.guarded:
        return _row(
            place,
            there,
            fits=True,
            why="it does not exist, but our code is prepared for that (a check or a try around it)",
        )
    if _at(place) in ground.alternatives and ground.may_not_run(place.location, place.target.rpartition(".")[2]):
        return _row(
            place,
            there,
            fits=True,
            why="it does not exist, but the import is in one of several branches, and another one may run",
        )
    why = f"{place.target.rpartition('.')[0]} is a class" if symbol.exists else _say_missing(place.target, there)
    return _row(place, there, fits=False, why=why)


def _is_gone(place: Place, there: Resolver) -> bool:
    """Whether upstream's code does not bind what a place imports, or a module that it had once."""
    kind = there.resolve(place.target).kind
    return kind is SymbolKind.ABSENT or (kind is SymbolKind.EXTERNAL and stood_once(there, place.target))


def _is_member(target: str, there: Resolver) -> bool:
    """True if the name stands in a class: `from module.Class import method` finds no module."""
    holder = there.resolve(target.rpartition(".")[0]) if "." in target else None
    return holder is not None and holder.definition is not None and holder.definition.kind is DefinitionKind.CLASS


def _say_missing(target: str, there: Resolver) -> str:
    """The innermost part that is there, and what it lacks."""
    holder = next((name for name in parents(target) if there.resolve(name).exists), None)
    if holder is None:
        return f"there is no {target}"
    return f"{holder} has no {target[len(holder) + 1 :]}"


def _judge_use(place: Place, there: Resolver) -> Judged | None:
    """An attribute or call through an import, `super()` or `self`."""
    symbol = there.resolve(place.target)
    if not symbol.exists:
        return _judge_missing(place, there, symbol)
    if place.call is None:
        return _row(place, there, fits=True)
    callee = find_callee(there, symbol)
    if callee is None:
        return None
    bound = (place.bound or callee[1]) and "staticmethod" not in callee[0].decorators
    problems = check_call(place.call, callee[0].parameters or (), bound=bound)
    sure = [one.message for one in problems if one.certain]
    if not sure:
        why = _find_misused(place, place.call, there, symbol, bound=bound)
        return _row(place, there, fits=not why, why=why)
    if not place.certain:
        return _row(place, there, fits=True, why="the call does not fit, but the object may be of a subclass")
    if place.guarded:
        return _row(
            place,
            there,
            fits=True,
            why="the call does not fit, but our code is prepared for that (a check or a try around it)",
        )
    return _row(place, there, fits=False, why=f"{place.target.rpartition('.')[2]} {'; '.join(sure[:3])}")


def _find_misused(place: Place, call: CallShape, there: Resolver, symbol: Symbol, *, bound: bool) -> str:
    """Why a call that binds does not do what it is written for: its result has another number of values, or its
    variables land in other parameters.
    """
    if place.guarded or not place.certain:
        return ""
    given = count_returned(there, symbol) if call.taken is not None and call.taken >= APART else None
    if given is not None and call.taken is not None and given != call.taken:
        return say(Why(Reason.RESULT_MISFITS, counts=(call.taken, given)))
    crossed = find_crossed(there, symbol, call, bound=bound)
    return say(crossed.tell(Reason.CALL_CROSSED_HERE)) if crossed is not None else ""


def _judge_missing(place: Place, there: Resolver, symbol: Symbol) -> Judged | None:
    """A name that its module or class does not have; what hangs on a value, only a run knows."""
    owner = there.resolve(place.target.rpartition(".")[0])
    if place.bound or not (symbol.kind is SymbolKind.ABSENT or is_no_member(place.target, owner)):
        return None
    is_class = owner.definition is not None and owner.definition.kind is DefinitionKind.CLASS
    if owner.kind is not SymbolKind.SUBMODULE and not is_class:
        return None
    if place.guarded or place.type_checking or not place.certain:
        return _row(
            place,
            there,
            fits=True,
            why="it does not exist, but our code is prepared for that (a check or a try around it)",
        )
    return _row(place, there, fits=False, why=_say_missing(place.target, there))


def _read_calls(places: Iterable[Place], there: Resolver) -> Mapping[str, Sequence[CallSite]]:
    """Upstream's own calls of the methods that we override; one pass over its files, kept for the next plan."""
    names = {
        place.target
        for place in places
        if place.override is not None and place.override.name != "__init__" and there.resolve(place.target).exists
    }
    parts = [(part.tree.commit, part.packages, part.source_roots) for part in there.index.parts]

    def make() -> _Calls:
        found = find_call_sites(there, names)
        return _Calls(sites={name: tuple(sites) for name, sites in found.items()})

    return find_kept(_Calls, "calls", make, parts, sorted(names)).sites


@dataclass(frozen=True, slots=True, kw_only=True)
class _Calls:
    """Upstream's calls of some names at one commit, as they are kept."""

    sites: dict[str, tuple[CallSite, ...]]


def _collect_overrides(places: Iterable[Place]) -> dict[tuple[str, str], set[str]]:
    """File and class of ours → the methods that it overrides."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for place in places:
        if place.override is not None:
            found[place.location.path, place.override.owner].add(place.override.name)
    return found


def _judge_override(
    place: Place, there: Resolver, calls: Mapping[str, Sequence[CallSite]], overrides: dict[tuple[str, str], set[str]]
) -> Judged | None:
    """Fits unless a call of upstream's that surely reaches it passes what it does not take."""
    ours = place.override
    symbol = there.resolve(place.target)
    if ours is None or ours.parameters is None or not symbol.exists:
        return None
    theirs = symbol.definition.parameters if symbol.definition is not None else None
    beside = overrides[place.location.path, ours.owner]
    for site in calls.get(place.target, ()):
        if not site.certain or is_anothers(site, place) or not is_packaged(site.location.path):
            continue  # an object that is made beside the call is of no class below; a test calls its own
        if check_call(site.shape, theirs or (), bound=True):
            continue  # what does not fit upstream's own method means another one
        if _find_caller(site, there) in beside:
            continue  # our class has its own method in the place of the caller
        problems = [one.message for one in check_call(site.shape, ours.parameters, bound=True) if one.certain]
        if problems:
            why = f"our override {'; '.join(problems[:3])}; upstream calls it at {site.location}"
            return _row(place, there, fits=False, why=why)
    return _row(place, there, fits=True)


def _judge_built(place: Place, there: Resolver, ours: Definition, built: Overrides) -> Judged | None:
    """Fits unless upstream builds what our code hands on, and passes what it does not take."""
    if not there.resolve(place.target).exists:
        return None
    why = built.judge(place, ours).why
    told = tuple(one for one in why if one.reason is not Reason.ALREADY_SO)
    fits = not any(one.reason in _SEEN for one in why)
    return _row(place, there, fits=fits, why="" if fits else say_all(told))


def _find_caller(site: CallSite, there: Resolver) -> str | None:
    """The name of the method that holds a call."""
    module = there.index.module(site.module)
    around = [
        one
        for one in (module.definitions if module is not None else ())
        if one.owner and one.kind is DefinitionKind.FUNCTION and one.lines[0] <= site.location.line <= one.lines[1]
    ]
    return min(around, key=lambda one: one.lines[1] - one.lines[0]).name if around else None
