"""`patches drift` as an answer: of one backend against a baseline, or of all that can be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from layline.core.evidence import Severity, Skipped, encode_skipped
from layline.core.listing import join_listings
from layline.core.report import Answer, Report, Section, Subject
from layline.errors import Error
from layline.history.commits import read_commit, read_commits
from layline.patches.drift.baseline import Accepted, find_stale, parse_baseline, split_accepted
from layline.patches.drift.kinds import name_kinds
from layline.patches.drift.lines import build_drift_listing
from layline.patches.drift.report import DriftReport, build_findings, build_report, encode_drift
from layline.patches.wanted import ALL

if TYPE_CHECKING:
    from layline.patches import answers
    from layline.patches.drift.ask import Asked, DriftOptions
    from layline.patches.drift.kept import KeptDrift

FAIL_ON = {"breaks": (Severity.BREAKS,), "look": (Severity.BREAKS, Severity.LOOK), "none": ()}
_HINT = "A baseline is a TOML file with an [[accepted]] table for each finding: id, reason, until."
_ORDER = (Severity.BREAKS, Severity.LOOK, Severity.OK)


def read_baseline(file: Path | None) -> tuple[Accepted, ...]:
    if file is None:
        return ()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(
            f"The baseline {file} cannot be read: {getattr(error, 'strerror', None) or error}.", hint=_HINT
        ) from None
    return parse_baseline(text, where=str(file))


def build_drift_answer(asked: Asked, found: KeptDrift, options: DriftOptions, baseline: tuple[Accepted, ...]) -> Answer:
    """What is left of the rows after filters and the baseline, and whether that needs a person."""
    workspace, backend = asked.workspace, asked.backend
    drift = _narrow(asked, found, options, baseline)
    is_whole = options.wanted.is_open
    severities = {*(row.severity for row in drift.rows), *(item.severity for item in drift.elsewhere)}
    needs = bool(drift.rows) if options.dead else bool(severities & set(FAIL_ON[options.fail_on]))
    culprits = {one.culprit for one in drift.elsewhere if one.culprit}
    culprits |= {commit for one in drift.elsewhere for _, commit in one.causes}
    return Answer(
        report=build_report(drift),
        data=encode_drift(drift),
        needs_person=needs,
        findings=build_findings(drift),
        listing=build_drift_listing(
            drift,
            whole=None if is_whole else _narrow(asked, found, replace(options, wanted=ALL), baseline),
            commits={one.hash: one for one in read_commits(asked.upstream, culprits)},
            # who asks for a target wants to read of it, also where it still fits
            notes=Severity.OK in options.wanted.severities or options.wanted.target is not None,
            dead=options.dead,
            wanted=options.wanted,
        ),
        subject=Subject(repo=workspace.downstream.name, commit=workspace.commit, question=f"patches-drift/{backend}"),
    )


def _narrow(asked: Asked, found: KeptDrift, options: DriftOptions, baseline: tuple[Accepted, ...]) -> DriftReport:
    rows = tuple(row for row in found.rows if options.wanted.keeps_row(row, name_kinds(row)))
    places = tuple(item for item in found.elsewhere if options.wanted.keeps_elsewhere(item))
    counted, accepted = split_accepted(rows, baseline, options.today)
    elsewhere, elsewhere_accepted = split_accepted(places, baseline, options.today)
    used = (item for _, item in (*accepted, *elsewhere_accepted))
    return DriftReport(
        backend=asked.backend,
        label=asked.workspace.label(asked.backend),
        downstream=asked.workspace.here,
        pin=read_commit(asked.upstream, found.pin),
        tip=read_commit(asked.upstream, found.tip),
        rows=counted,
        to=options.to or "",
        since=options.since or "",
        accepted=accepted,
        stale=find_stale(baseline, used),
        skipped=found.skipped,
        listed=found.listed,
        uncompared=found.count_uncompared(rows),
        culprits=options.culprits,
        elsewhere=elsewhere,
        elsewhere_accepted=elsewhere_accepted,
        loaders=found.loaders,
    )


def join_drifts(found: Sequence[Answer], skipped: Sequence[Skipped]) -> Answer:
    """One answer for all backends; those that could not be looked at are named."""
    title = "Drift of all backends"
    report = Report(
        title=title,
        meta=found[0].report.meta[:1],
        sections=tuple(Section(title=one.report.title, sections=one.report.sections) for one in found),
        alerts=tuple(dict.fromkeys(alert for one in found for alert in one.report.alerts)),
        skipped=tuple(dict.fromkeys((*skipped, *(item for one in found for item in one.report.skipped)))),
    )
    findings = [finding for one in found for finding in one.findings]
    data: answers.AllDrift = {
        "schema": "layline.drift/1",
        "backends": [cast("answers.Drift", one.data) for one in found],
        "skipped": encode_skipped(skipped),
    }
    return Answer(
        report=report,
        data=data,
        listing=join_listings(title, [one.listing for one in found if one.listing is not None], list(skipped)),
        needs_person=any(one.needs_person for one in found),
        findings=tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.severity))),
        subject=replace(subject, question="patches-drift/all") if (subject := found[0].subject) is not None else None,
    )
