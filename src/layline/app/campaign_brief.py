"""`layline campaign brief`: what a proposer is told before the next round."""

from __future__ import annotations

from layline.campaign.loop.analyze import campaign_analyze
from layline.campaign.session.open import read_campaign
from layline.campaign.told.brief import brief_campaign, build_report, encode_brief
from layline.core.report import Answer


def campaign_brief(chosen: str | None = None, *, measures: bool = False) -> Answer:
    """The best kernel and its history, without seeds, measurements or the ledger."""
    if measures:
        campaign_analyze(chosen)
    brief = brief_campaign(read_campaign(chosen))
    return Answer(report=build_report(brief), data=encode_brief(brief))
