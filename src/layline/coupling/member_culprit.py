"""Since when upstream's class asks more of a class of ours that stands in its place."""

from __future__ import annotations

from collections.abc import Callable

from layline.core.why import Reason, Why
from layline.coupling.body_culprit import find_tracer
from layline.coupling.drift_model import Drift, Sides
from layline.source.slices import read_definition, read_signature

MEMBERS = frozenset({Reason.MEMBER_REFUSES, Reason.MEMBER_MISSING})


def find_member_change(row: Drift, sides: Sides) -> str | None:
    """The first commit since which a method is there, or has other parameters than at the pin."""
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    if place is None or before is None or before.definition is None:
        return None
    told = [one.why for one in row.findings if one.why.reason in MEMBERS]
    tracer, path = place
    order = {step.commit: number for number, step in enumerate(tracer.timeline.steps)}
    found = [
        tracer.find_first_text(path, _asks(tracer.read_base(path), f"{before.definition.qualname}.{why.name}", why))
        for why in told
    ]
    return min((one for one in found if one is not None), key=lambda one: order.get(one, len(order)), default=None)


def _asks(base: str, qualname: str, why: Why) -> Callable[[str], bool]:
    then = read_signature(base, qualname)

    def asks(text: str) -> bool:
        if why.reason is Reason.MEMBER_MISSING:
            return read_definition(text, qualname) is not None
        now = read_signature(text, qualname)
        return now is None or then is None or now.parameters != then.parameters

    return asks
