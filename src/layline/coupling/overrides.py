"""Whether a method of ours still stands in the place of upstream's: what upstream's own calls pass to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from layline.change.binding import CallSite, Problem, check_call
from layline.change.compare import Comparer, Comparison
from layline.change.slots import TELLING, complete, find_fitting, find_refusing, find_slot_calls, put_covering_first
from layline.core.evidence import Location
from layline.core.prose import listed
from layline.core.why import Reason, Why
from layline.coupling.binding_kind import find_nature_problems, retypes
from layline.coupling.callee import find_doubtful, find_misfits, find_refused, is_anothers, reaches
from layline.coupling.forwards import widen
from layline.coupling.model import Consequence, State
from layline.coupling.needed import find_needed, is_called_within
from layline.coupling.place import Place
from layline.coupling.states import Verdict, find_state, sum_up
from layline.coupling.unreached import Unreached
from layline.source import Definition, DefinitionKind, ParameterKind
from layline.source.handed import SPECIFIED
from layline.source.instances import Attribute, Instances
from layline.source.lineage import find_above
from layline.source.resolve import Resolver
from layline.source.seen import Read

_RUN = "forward"
"""What a call of an object runs."""
_MAKE = "__init__"
_BOUND = {"self", "cls"}
"""Nobody passes these by name."""
_BY_POSITION = {ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL}
_REFUSING = frozenset({Reason.REFUSES, Reason.REFUSES_KEYWORD, Reason.REFUSES_NAME})
_SHOWN = {Reason.PASSED_AT: 3, Reason.PASSED_SLOT: 2, Reason.MAYBE_PASSED: 3}
"""How many places the sentence of a reason tells."""


class Overrides:
    """Judges overrides against one pair of indexes; upstream's calls are read once for all that are asked about."""

    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer
        self._instances = Instances(comparer.pin), Instances(comparer.tip)
        self._doubtful: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        """Methods that an override of ours may not fit: upstream's own calls at pin and tip decide."""
        self._unreached = Unreached(comparer)
        self._slots: dict[tuple[int, frozenset[str]], tuple[list[CallSite], Collection[Read]]] = {}

    def ask(self, places: list[Place]) -> None:
        """Which overrides are to be judged."""
        with self._comparer.seen.within(set()):
            then, now = (frozenset(find_doubtful(self._compare, places, side)) for side in (0, 1))
            self._doubtful = then, now
            self._unreached.ask(places)

    def _compare(self, place: Place) -> Comparison:
        """Upstream's method at both refs, with all that who calls it may pass."""
        found, owner = self._comparer.compare(place.target), place.base
        if not owner:
            return found
        sides = (self._comparer.pin, found.before), (self._comparer.tip, found.after)
        before, after = (widen(resolver, symbol, owner) for resolver, symbol in sides)
        return replace(found, before=before, after=after)

    def judge(self, place: Place, ours: Definition) -> Verdict:
        found = self._compare(place)
        before, after = found.before.definition, found.after.definition
        if before is None or after is None or after.kind is not DefinitionKind.FUNCTION:
            return Verdict(state=find_state(found.kind), consequence=Consequence.LOOK, why=found.why)
        if (uncalled := self._unreached.find(place)) is not None:
            return Verdict(state=State.BODY, consequence=Consequence.MAY_BREAK, why=(uncalled,))
        natures = list(find_nature_problems(found, ours))
        if natures:
            return self._judge_nature(ours, found, natures)
        if (failing := self._find_failing(place, ours, found) or self._find_unset(place, found)) is not None:
            return failing
        problems, today = find_refused(ours, found), find_misfits(ours, found.before)
        then = self._find_slotted(place, ours, found, 0) if today else ()
        passed = self._find_passing(place, ours, found, today, 0) if today and not then and ours.name != _MAKE else ()
        if then and ours.name == _RUN and not place.slots - {SPECIFIED} and not place.fields:
            return self._doubt(place, ours, found, today)
        if then and ours.name == _RUN:
            ran = (sum_up(Reason.OVERRIDE_MISFITS, problems or today), Why(Reason.RUN_BY_US, places=_locate(then)))
            return Verdict(state=State.CANNOT_ACCEPT, consequence=Consequence.OK, why=ran)
        if then or passed:
            still = find_misfits(ours, found.after)
            if then:
                sites = self._find_slotted(place, ours, found, 1, still) or then
            else:
                sites = self._find_passing(place, ours, found, still, 1) or passed
            reason = Reason.PASSED_SLOT if then else Reason.PASSED_AT
            still = _keep_passed(still or today, ours, sites[: _SHOWN[reason]])
            where = _tell_sites(reason, still, sites)
            why = (sum_up(Reason.OVERRIDE_MISFITS, still), where, _tell_already(still, today))
            # our code lives with it: whatever it breaks, the upgrade does not
            return Verdict(state=State.CANNOT_ACCEPT, consequence=Consequence.LOOK, why=why)
        if problems:
            return self._refuse(place, ours, found, problems)
        if retypes(found, self._comparer.pin):
            returns = Why(Reason.METHOD_RETURNS, str(before.returns), str(after.returns))
            return Verdict(state=State.SIGNATURE, consequence=Consequence.MAY_BREAK, why=(returns,))
        state = find_state(found.kind)
        changes = Why(Reason.SIGNATURE, names=tuple(map(str, found.changes[:4])))
        consequence = Consequence.OK if state is State.OK else Consequence.LOOK
        return Verdict(state=state, consequence=consequence, why=(changes,) if state is State.SIGNATURE else ())

    @staticmethod
    def _judge_nature(ours: Definition, found: Comparison, natures: list[Problem]) -> Verdict:
        """Of an override that is called in another way than upstream's own method. A call through an object reaches a
        static method as it does any other: where ours never took what upstream's takes, only our own code calls it.
        """
        today = find_misfits(ours, found.before) if {one.argument for one in natures} == {"staticmethod"} else []
        told = (sum_up(Reason.OVERRIDE_MISFITS, [*natures, *today]),)
        already = (_tell_already([*natures, *today], today),) if today else ()
        consequence = Consequence.LOOK if today else Consequence.WILL_BREAK
        return Verdict(state=State.CANNOT_ACCEPT, consequence=consequence, why=(*told, *already))

    def _doubt(self, place: Place, ours: Definition, found: Comparison, today: list[Problem]) -> Verdict:
        """Of what upstream builds from a spec of ours, and runs: it does not take what upstream passes today already."""
        still = find_misfits(ours, found.after)
        sites = self._find_maybe(place, ours, found, still, 1) or self._find_maybe(place, ours, found, today, 0)
        still = _keep_passed(still or today, ours, sites[: _SHOWN[Reason.MAYBE_PASSED]])
        told = (Why(Reason.MAYBE_PASSED, places=_locate(sites)),) if sites else ()
        why = (sum_up(Reason.OVERRIDE_MISFITS, still), *told, _tell_already(still, today))
        return Verdict(state=State.CANNOT_ACCEPT, consequence=Consequence.LOOK, why=why)

    def _find_failing(self, place: Place, ours: Definition, found: Comparison) -> Verdict | None:
        """Of what a spec of ours names, where no call of upstream's that may build or run it fits ours, at either ref."""
        today = find_misfits(ours, found.before)
        if not today or not place.slots or place.built or place.fields or ours.name not in {_MAKE, _RUN}:
            return None
        if ours.name == _RUN and place.slots != {SPECIFIED}:
            return None  # it stands where we say, and our own code may be what runs it there
        calls = [self._find_fitting(place, ours, found, side) for side in (0, 1)]
        takes = (not check_call(complete(one), ours.parameters or (), bound=True) for side in calls for one in side)
        if not all(calls) or any(takes):
            return None
        still = find_misfits(ours, found.after) or today
        # what builds whatever a spec names is the road of ours (a field of upstream's may hold another class), and as it
        # fails at the pin already, one that was there
        then, named = ([one for one in side if one.slot in place.slots] for side in calls)
        paths = {one.location.path for one in then}
        telling = [one for one in named if one.location.path in paths] or named or calls[1]
        telling.sort(key=lambda one: -len(one.shape.keywords))
        sites = put_covering_first(telling, {problem.argument for problem in still})
        still = _keep_passed(still, ours, sites[: _SHOWN[Reason.PASSED_SLOT]])
        where = Why(Reason.PASSED_SLOT, places=_locate(sites))
        why = (sum_up(Reason.OVERRIDE_MISFITS, still), where, _tell_already(still, today))
        return Verdict(state=State.NEVER_FITTED, consequence=Consequence.LOOK, why=why)

    def _find_unset(self, place: Place, found: Comparison) -> Verdict | None:
        """Of a constructor of ours that never runs upstream's: what that sets at the tip and did not at the pin, and
        methods that our class leaves alone cannot do without.
        """
        if place.alone is None:
            return None
        own, sides = place.alone.sets, ((self._comparer.pin, found.before), (self._comparer.tip, found.after))
        ours = {f"{place.base}.{name}" for name in own}
        then, now = (dict(find_needed(side, symbol, own, place.alone.first, ours)) for side, symbol in sides)
        new = {word: reader for word, reader in now.items() if word not in then}
        if not new:
            return None
        names = {reader.rpartition(".")[2] for reader in new.values()}
        called = any(one in place.alone.calls or self._is_called_within(place, one) for one in names)
        parts = tuple(Why(Reason.LEAVES_UNSET, f"self.{word}", reader) for word, reader in new.items())
        consequence = Consequence.WILL_BREAK if called else Consequence.MAY_BREAK
        return Verdict(state=State.MISFIT, consequence=consequence, why=(Why(Reason.OVERRIDE_MISFITS, parts=parts),))

    def _is_called_within(self, place: Place, name: str) -> bool:
        own = place.alone.sets if place.alone is not None else frozenset()
        return is_called_within(self._comparer.tip, place.base, name, own)

    def _find_fitting(self, place: Place, ours: Definition, found: Comparison, side: int) -> list[CallSite]:
        """The calls of one ref that are enough like upstream's class to build or run what stands for it."""
        theirs, at = (found.before, found.after)[side].definition, (self._comparer.pin, self._comparer.tip)[side]
        taken = (theirs.parameters if theirs is not None else None) or ()
        calls = find_fitting(find_slot_calls(at, frozenset(item.name for item in taken) - _BOUND), taken)
        named = place.slots - {SPECIFIED}
        calls = [one for one in calls if one.slot in named] if named else calls
        if ours.name != _RUN:
            return calls
        return self._keep_possible([one for one in calls if not self._is_part(one, place, at)], place, found, side)

    def _refuse(self, place: Place, ours: Definition, found: Comparison, problems: list[Problem]) -> Verdict:
        """Of an override that does not take what the tip's signature has and the pin's had not."""
        # who constructs our class is mostly our own code: a constructor is certain only where upstream is seen to
        certain = any(problem.certain for problem in problems) and ours.name != _MAKE
        passed = self._find_passing(place, ours, found, problems, 1)
        built = () if passed else self._find_slotted(place, ours, found, 1)
        maybe = () if passed or built or certain else self._find_maybe(place, ours, found, problems, 1)
        reason = Reason.PASSED_AT if passed else Reason.PASSED_SLOT if built else Reason.MAYBE_PASSED
        # of calls that surely reach ours only what is new is a problem; of others nobody knows
        all_ = find_misfits(ours, found.after) if maybe else problems
        if maybe and ours.name == _MAKE:  # who builds the class passes what it has always refused, too
            maybe = self._find_maybe(place, ours, found, all_, 1)
        sites = passed or built or maybe
        all_ = _keep_passed(all_, ours, sites[: _SHOWN[reason]]) if sites else all_
        why = [sum_up(Reason.OVERRIDE_MISFITS, all_), *([_tell_sites(reason, all_, sites)] if sites else ())]
        consequence = Consequence.WILL_BREAK if certain or passed or built else Consequence.MAY_BREAK
        if not (certain or passed or built or maybe):
            nobody = Reason.BUILT_BY_US if self._is_ours_alone(place, ours) else Reason.NOT_PASSED_ANYWHERE
            why, consequence = [*why, Why(nobody)], Consequence.OK
        today = find_misfits(ours, found.before) if maybe else []
        then = self._find_maybe(place, ours, found, today, 0) if today else ()
        if then and ours.name == _RUN and (place.built or place.fields or place.slots - {SPECIFIED}):
            # what upstream passes there would fail today, so it is our own code that runs what it puts there
            why, consequence = [why[0], Why(Reason.RUN_BY_US, places=_locate(then))], Consequence.OK
        elif then:
            why.append(_tell_already(all_, today))
            consequence = Consequence.LOOK
        return Verdict(state=State.CANNOT_ACCEPT, consequence=consequence, why=tuple(why))

    def _find_passing(
        self, place: Place, ours: Definition, found: Comparison, problems: list[Problem], side: int
    ) -> tuple[CallSite, ...]:
        """Upstream calls at one ref that surely reach our override and that it does not accept."""
        return tuple(one for one in self._find_refusing(place, ours, found, problems, side) if one.certain)

    def _find_refusing(
        self, place: Place, ours: Definition, found: Comparison, problems: list[Problem], side: int
    ) -> Iterator[CallSite]:
        """Upstream calls of the method by its name at one ref that ours does not accept."""
        arguments = {problem.argument for problem in problems}
        resolver = (self._comparer.pin, self._comparer.tip)[side]
        for site in self._find_named(found, side):
            if is_anothers(site, place) or site.module.startswith("tests.") or not reaches(site, place, resolver):
                continue
            failing = {one.argument for one in check_call(site.shape, ours.parameters or (), bound=True)}
            if failing & arguments or any(one.startswith("#") for one in failing):
                yield site

    def _find_named(self, found: Comparison, side: int) -> list[CallSite]:
        name, doubtful = _name_at(found, side), self._doubtful[side]
        return self._comparer.sites[side].find(name, doubtful) if name in doubtful else []

    def _find_maybe(
        self, place: Place, ours: Definition, found: Comparison, problems: list[Problem], side: int
    ) -> tuple[CallSite, ...]:
        """Upstream calls at one ref that ours does not accept, on values of which only a run knows what they are."""
        theirs = (found.before, found.after)[side].definition
        named = list(self._find_refusing(place, ours, found, problems, side))
        if named or theirs is None or self._is_ours_alone(place, ours):
            return tuple(named)
        runs, at = ours.name == _RUN, (self._comparer.pin, self._comparer.tip)[side]
        calls = self._read_slots(side, problems)
        if runs and place.slots - {SPECIFIED}:
            return ()  # it stands where we say
        if ours.name == _MAKE:
            reaching = calls
        elif runs:
            reaching = [one for one in calls if not check_call(one.shape, theirs.parameters or (), bound=True)]
            reaching = [one for one in reaching if not place.built or self._is_kept(one, place, at)]
            reaching = [one for one in reaching if not self._is_part(one, place, at)] or reaching
        else:
            made = {one.location for one in self._find_named(found, side) if is_anothers(one, place)}
            reaching = [one for one in calls if one.slot == ours.name and reaches(one, place, at)]
            reaching = [one for one in reaching if one.location not in made]
        refused = {problem.argument for problem in problems}
        sites = find_refusing(
            reaching,
            ours.parameters or (),
            theirs.parameters or (),
            refused,
            TELLING if runs or ours.name == _MAKE else 1,
        )
        return tuple(put_covering_first(self._keep_possible(sites, place, found, side) if runs else sites, refused))

    @staticmethod
    def _is_part(site: CallSite, place: Place, at: Resolver) -> bool:
        """Whether a call runs what objects of the class itself, or of one above it, keep: seldom one of the same class."""
        home = at.resolve_in(site.module, site.around).home if site.around and place.base else None
        return home is not None and home in find_above(place.base, at)

    @staticmethod
    def _is_kept(site: CallSite, place: Place, at: Resolver) -> bool:
        """Whether a call may run what our own code builds and keeps in a field: one of the class around it that a class
        of ours stands below.
        """
        if site.slot not in place.fields or place.keepers is None or not site.around:
            return site.slot in place.fields
        return at.resolve_in(site.module, site.around).home in place.keepers

    def _keep_possible(self, sites: list[CallSite], place: Place, found: Comparison, side: int) -> list[CallSite]:
        """Of calls of what an object keeps: those of objects that have this very method, where the class of some is
        known; else those of which nothing is known.
        """
        resolver, wanted = (self._comparer.pin, self._comparer.tip)[side], (found.before, found.after)[side].home
        held = [(site, self._find_held(site, side)) for site in sites]
        above = set(find_above(place.base, resolver)) if any(one for _, one in held) else set()
        known = [(site, one.kind, one.made) for site, one in held if one is not None and one.kind is not None]
        sure = [site for site, kind, _ in known if kind in above and resolver.resolve(f"{kind}.{_RUN}").home == wanted]
        # what is only said to be of a class may be anything that looks like it
        others = {site.location for site, kind, made in known if made and kind not in above}
        return sure or [site for site in sites if site.location not in others]

    def _find_held(self, site: CallSite, side: int) -> Attribute | None:
        """What `self` keeps in the field that is called, where its class tells."""
        if not site.around:
            return None
        home = (self._comparer.pin, self._comparer.tip)[side].resolve_in(site.module, site.around).home
        return self._instances[side].find(home).get(site.slot) if home is not None else None

    @staticmethod
    def _is_ours_alone(place: Place, ours: Definition) -> bool:
        """What our own code builds by its name and hands on nowhere upstream does not build; nor does upstream run it
        unless we keep it in a field.
        """
        return place.built and (ours.name == _MAKE or (ours.name == _RUN and not place.fields))

    def _find_slotted(
        self, place: Place, ours: Definition, found: Comparison, side: int, problems: Iterable[Problem] | None = None
    ) -> tuple[CallSite, ...]:
        """Upstream calls at one ref that build or run what stands in a slot, fit upstream's class and not ours, which
        we hand on; those of the slots that we name, where there are any. Asked are the problems of that ref, or these.
        """
        theirs = (found.before, found.after)[side]
        if theirs.definition is None or ours.parameters is None or ours.name not in {_MAKE, _RUN}:
            return ()
        if self._is_ours_alone(place, ours):
            return ()
        asked = problems or (find_refused(ours, found) if side else find_misfits(ours, theirs))
        refused = {problem.argument for problem in asked}
        calls = self._read_slots(side, asked) if place.handed or place.slots else []
        sites = find_refusing(calls, ours.parameters, theirs.definition.parameters or (), refused)
        named = [site for site in sites if site.slot in place.slots]
        return tuple(named or (sites if place.handed else ()))

    def _read_slots(self, side: int, problems: Iterable[Problem]) -> list[CallSite]:
        """Calls at one ref that name what is refused."""
        resolver, asked = (self._comparer.pin, self._comparer.tip)[side], frozenset(one.argument for one in problems)
        return self._comparer.seen.remember(self._slots, (side, asked), lambda: find_slot_calls(resolver, asked))


def _tell_sites(reason: Reason, problems: list[Problem], sites: Iterable[CallSite]) -> Why:
    """Where upstream passes what ours refuses; of what ours needs and it leaves out, where it calls."""
    leaves_out = reason is Reason.PASSED_AT and all(one.why.reason is Reason.NEEDS_EXTRA for one in problems)
    return Why(Reason.CALLED_AT if leaves_out else reason, places=_locate(sites))


def _locate(sites: Iterable[CallSite]) -> tuple[Location, ...]:
    return tuple(site.location for site in sites)


def _keep_passed(problems: list[Problem], ours: Definition, sites: Iterable[CallSite]) -> list[Problem]:
    """What the calls that are told pass; a parameter at another place harms only who passes so many by position. They
    are told by name: what upstream passes is mostly not the default.
    """
    mine = [one.name for one in ours.parameters or () if one.kind in _BY_POSITION][1:]
    shapes = [site.shape for site in sites]

    def is_passed(problem: Problem) -> bool:
        if problem.why.reason is Reason.SWAPPED:
            place = mine.index(problem.why.name) if problem.why.name in mine else 0
            return any(one.has_star or one.positional > place for one in shapes)
        if problem.why.reason not in _REFUSING:
            return True
        return any(
            problem.argument in one.keywords or one.has_star or one.has_double_star or one.positional > len(mine)
            for one in shapes
        )

    kept = [one for one in problems if is_passed(one)] or problems
    return [replace(one, why=replace(one.why, text=one.argument)) if _is_default(one) else one for one in kept]


def _is_default(problem: Problem) -> bool:
    return problem.why.reason is Reason.REFUSES and bool(problem.why.text)


def _name_at(found: Comparison, side: int) -> str:
    return (found.before, found.after)[side].home or found.name


def _tell_already(problems: list[Problem], today: list[Problem]) -> Why:
    """Which of the problems are none of the upgrade's: all, or these."""
    known = {problem.argument for problem in today}
    names = [problem.argument for problem in problems if problem.argument in known]
    return Why(Reason.ALREADY_SO, text=listed(names, most=len(names)) if len(names) < len(problems) else "")
