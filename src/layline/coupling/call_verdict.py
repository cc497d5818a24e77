"""Whether a call of ours still fits, and what it means that a name is still there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from layline.change.binding import Problem, check_call, find_mixed, find_shifted
from layline.change.compare import Comparer, Comparison
from layline.core.drift import DriftKind
from layline.core.prose import listed
from layline.core.why import Reason, Why
from layline.coupling.callee import (
    find_callee,
    find_misplaced,
    find_written,
    is_named_by_decorator,
    is_rebound,
    is_reshaped,
    is_taken,
    is_told_by_name,
)
from layline.coupling.crossed import find_crossed, find_ordered
from layline.coupling.forwards import find_accepting
from layline.coupling.model import Consequence, State, Touch
from layline.coupling.place import Place
from layline.coupling.redefaulted import judge_redefaulted
from layline.coupling.refusals import tell_renamed
from layline.coupling.states import Verdict, find_state, sum_up
from layline.coupling.taken import judge_taken
from layline.source import Definition

_DEEP = {Touch.SUBCLASS, Touch.OVERRIDE, Touch.PATCH}
"""Touches that rely on how the upstream code works, not only on its name and signature."""


def judge_call(comparer: Comparer, patched: Collection[str], place: Place, found: Comparison) -> Verdict:
    """Whether a call of ours binds at the tip as it did at the pin, and whether what it gives is taken as before."""
    call = place.call
    before = find_accepting(comparer.pin, found.before)
    after = find_accepting(comparer.tip, found.after)
    if call is not None and before is None and after is not None:
        problems = check_call(call, after[0].parameters or (), bound=place.bound or after[1])
        sure = any(one.certain for one in problems) and is_taken(found.before, call, bound=place.bound)
        written = find_written(found.before)
        problems = tell_renamed(problems, call, written[0], after[0]) if written is not None else problems
        return _refuse(place, found, problems) if sure else judge_present(place, found)
    if call is None or before is None or after is None:
        return judge_present(place, found)
    bound = (_is_bound(place, before), _is_bound(place, after))
    old, new = before[0].parameters or (), after[0].parameters or ()
    misfits = check_call(call, old, bound=bound[0])
    if misfits and is_named_by_decorator(before[0], call, misfits):
        misfits = ()
    is_theirs = place.unshared or not place.bound
    sure = any(one.certain for one in misfits) and place.certain and not place.guarded and is_theirs
    written = find_callee(comparer.pin, found.before)
    sure = sure and not is_reshaped(before[0]) and written is not None and written[0] == before[0]
    told = place.unshared or is_told_by_name(found.before)
    if misfits and not (sure and told and not is_rebound(place.target, patched)):
        return Verdict(state=State.UNDECIDED, consequence=Consequence.OK, why=(Why(Reason.NEVER_BOUND),))
    if misfits:
        late = not check_call(call, new, bound=bound[1])
        why = sum_up(Reason.CALL_TOO_NEW if late else Reason.CALL_NEVER, misfits, found.name.rpartition(".")[2])
        mixed = find_mixed(call, new, bound=bound[1]) if late else ()
        if mixed:
            places = listed([place for _, place in mixed], most=len(mixed))
            why = replace(why, reason=Reason.CALL_MIXED, names=tuple(name for name, _ in mixed), other=places)
        state = State.TOO_NEW if late and not mixed else State.NEVER_FITTED
        return Verdict(state=state, consequence=Consequence.LOOK, why=(why,))
    if (crossed := _judge_crossed(comparer, place, found, bound=bound)) is not None:
        return crossed
    if before[0].is_async != after[0].is_async:
        why = Why(Reason.MUST_AWAIT if after[0].is_async else Reason.CANNOT_AWAIT)
        doubt = place.guarded or not place.certain
        consequence = Consequence.MAY_BREAK if doubt else Consequence.WILL_BREAK
        return Verdict(state=State.SIGNATURE, consequence=consequence, why=(why,))
    problems = tell_renamed(check_call(call, new, bound=bound[1]), call, before[0], after[0])
    problems = problems or find_misplaced(comparer, found, call, bound=bound)
    if problems:
        return _refuse(place, found, problems)
    taken = judge_taken(comparer, place, call, found, is_ours=is_rebound(place.target, patched))
    return taken or judge_redefaulted(comparer, call, found, bound=bound[1]) or judge_present(place, found)


def _judge_crossed(comparer: Comparer, place: Place, found: Comparison, *, bound: tuple[bool, bool]) -> Verdict | None:
    """Of a call whose arguments land in other parameters at the pin already: what it does at the tip, where no others
    do there.
    """
    then, now = find_callee(comparer.pin, found.before), find_callee(comparer.tip, found.after)
    if place.call is None or then is None or now is None or place.guarded or not place.certain:
        return None
    crossed = find_crossed(comparer.pin, found.before, place.call, bound=bound[0])
    if crossed is None:
        return None
    late = find_ordered(now, place.call, crossed, bound=bound[1])
    known = {place.call.names.index(name) + 1 for name, _ in crossed.pairs}
    shifted = find_shifted(place.call, then[0].parameters or (), now[0].parameters or (), bound=bound)
    more = {one.why.counts[0] for one in shifted} - known
    if (more and not late) or check_call(place.call, now[0].parameters or (), bound=bound[1]):
        return None
    why = crossed.tell(Reason.CALL_CROSSED_LATE if late else Reason.CALL_CROSSED)
    state = State.TOO_NEW if late else State.NEVER_FITTED
    return Verdict(state=state, consequence=Consequence.LOOK, why=(why,))


def judge_at_home(comparer: Comparer, patched: Collection[str], place: Place) -> Verdict | None:
    """Of a call whose name is elsewhere now: whether it still does not fit once our import follows."""
    found = comparer.compare(place.target)
    if place.touch is not Touch.CALL or place.call is None or found.new_home is None or found.after.exists:
        return None
    there = replace(found, after=comparer.tip.resolve(found.new_home))
    verdict = judge_call(comparer, patched, place, there)
    if verdict.state is not State.NO_LONGER_BINDS:
        return None
    return replace(verdict, why=(Why(Reason.ONCE_MENDED, found.new_home), *verdict.why), new_target=found.new_home)


def _refuse(place: Place, found: Comparison, problems: Sequence[Problem]) -> Verdict:
    certain = any(problem.certain for problem in problems) and place.certain and not place.guarded
    why = sum_up(Reason.CALL_MISFITS, problems, found.name.rpartition(".")[2])
    if any(problem.argument in place.asked for problem in problems):
        return Verdict(state=State.NO_LONGER_BINDS, consequence=Consequence.OK, why=(why, Why(Reason.LOOKED_AT)))
    consequence = Consequence.WILL_BREAK if certain else Consequence.MAY_BREAK
    return Verdict(state=State.NO_LONGER_BINDS, consequence=consequence, why=(why,))


def judge_present(place: Place, found: Comparison) -> Verdict:
    """The name is still there; how much that matters depends on how deep we rely on it."""
    state = find_state(found.kind)
    if (place.tested or place.touch in {Touch.IMPORT, Touch.SUBCLASS}) and found.is_class_no_more:
        sure = (place.tested or place.touch is Touch.SUBCLASS) and not place.guarded
        consequence = Consequence.WILL_BREAK if sure else Consequence.MAY_BREAK
        return Verdict(state=State.SIGNATURE, consequence=consequence, why=(Why(Reason.CLASS_NO_MORE),))
    if found.kind is DriftKind.MOVED:
        old = Why(Reason.OLD_ADDRESS)
        return Verdict(state=state, consequence=Consequence.LOOK, why=(old,), new_target=found.new_home)
    if place.touch in _DEEP:
        why = found.why if state is State.SIGNATURE else ()
        return Verdict(state=state, consequence=Consequence.OK if state is State.OK else Consequence.LOOK, why=why)
    return Verdict(state=state, consequence=Consequence.OK)


def _is_bound(place: Place, callee: tuple[Definition, bool]) -> bool:
    """Whether the first parameter of what a call runs is given by Python."""
    definition, supplied = callee
    return supplied or (place.bound and "staticmethod" not in definition.decorators)
