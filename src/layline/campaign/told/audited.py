"""A foreign campaign folder against the rules, as an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.audit import RULES, CampaignFolder, Violation
from layline.core.evidence import Alert, Severity
from layline.core.prose import count
from layline.core.report import Bullets, Cell, Paragraph, Report, Section, Table
from layline.errors import ConfigError

if TYPE_CHECKING:
    from layline.campaign import answers


def check_is_campaign(found: CampaignFolder, folder: str) -> None:
    """A folder of campaigns is not one: every rule would seem broken."""
    inside = sorted(
        {path.split("/", 1)[0] for path in found.files if path.split("/")[1:2] in (["rounds"], ["manifest.yaml"])}
    )
    if inside and not found.rounds and "manifest.yaml" not in found.files:
        named = ", ".join(f"{folder.rstrip('/')}/{name}" for name in inside[:5])
        raise ConfigError(f"{folder} holds campaigns; it is not one itself.", hint=f"Name one: {named}.")


def build_report(folder: CampaignFolder, place: str, violations: tuple[Violation, ...]) -> Report:
    broken = [item for item in violations if item.severity is Severity.BREAKS]
    rows = tuple((item.severity.value, item.rule, item.message, Cell(item.place, code=True)) for item in violations)
    intro = (
        f"{count(len(folder.files), 'file')}, {count(len(folder.rounds), 'round folder')}, {len(RULES)} groups of rules.",
        f"{count(len(broken), 'violation')}; {count(len(violations) - len(broken), 'sign')} that a person should look at.",
        "History was read too."
        if folder.history
        else "History was not read: give --repo and --at to check append-only logs and commits.",
    )
    blocks = (
        (Bullets(intro), Table(columns=("severity", "rule", "violation", "evidence"), rows=rows))
        if rows
        else (Bullets(intro), Paragraph("No rule is broken."))
    )
    alerts = (
        (
            Alert(
                severity=Severity.BREAKS,
                message=f"{count(len(broken), 'violation')} of {count(len({item.rule for item in broken}), 'rule')} of the "
                "specification.",
            ),
        )
        if broken
        else ()
    )
    return Report(
        title=f"Audit of campaign {folder.name}",
        sections=(Section(title="Violations", blocks=blocks),),
        alerts=alerts,
        skipped=folder.skipped,
        meta=(("folder", place),),
    )


def encode_audit(folder: CampaignFolder, place: str, violations: tuple[Violation, ...]) -> answers.CampaignAudit:
    return {
        "schema": "layline.campaign-audit/1",
        "campaign": folder.name,
        "folder": place,
        "rounds": [item.number for item in folder.rounds],
        "violations": [
            {
                "rule": item.rule,
                "severity": item.severity.value,
                "message": item.message,
                "path": item.path,
                "line": item.line,
            }
            for item in violations
        ],
        "skipped": [str(item) for item in folder.skipped],
    }
