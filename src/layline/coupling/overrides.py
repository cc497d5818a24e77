"""Whether a method of ours still stands in the place of upstream's: what upstream's own calls pass to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from layline.change.binding import CallSite, Problem, check_call
from layline.change.call_sites import CallSites
from layline.change.compare import Comparer, Comparison
from layline.change.signatures import returns_another
from layline.change.slots import find_refusing, find_runs, find_slot_calls
from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.callee import find_doubtful, find_misfits, find_refused, reaches
from layline.coupling.model import Consequence, State
from layline.coupling.reading import Place
from layline.coupling.states import Verdict, find_state, sum_up
from layline.source import Definition, DefinitionKind
from layline.source.seen import Read

_RUN = "forward"
"""What a call of an object in a slot runs."""


class Overrides:
    """Judges overrides against one pair of indexes; upstream's calls are read once for all that are asked about."""

    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer
        self._sites = CallSites(comparer.tip)
        self._doubtful: frozenset[str] = frozenset()
        """Methods that an override of ours may not fit: upstream's own calls at the tip decide."""
        self._asked: dict[str, frozenset[str]] = {}
        """Of constructors the arguments that a class of ours does not take, and that upstream's calls may pass to a
        slot; of `forward` the slots in which our classes stand."""
        self._slots: dict[tuple[str, int, frozenset[str]], tuple[list[CallSite], Collection[Read]]] = {}

    def ask(self, places: list[Place]) -> None:
        """Which overrides are to be judged."""
        with self._comparer.seen.within(set()):
            self._doubtful = frozenset(find_doubtful(self._comparer, places))
            self._asked = {
                "__init__": frozenset(self._find_refused_arguments(places)),
                _RUN: frozenset(self._find_runs(places)),
            }

    def judge(self, place: Place, ours: Definition, found: Comparison) -> Verdict:
        before, after = found.before.definition, found.after.definition
        if before is None or after is None or after.kind is not DefinitionKind.FUNCTION:
            return Verdict(state=find_state(found.kind), consequence=Consequence.LOOK, why=found.why)
        problems = find_refused(ours, found)
        if problems:
            return self._refuse(place, ours, found, problems)
        today = find_misfits(ours, found.after) if ours.name != "__init__" else []
        passed = self._find_passing(place, ours, found, today) if today else ()
        then = self._find_slotted(place, ours, found, 0) if today and not passed else ()
        if passed or then:
            where = Why(Reason.PASSED_AT, places=passed) if passed else Why(Reason.PASSED_SLOT, places=then)
            why = (sum_up(Reason.OVERRIDE_MISFITS, today), where, Why(Reason.ALREADY_SO))
            return Verdict(state=State.CANNOT_ACCEPT, consequence=Consequence.MAY_BREAK, why=why)
        if returns_another(before.returns, after.returns):
            returns = Why(Reason.METHOD_RETURNS, str(before.returns), str(after.returns))
            return Verdict(state=State.SIGNATURE, consequence=Consequence.MAY_BREAK, why=(returns,))
        state = find_state(found.kind)
        changes = Why(Reason.SIGNATURE, names=tuple(map(str, found.changes[:4])))
        consequence = Consequence.OK if state is State.OK else Consequence.LOOK
        return Verdict(state=state, consequence=consequence, why=(changes,) if state is State.SIGNATURE else ())

    def _refuse(self, place: Place, ours: Definition, found: Comparison, problems: list[Problem]) -> Verdict:
        """Of an override that does not take what the tip's signature has and the pin's had not."""
        # who constructs our class is mostly our own code: a constructor is certain only where upstream is seen to
        certain = any(problem.certain for problem in problems) and ours.name != "__init__"
        passed = self._find_passing(place, ours, found, problems)
        built = () if passed else self._find_slotted(place, ours, found, 1)
        why = [sum_up(Reason.OVERRIDE_MISFITS, problems)]
        why += [Why(Reason.PASSED_AT, places=passed)] if passed else []
        why += [Why(Reason.PASSED_SLOT, places=built)] if built else []
        consequence = Consequence.WILL_BREAK if certain or passed or built else Consequence.MAY_BREAK
        before = self._find_slotted(place, ours, found, 0) if built else ()
        if before:
            then = sum_up(Reason.OVERRIDE_MISFITS, find_misfits(ours, found.before))
            why = [then, Why(Reason.PASSED_SLOT, places=before), Why(Reason.ALREADY_SO), *why]
            consequence = Consequence.MAY_BREAK
        return Verdict(state=State.CANNOT_ACCEPT, consequence=consequence, why=tuple(why))

    def _find_passing(
        self, place: Place, ours: Definition, found: Comparison, problems: list[Problem]
    ) -> tuple[Location, ...]:
        """Upstream calls at the tip that surely reach our override and that it does not accept."""
        arguments = {problem.argument for problem in problems}
        return tuple(
            site.location
            for site in self._find_sites(found.after.home or found.name)
            if site.certain
            and reaches(site, place, self._comparer.tip)
            and not site.module.startswith("tests.")
            and any(
                one.argument in arguments or one.argument.startswith("#")
                for one in check_call(site.shape, ours.parameters or (), bound=True)
            )
        )

    def _find_sites(self, name: str) -> list[CallSite]:
        return self._sites.find(name, self._doubtful) if name in self._doubtful else []

    def _find_refused_arguments(self, places: Iterable[Place]) -> Iterator[str]:
        """What constructors of classes that upstream may build refuse of the signatures of pin and tip."""
        for place in places:
            if place.override is not None and place.override.name == "__init__" and (place.handed or place.slots):
                found = self._comparer.compare(place.target)
                refused = find_refused(place.override, found)
                for problem in (*refused, *(find_misfits(place.override, found.before) if refused else ())):
                    yield problem.argument

    def _find_runs(self, places: Iterable[Place]) -> Iterator[str]:
        """Slots in which classes stand whose `forward` may not take what upstream passes."""
        for place in places:
            if place.override is not None and place.override.name == _RUN and place.slots:
                found = self._comparer.compare(place.target)
                if find_refused(place.override, found) or find_misfits(place.override, found.after):
                    yield from place.slots

    def _find_slotted(self, place: Place, ours: Definition, found: Comparison, side: int) -> tuple[Location, ...]:
        """Upstream calls at one ref that build or run what stands in a slot, fit upstream's class and not ours, which
        we hand on; those of the slots that we name, where there are any.
        """
        theirs = (found.before, found.after)[side]
        if theirs.definition is None or ours.parameters is None:
            return ()
        refused = {problem.argument for problem in (find_refused(ours, found) if side else find_misfits(ours, theirs))}
        calls = self._read_slots(ours.name, side) if place.handed or place.slots else []
        sites = find_refusing(calls, ours.parameters, theirs.definition.parameters or (), refused)
        named = [site for site in sites if site.slot in place.slots]
        return tuple(site.location for site in (named or (sites if place.handed else ())))

    def _read_slots(self, name: str, side: int) -> list[CallSite]:
        resolver, asked = (self._comparer.pin, self._comparer.tip)[side], self._asked.get(name, frozenset())
        find = find_runs if name == _RUN else find_slot_calls
        return self._comparer.seen.remember(self._slots, (name, side, asked), lambda: find(resolver, asked))
