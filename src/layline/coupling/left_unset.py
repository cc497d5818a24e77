"""Attributes that the original sets on its object, ours does not, and another method of the class cannot do without."""

from __future__ import annotations

from collections.abc import Iterator

from layline.core.drift import Fate
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.patch import Style
from layline.core.why import Reason, Why
from layline.coupling.needed import FUNCTIONS, Own, find_needed
from layline.coupling.question import Question
from layline.coupling.today import tell_today


def judge_left_unset(question: Question) -> Iterator[Finding]:
    """What the original always sets, nobody else does, and a method that we leave alone asserts or uses unasked: ours
    lacks it today already, or since the tip's original sets it.
    """
    ours = question.ours
    if ours is None or ours.tree is None or not isinstance(ours.node, FUNCTIONS) or not question.is_decided:
        return
    if question.effect.style is not Style.BINDING_REPLACEMENT:
        return
    mine = Own(ours.tree, ours.node)
    sides = (question.sides.pin, question.comparison.before), (question.sides.tip, question.comparison.after)
    stays = question.kind.facts.fate is Fate.STAYS
    then, now = (
        dict(find_needed(side, symbol, mine.sets, mine.calls, question.sides.targets))
        if symbol is not None and mine.is_closed
        else {}
        for side, symbol in (sides[0], (sides[1][0], sides[1][1] if stays else None))
    )
    if then:
        yield tell_today(
            tuple(
                Why(Reason.LEAVES_UNSET_STILL if word in now else Reason.LEAVES_UNSET, f"self.{word}", reader)
                for word, reader in then.items()
            )
        )
    new = tuple(Why(Reason.LEAVES_UNSET, f"self.{word}", reader) for word, reader in now.items() if word not in then)
    if new:
        yield Finding(severity=Severity.BREAKS, why=Why(Reason.MISREADS, parts=new))
