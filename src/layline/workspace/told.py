"""One more thing that an answer says of itself: a line for people and a field for programs."""

from __future__ import annotations

from dataclasses import replace

from layline.core.evidence import Alert, Severity
from layline.core.report import Answer


def add_alert(answer: Answer, field: str, value: object, message: str) -> Answer:
    alert = Alert(severity=Severity.LOOK, message=message)
    report = replace(answer.report, alerts=(alert, *answer.report.alerts))
    listing = answer.listing
    if listing is not None:
        listing = replace(listing, alerts=(alert, *listing.alerts))
    return replace(answer, report=report, listing=listing, data={**answer.data, field: value})
