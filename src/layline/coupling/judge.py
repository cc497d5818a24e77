"""What became of each touched name at the tip, and what that does to us."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from layline.change.compare import Comparer, Comparison
from layline.change.signatures import takes_others
from layline.core.drift import DriftKind, Fate
from layline.core.evidence import Location
from layline.core.progress import Progress, count, silent
from layline.core.why import Reason, Why
from layline.coupling.attributes import find_attribute_evidence, find_unset, judge_attribute
from layline.coupling.below import is_overridden, may_have
from layline.coupling.call_verdict import judge_at_home, judge_call, judge_present
from layline.coupling.callee import (
    follow_apply,
    follow_class,
    is_rebound,
)
from layline.coupling.missing import LOST_BEFORE, find_definition, find_missing, is_module_lost
from layline.coupling.model import FAILING, Consequence, Coupling, State, Touch, is_flag
from layline.coupling.overrides import Overrides
from layline.coupling.place import Place
from layline.coupling.place_culprit import find_changes
from layline.coupling.refusals import Refusal
from layline.coupling.removals import tell_removal
from layline.coupling.roads import follow_at_tip
from layline.coupling.states import (
    Verdict,
    find_after,
    find_evidence,
    find_gone_module,
    find_gone_state,
    find_state,
    tell_fallback,
)
from layline.coupling.value_chains import ValueChains
from layline.coupling.version_guards import Running
from layline.source.instances import Instances
from layline.source.names import longest_root, parents
from layline.source.seen import Read

_GONE = {State.MOVED, State.RENAMED, State.REMOVED, State.UNBOUND}
_IMPORTS = {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT}
_NAMES = {*_IMPORTS, Touch.SUBCLASS}
"""Touches that fail for the whole file when their name is gone."""
_FAILING = {State.NO_LONGER_BINDS, State.TOO_NEW, *FAILING}
_BREAKING = {Consequence.WILL_BREAK, Consequence.MAY_BREAK}
_SHALLOW = {Touch.IMPORT, Touch.MODULE, Touch.ATTRIBUTE, Touch.FIELD, Touch.SCRIPT}
"""Touches that need no more than the name."""

_RAISED = frozenset({"TypeError", "Exception", "BaseException"})
"""What catches a call that does not bind."""
_ABSENT = Verdict(state=State.UNDECIDED, consequence=Consequence.OK, why=(Why(Reason.ABSENT_ALREADY),))
_ASKED = Verdict(state=State.UNDECIDED, consequence=Consequence.WILL_BREAK)


class Judge:
    """Judges places against one pair of indexes; of command-line flags `flags.settle_flags` says the rest."""

    def __init__(
        self,
        comparer: Comparer,
        running: Running | None = None,
        owned: Collection[tuple[Location, str]] = (),
        progress: Progress = silent,
    ) -> None:
        self._comparer = comparer
        self._progress = progress
        self._running = running
        self._owners: dict[tuple[str, str], list[Location]] = defaultdict(list)
        """File and target of patched places → lines whose drift rows decide; here only what became of the name is told.
        Other lines of the file that write the same name (they mostly put the original back) go with the first."""
        for location, target in sorted(owned, key=lambda one: (one[0].path, one[0].line)):
            self._owners[location.path, target].append(location)
        self._patched = frozenset(target for _, target in owned)
        self._written: frozenset[tuple[str, str]] = frozenset()
        """File and name of what our own lines put into upstream's modules."""
        self._instances = Instances(comparer.pin), Instances(comparer.tip)
        self._chains = ValueChains(comparer.tip, self._instances[1], lambda _name: True)
        self._overrides = Overrides(comparer)
        self.reads: dict[str, set[Read]] = defaultdict(set)
        """What was read of the tip for each file of ours."""

    def find_couplings(self, places: Iterable[Place]) -> Iterator[Coupling]:
        """One coupling for each file, target and verdict: the first place, the others counted."""
        groups: dict[tuple[object, ...], list[tuple[Place, Verdict]]] = {}
        broken: set[tuple[str, str]] = set()
        listed = [found for place in places if (found := self._follow(place)) is not None]
        self._written = frozenset((one.location.path, one.target) for one in listed if one.touch is Touch.PATCH)
        self._overrides.ask(listed)
        told = count(listed, "comparing our overrides and calls", len(listed), self._progress, lambda one: one.target)
        for place in told:
            target = self._shorten(place)
            if target is None:
                continue
            judged = replace(place, target=target)
            with self._comparer.seen.within(self.reads[place.location.path]):
                owner = self._find_owner(judged)
                verdict = self._judge(judged) if owner is None else self._tell_name(judged)
            if verdict is None:
                continue
            if verdict.state in _GONE and self._is_known_broken(judged, broken):
                # the import fails first; what follows it is the same trouble, but for a call that fails once more
                with self._comparer.seen.within(self.reads[place.location.path]):
                    verdict = judge_at_home(self._comparer, self._patched, judged)
                if verdict is None:
                    continue
            if verdict.state in _GONE and place.touch in _NAMES and (verdict.consequence in _BREAKING or place.guarded):
                home = self._comparer.pin.resolve(target).home
                broken |= {(place.location.path, target), (place.location.path, home or target)}
            certain = place.certain or not is_flag(target)
            key = (place.location.path, place.touch, target, verdict, place.guarded, certain)
            group = groups.setdefault(key if owner is None else (owner, target), [])
            group.insert(0 if owner == place.location else len(group), (judged, verdict))
        dated = count(
            groups.values(), "dating what broke", len(groups), self._progress, lambda items: items[0][0].target
        )
        for items in dated:
            with self._comparer.seen.within(self.reads[items[0][0].location.path]):
                coupling = self._couple(items)
            yield coupling

    def _follow(self, place: Place) -> Place | None:
        with self._comparer.seen.within(self.reads[place.location.path]):
            if place.road is not None:
                return follow_at_tip(place, self._chains, self._comparer.tip)
            return follow_class(follow_apply(place, self._comparer.pin), self._comparer)

    def _limit(self, place: Place, verdict: Verdict) -> Verdict:
        """What does not run at the tip's version cannot break there."""
        refuses = verdict.state is State.CANNOT_ACCEPT and verdict.consequence is Consequence.LOOK
        fails = refuses or verdict.state in {*FAILING, State.TOO_NEW}
        if self._running is None or not (verdict.consequence in _BREAKING or fails):
            return verdict
        then, now = self._running.decide(place.location, place.target.rpartition(".")[2])
        is_late = verdict.state is State.TOO_NEW
        if is_late and (then.holds is False or self._running.guards.brings_own(place.location, place.target)):
            return replace(verdict, consequence=Consequence.OK)
        unknown = {State.MISSING: now.holds, State.TOO_NEW: then.holds}.get(verdict.state, True) is None
        if unknown and place.touch in _IMPORTS and self._running.is_chosen(place.location, 1):
            return _ABSENT  # the author chooses by a test that cannot be decided here
        if now.holds is not False:
            return verdict
        if then.holds is False:
            why = Why(Reason.NOT_RUN_AT_ALL, parts=tuple(dict.fromkeys((*then.why, *now.why))))
            return replace(verdict, consequence=Consequence.OK, why=(why,))
        return replace(verdict, consequence=Consequence.LOOK, why=(Why(Reason.NOT_RUN_NOW, parts=now.why),))

    @staticmethod
    def _is_known_broken(place: Place, broken: set[tuple[str, str]]) -> bool:
        """True if the file already fails to get this name, or something it stands in."""
        if place.touch in {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT}:
            return False
        names = [place.target, *parents(place.target), place.imported]
        return any((place.location.path, name) in broken for name in names)

    def _shorten(self, place: Place) -> str | None:
        """The longest part of a chain that the pin knows; None where there is nothing to say beyond the import."""
        if place.tested:
            return place.target if self._comparer.compare(place.target).is_class_no_more else None
        if place.touch not in {Touch.ATTRIBUTE, Touch.CALL, Touch.PATCH} or place.bound:
            return place.target
        if (missing := self._find_missing(place)) is not None:
            return missing
        target = place.target
        while target.count(".") > place.imported.count("."):
            if self._comparer.pin.resolve(target).exists:
                return target
            if place.call is not None or place.touch is Touch.PATCH:
                return None  # a method of a value: only a run knows whose
            target = target.rpartition(".")[0]
        return target if place.call is not None and place.target == place.imported else None

    def _find_missing(self, place: Place) -> str | None:
        name = find_missing(self._comparer, place, self._patched)
        return name if name is not None and (place.location.path, name) not in self._written else None

    def _find_owner(self, place: Place) -> Location | None:
        """The line whose drift row speaks for a patched place."""
        owners = self._owners.get((place.location.path, place.target), ()) if place.touch is Touch.PATCH else ()
        return place.location if place.location in owners else next(iter(owners), None)

    def _tell_name(self, place: Place) -> Verdict:
        """Where the name is at the tip: what that does to our patch its row says."""
        found = self._comparer.compare(place.target)
        is_gone = not found.after.exists
        new = found.new_home if is_gone or found.kind is DriftKind.MOVED else None
        state = find_gone_state(found) if is_gone else find_state(found.kind)
        return Verdict(state=state, consequence=Consequence.OK, new_target=new)

    def _judge(self, place: Place) -> Verdict | None:
        if is_flag(place.target):
            return replace(self._limit(place, _ASKED), consequence=Consequence.OK)
        found = self._judge_method(place) if place.of_value else self._judge_name(place)
        found = self._catch(place, found) if found is not None else None
        return self._limit(place, found) if found is not None else None

    def _judge_method(self, place: Place) -> Verdict | None:
        """A call on a value: only whether it still binds."""
        found = self._comparer.compare(place.target)
        if found.kind.facts.fate is Fate.OPEN or not found.after.exists or is_rebound(place.target, self._patched):
            return None
        verdict = judge_call(self._comparer, self._patched, replace(place, unshared=place.bound), found)
        if verdict.state in _FAILING and place.may_be_below and self._is_overridden(place):
            verdict = judge_call(self._comparer, self._patched, replace(place, certain=False), found)
        told = _FAILING if place.bound and place.certain else {State.NO_LONGER_BINDS}
        switches = any(one.reason is Reason.DEFAULT_SWITCHES for one in verdict.why)
        return verdict if verdict.state in told or switches else None

    def _is_overridden(self, place: Place) -> bool:
        """Whether a class below the one that a value is said to be of has a method of its own, at the pin or the tip."""
        sides = self._comparer.pin, self._comparer.tip
        return any(is_overridden(side, side.resolve(place.base).home, place.target) for side in sides)

    def _catch(self, place: Place, verdict: Verdict) -> Verdict:
        """Of what fails and stands in a `try` that catches it: of an import what is left of the file then."""
        if self._running is None or not place.guarded:
            return verdict
        guards, packages = self._running.guards, self._running.ground.packages
        if place.touch not in _IMPORTS:
            handler = guards.find_handler(place.location, _RAISED) if verdict.state is State.NO_LONGER_BINDS else None
            caught = (Why(Reason.CATCHES, handler),) if handler is not None else ()
            return replace(verdict, why=(*verdict.why, *caught))
        if verdict.state not in _GONE:
            return verdict
        found = guards.find_fallback(
            place.location,
            lambda name: bool(longest_root(name, packages)) and not self._comparer.tip.resolve(name).exists,
        )
        return tell_fallback(verdict, found) if found is not None else verdict

    def _judge_name(self, place: Place) -> Verdict | None:
        if place.instance:
            return judge_attribute(self._comparer, self._instances, place)
        fate = self._comparer.find_fate(place.target) if place.touch in _SHALLOW and not place.tested else None
        if fate is not None:
            return Verdict(state=find_state(fate), consequence=Consequence.OK)
        found = self._comparer.compare(place.target)
        if found.kind.facts.fate is Fate.OPEN:
            return self._judge_unknown(place, found)
        if not found.after.exists:
            return self._judge_gone(place, found)
        if place.touch is Touch.CALL and place.call is not None:
            return judge_call(self._comparer, self._patched, place, found)
        if place.touch is Touch.OVERRIDE and place.override is not None:
            return self._overrides.judge(place, place.override)
        return judge_present(place, found)

    def _judge_unknown(self, place: Place, found: Comparison) -> Verdict | None:
        if place.touch not in _IMPORTS and self._find_missing(place) == place.target:
            why = (Why(Reason.READ_FAILS_ALREADY),)
            return Verdict(state=State.MISSING, consequence=Consequence.LOOK, why=why)
        if place.touch not in _IMPORTS:
            return None
        if found.kind is DriftKind.EXTERNAL:
            return self._judge_left(place)
        holder, _, last = place.target.rpartition(".")
        module = self._comparer.compare(holder) if holder in self._comparer.pin.index.entries else None
        if module is not None and not module.after.exists and found.kind is not DriftKind.DEAD_AT_PIN:
            verdict = self._judge_gone(place, module)  # whatever the name was, it is not taken from there any more
            return replace(verdict, new_target=f"{module.new_home}.{last}" if module.new_home else None)
        if found.kind is not DriftKind.DEAD_AT_PIN:
            return Verdict(state=State.UNDECIDED, consequence=Consequence.OK, why=found.why)
        sure = place.certain and not (place.guarded or place.type_checking)
        if sure and found.after.exists:
            why = (Why(Reason.IMPORT_TOO_NEW),)
            return Verdict(state=State.TOO_NEW, consequence=Consequence.LOOK, why=why)
        # below a package it may be a module that is compiled
        entry = self._comparer.pin.index.entries.get(holder)
        alone = entry is not None and not entry.path.endswith("__init__.py")
        if sure and (alone or any(one(self._comparer, place.target) for one in LOST_BEFORE)):
            return self._tell_missing(place)
        return _ABSENT

    def _judge_left(self, place: Place) -> Verdict | None:
        """What is no name of upstream's, unless upstream had it once in a folder that others may add to."""
        if place.guarded or place.type_checking or not is_module_lost(self._comparer, place.target):
            return None
        return self._tell_missing(place)

    def _tell_missing(self, place: Place) -> Verdict:
        fails = Why(Reason.FAILS_ALREADY, find_definition(self._comparer, place.target) or "")
        since = tell_removal(place.target, self._comparer.pin, self._comparer.tip)
        return Verdict(state=State.MISSING, consequence=Consequence.LOOK, why=(fails, *since))

    def _judge_gone(self, place: Place, found: Comparison) -> Verdict:
        state = find_gone_state(found)
        new, module = found.new_home, find_gone_module(found)
        why = found.why if new is None else (module,) if module is not None else ()
        there = self._comparer.tip.resolve(new).definition if new is not None else None
        if place.touch is Touch.IMPORT and not why and takes_others(found.before.definition, there):
            why = (Why(Reason.OTHER_PARAMETERS, state.value),)
        if place.touch is Touch.OVERRIDE:
            special = place.target.rpartition(".")[2].startswith("__")  # Python itself calls these
            if place.called and not special:
                return Verdict(state=state, consequence=Consequence.OK, why=(Why(Reason.CALLED_BY_US),))
            if not special and self._is_still_named(place):
                why = (Why(Reason.CALLED_WHERE_THERE),)
                return Verdict(state=state, consequence=Consequence.LOOK, why=why, new_target=new)
            why = (Why(Reason.PYTHON_CALLS if special else Reason.NOT_CALLED),)
            return Verdict(state=state, consequence=Consequence.MAY_BREAK, why=why, new_target=new)
        if place.touch is Touch.PATCH:
            why = (Why(Reason.NEVER_CALLED),)
        if place.touch is Touch.FIELD and place.base and self._has_moved_along(place, found):
            return Verdict(state=state, consequence=Consequence.OK, why=why, new_target=new)
        if place.type_checking:
            why = (Why(Reason.TYPES_ONLY),)
            return Verdict(state=state, consequence=Consequence.LOOK, why=why, new_target=new)
        doubt = place.guarded or not place.certain or (place.may_be_below and self._is_below(place))
        consequence = Consequence.MAY_BREAK if doubt else Consequence.WILL_BREAK
        return Verdict(state=state, consequence=consequence, why=why, new_target=new)

    def _has_moved_along(self, place: Place, found: Comparison) -> bool:
        """Whether a member that is read of a value went where its class did: the value brings both along."""
        owner, _, name = place.target.rpartition(".")
        home = self._comparer.compare(owner).new_home
        return home is not None and found.new_home == f"{home}.{name}" and not self._comparer.tip.resolve(owner).exists

    def _is_still_named(self, place: Place) -> bool:
        """Whether upstream's class names at the tip a method that it has no more: it may call ours where that is there."""
        home = self._comparer.tip.resolve(place.base).home if place.base else None
        return home is not None and self._instances[1].mentions(home, place.target.rpartition(".")[2])

    def _is_below(self, place: Place) -> bool:
        """Whether objects of a class may have at the tip what the class itself has lost."""
        owner, _, name = place.target.rpartition(".")
        home = self._comparer.tip.resolve(place.base or owner).home
        return home is not None and may_have(self._comparer, self._instances[1], home, name)

    def _couple(self, items: list[tuple[Place, Verdict]]) -> Coupling:
        place, verdict = items[0]
        lines = (other.location.line for other, _ in items[1:] if other.location.line != place.location.line)
        pin, tip = (
            find_attribute_evidence(self._comparer, self._instances, place)
            if place.instance
            else find_evidence(self._comparer, place.target, verdict.new_target)
        )
        refusal = self._find_culprits(place, verdict)
        culprits = refusal.commits
        culprit = culprits[0] if culprits else None
        came_back = len(culprits) > 1 and Why(Reason.CAME_BACK, culprits[0][:12], culprits[1][:12], names=culprits)
        is_gone = verdict.state in _GONE and not place.instance
        later, near = find_after(self._comparer, place.target, culprit) if is_gone else ((), None)
        return Coupling(
            touch=place.touch,
            target=place.target,
            location=place.location,
            state=verdict.state,
            consequence=verdict.consequence,
            why=(came_back, *verdict.why) if came_back else verdict.why,
            lines=tuple(dict.fromkeys(lines)),
            new_target=verdict.new_target,
            guarded=place.guarded,
            certain=place.certain,
            pin_evidence=pin,
            tip_evidence=tip,
            culprit=culprit,
            later=later or culprits[1:],
            near=near,
            dated=refusal.each if any(commit != culprit for _, commit in refusal.each) else (),
        )

    def _find_culprits(self, place: Place, verdict: Verdict) -> Refusal:
        """The upstream commit after which our place no longer fits, where one can be told; and who brought a name back
        that was gone in between, and in another form, or did what else is told.
        """
        if is_flag(place.target) or self._find_owner(place) is not None:
            return Refusal()
        if place.instance or verdict.state in _GONE:
            lost = self._find_loss(place, verdict)
            return self._split_loss(place, verdict, lost) if lost is not None else Refusal()
        return find_changes(self._comparer, place, verdict)

    def _split_loss(self, place: Place, verdict: Verdict, lost: str) -> Refusal:
        """Of a name whose module is told to be gone: who took the name away, and who the module, where that came later."""
        gone = next((one for one in verdict.why if one.reason is Reason.MODULE_GONE), None)
        outer = self._comparer.find_outer_loss(place.target) if gone is not None and not place.instance else None
        if gone is None or outer is None or outer == lost:
            return Refusal(commits=(lost,))
        return Refusal(commits=(lost,), each=((Why(Reason.WAS_REMOVED), lost), (gone, outer)))

    def _find_loss(self, place: Place, verdict: Verdict) -> str | None:
        if place.instance:
            return find_unset(self._comparer, self._instances[0], place) if verdict.state is State.REMOVED else None
        return self._comparer.find_loss(self._comparer.compare(place.target))
