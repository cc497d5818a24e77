"""Since when upstream's class asks more of a class of ours that stands in its place."""

from __future__ import annotations

from collections.abc import Callable

from layline.change.file_trace import Version
from layline.core.why import Reason, Why
from layline.coupling.body_culprit import find_tracer
from layline.coupling.drift_model import Drift, Sides
from layline.source.slices import read_definition

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
        tracer.find_first_version(path, _asks(tracer.find_base(path), f"{before.definition.qualname}.{why.name}", why))
        for why in told
    ]
    return min((one for one in found if one is not None), key=lambda one: order.get(one, len(order)), default=None)


def _asks(base: Version, qualname: str, why: Why) -> Callable[[Version], bool]:
    then = base.read_signature(qualname)

    def asks(version: Version) -> bool:
        if why.reason is Reason.MEMBER_MISSING:
            return read_definition(version.text, qualname) is not None
        now = version.read_signature(qualname)
        return now is None or then is None or now.parameters != then.parameters

    return asks
