"""Whether upstream's own calls pass what our replacement refuses."""

from __future__ import annotations

from collections.abc import Iterator

from layline.core.drift import Fate
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.fit import Refused
from layline.coupling.question import Question
from layline.coupling.today import tell_today


def judge_calls(question: Question) -> Iterator[Finding]:
    """What calls that surely reach us pass and ours does not take: today already, or only at the tip."""
    if not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    then, now = (question.fitter.find_refused(question.comparison, question.ours, side) for side in (0, 1))
    if then:
        yield Finding(severity=Severity.LOOK, why=_sum_up(then, Reason.MISFITS_TODAY))
    told = question.fit.why if question.fit else ()
    new = {name: one for name, one in now.items() if name not in then and not _is_told(one, told)}
    if new:
        yield Finding(severity=Severity.BREAKS, why=_sum_up(new, Reason.MISFITS_PASSED))


def judge_own_imports(question: Question) -> Iterator[Finding]:
    """A replacement that imports what the pin does not have fails today, wherever it is put."""
    if question.ours is None or not question.is_decided:
        return
    missing = tuple(dict.fromkeys(question.sides.reader.find_missing(question.ours)))
    if missing:
        yield tell_today(missing)


def _is_told(one: Refused, told: tuple[Why, ...]) -> bool:
    """The same reason; or calls that pass too many values, of which the one that is refused was named."""
    if one.problem.why.reason is Reason.TOO_MANY:
        return {place for why in told for place in why.places}.issuperset(one.places)
    return one.problem.why in {part for why in told for part in why.parts}


def _sum_up(refused: dict[str, Refused], reason: Reason) -> Why:
    places = dict.fromkeys(place for one in refused.values() for place in one.places)
    return Why(reason, parts=tuple(one.problem.why for one in refused.values()), places=tuple(places))
