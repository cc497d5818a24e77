"""`patches drift --all`: one answer for every backend that can be looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.app.patches_drift import DriftOptions, patches_drift
from layline.core.evidence import Severity, Skipped, encode_skipped
from layline.core.listing import join_listings
from layline.core.progress import Progress, silent
from layline.core.report import Answer, Report, Section
from layline.errors import ConfigError, Error

if TYPE_CHECKING:
    from layline.workspace.open import Workspace

_ORDER = (Severity.BREAKS, Severity.LOOK, Severity.OK)


def patches_drift_all(workspace: Workspace, options: DriftOptions, *, progress: Progress = silent) -> Answer:
    """The drift of every backend; one whose pin or objects are not there is skipped, and the answer says so."""
    answers: dict[str, Answer] = {}
    skipped: list[Skipped] = []
    reasons: list[Error] = []
    for key in workspace.settings.backends:
        try:
            answers[key] = patches_drift(workspace, key, options, progress=progress)
        except Error as error:
            skipped.append(Skipped(f"backend {key}", error.message))
            reasons.append(error)
    if not answers:
        raise reasons[0] if reasons else ConfigError("No backend is configured.", hint="`layline init` looks for them.")
    return _join(list(answers.values()), skipped)


def _join(answers: list[Answer], skipped: list[Skipped]) -> Answer:
    report = Report(
        title="Drift of all backends",
        meta=answers[0].report.meta[:1],
        sections=tuple(Section(title=one.report.title, sections=one.report.sections) for one in answers),
        alerts=tuple(dict.fromkeys(alert for one in answers for alert in one.report.alerts)),
        skipped=tuple(dict.fromkeys((*skipped, *(item for one in answers for item in one.report.skipped)))),
    )
    findings = [finding for one in answers for finding in one.findings]
    data = {
        "schema": "layline.drift/1",
        "backends": [dict(one.data) for one in answers],
        "skipped": encode_skipped(skipped),
    }
    return Answer(
        report=report,
        data=data,
        listing=join_listings(
            "Drift of all backends", [one.listing for one in answers if one.listing is not None], skipped
        ),
        needs_person=any(one.needs_person for one in answers),
        findings=tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.severity))),
        subject=replace(subject, question="patches-drift/all") if (subject := answers[0].subject) is not None else None,
    )
