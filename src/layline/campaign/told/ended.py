"""What `campaign verify`, `log` and `accept` answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layline.core.evidence import Alert, Severity
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from layline.campaign import answers
    from layline.campaign.rounds import Campaign


def build_verified(campaign: Campaign, found: tuple[str, ...]) -> Answer:
    """Where the folder, the commits or the verdicts are not what the ledger says."""
    entries = campaign.ledger.read().entries
    said = f"{len(entries)} ledger entries form one chain; head {campaign.state.head}."
    blocks = (
        (Paragraph(said), Bullets(found))
        if found
        else (Paragraph(said), Paragraph("Everything is as the ledger says."))
    )
    report = Report(
        title=f"Campaign {campaign.state.manifest.name}: verification",
        sections=(Section(title="", blocks=blocks),),
        alerts=tuple(Alert(severity=Severity.LOOK, message=item) for item in found),
    )
    data: answers.CampaignVerify = {
        "schema": "layline.campaign-verify/1",
        "entries": len(entries),
        "head": campaign.state.head,
        "deviations": list(found),
    }
    return Answer(report=report, data=data, needs_person=bool(found))


def build_log(campaign: Campaign) -> Answer:
    """Everything that happened, entry by entry."""
    entries = [entry for entry in campaign.ledger.read().entries if entry.kind != "content"]
    rows = tuple(
        (str(entry.n), entry.at, entry.kind, str(entry.data.get("round", "")), _gist(entry.data), entry.hash[:12])
        for entry in entries
    )
    table = Table(columns=("n", "time", "what", "round", "gist", "hash"), rows=rows, numeric=frozenset({0, 3}))
    data: answers.Log = {
        "schema": "layline.campaign-log/1",
        "entries": [
            {
                "n": entry.n,
                "at": entry.at,
                "kind": entry.kind,
                "round": entry.data.get("round"),
                "gist": _gist(entry.data),
                "hash": entry.hash,
            }
            for entry in entries
        ],
    }
    return Answer(
        report=Report(
            title=f"Campaign {campaign.state.manifest.name}: log", sections=(Section(title="", blocks=(table,)),)
        ),
        data=data,
    )


def _gist(data: dict[str, Any]) -> str:
    for key in ("change", "settled", "text", "reason", "branch"):
        if data.get(key):
            return str(data[key])
    if "verdict" in data:
        return f"{data['verdict']['outcome']}: {data['verdict']['reason']}"
    return str(data["measurement"]["status"]) if "measurement" in data else ""


def build_accepted(campaign: Campaign, problems: list[str], command: str | None, accepted: Mapping[str, str]) -> Answer:
    """Whether the project takes the kernel, and what stands in the way."""
    told = "; ".join(accepted[key] for key in ("suite", "benchmark") if key in accepted)
    said = f"Accepted at {campaign.tree.head()}: {told}."
    blocks = (Bullets(tuple(problems)),) if problems else (Paragraph(said),)
    title = f"Campaign {campaign.state.manifest.name}: {'not accepted' if problems else 'accepted'}"
    data: answers.Accept = {
        "schema": "layline.campaign-accept/1",
        "accepted": not problems,
        "problems": problems,
        "suite": command,
    }
    report = Report(title=title, sections=(Section(title="", blocks=blocks),))
    return Answer(report=report, data=data, needs_person=bool(problems))
