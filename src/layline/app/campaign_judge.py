"""`campaign check-operator` and `campaign judge`: an operator of the user's own, and one verdict without a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.check_operator import check_operator, refuse_unfit
from layline.campaign.check_start import find_fault
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators.find import find_operator
from layline.campaign.session.places import quiet
from layline.campaign.told.judged import (
    ALPHA,
    Asked,
    build_checked,
    build_judged,
    choose_shapes,
    read_base,
    read_kernel,
)
from layline.campaign.trusted import choose_plan
from layline.campaign.values.judge import judge
from layline.core.report import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWERS = frozenset({"correct", "finite", "hard-inputs", "held-out-shape", "snr", "writes-every-output"})
"""Properties of what a kernel answers: the one it is compared with may be as wrong."""


def campaign_check_operator(name: str, *, progress: Callable[[str], None] = quiet) -> Answer:
    """Say what is wrong with an operator before any kernel is judged by it."""
    found = find_operator(name)
    findings = check_operator(found.operator, found.file, progress=progress)
    return build_checked(name, found.operator, findings)


def campaign_judge(
    candidate: Path,
    against: str,
    operator: str,
    *,
    shapes: tuple[str, ...] = (),
    progress: Callable[[str], None] = quiet,
) -> Answer:
    """Hold one kernel against another: all gates, paired measuring, one answer with its interval; nothing is
    written.
    """
    named = find_operator(operator)
    found = named.operator
    progress("checking the operator")
    refuse_unfit(operator, found, named.file)
    base = read_base(found, against)
    measurement = measure_pair(
        Request(
            operator=found,
            shapes=choose_shapes(found, shapes),
            best=wrap(found, base),
            candidate=wrap(found, read_kernel(candidate)),
            plan=choose_plan(found, ALPHA, 0.01),
        ),
        progress=progress,
    )
    asked = Asked(candidate=candidate, against=against, operator=operator, shapes=shapes)
    is_wrong = any(one.property in ANSWERS for one in measurement.failed_gates)
    fault = find_fault(found, base) if is_wrong else None
    return build_judged(asked, measurement, judge(measurement), str(fault) if fault else "")
