"""`campaign run`: the loop by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.app.campaign import campaign_baseline, campaign_resume, campaign_round, campaign_stop
from layline.campaign.loop.unattended import Limits, Loop, Steps, run_unattended
from layline.campaign.session.places import clock, quiet
from layline.campaign.told.brief import describe_brief
from layline.core.report import Answer
from layline.render.markdown import render_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = Steps(
    baseline=campaign_baseline,
    round=campaign_round,
    resume=campaign_resume,
    stop=campaign_stop,
    describe=lambda brief: describe_brief(brief, render_markdown),
)


def campaign_run(
    proposer: str,
    chosen: str | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008  frozen
    passed: tuple[str, ...] = (),
    executor: str | None = None,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
) -> Answer:
    """Propose, validate, accept or roll back, until the target, the limits or the proposer's ideas are reached."""
    return run_unattended(Loop(STEPS, chosen, limits, now, progress), proposer, passed, executor)
