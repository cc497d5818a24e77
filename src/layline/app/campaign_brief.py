"""`layline campaign brief`: what a proposer is told before the next round."""

from __future__ import annotations

from layline import codec
from layline.app.campaign_open import read_campaign
from layline.app.lessons import read_lessons
from layline.campaign.proposers import Brief, Direction, build_brief
from layline.core.report import Answer, Bullets, Paragraph, Report, Section


def campaign_brief(chosen: str | None = None) -> Answer:
    """The best kernel and its history, without seeds, measurements or the ledger."""
    campaign = read_campaign(chosen)
    brief = build_brief(campaign.state, read_lessons(campaign))
    kernel = {
        file.path: file.data.decode("utf-8", "replace")
        for file in campaign.state.kernel(campaign.state.best.kernel).files
    }
    return Answer(
        report=_build_report(brief), data={"schema": "layline.brief/1", **codec.encode(brief), "kernel": kernel}
    )


def _build_report(brief: Brief) -> Report:
    facts = (
        f"Make {brief.operator} ({brief.language}, {brief.hardware}) faster: {brief.metric}.",
        f"You may change {', '.join(brief.allowed_files)} and nothing else; the best is round {brief.best_round}.",
        "One hypothesis, one change. State the bucket (K1–K4, or W1 with its bound) and what you expect.",
    )
    sections = [
        Section(title="Task", blocks=(Bullets(facts),)),
        _list("Demanded before the next round", brief.demanded),
        _list("What helped", tuple(map(_say, brief.effective))),
        _list("What did not help", tuple(map(_say, brief.ineffective))),
        _list("What could not be decided", tuple(map(_say, brief.inconclusive))),
        _list(
            "Where the time goes (best kernel)",
            tuple(f"{item.shape}: {item.milliseconds:.4f} ms" for item in brief.slowest),
        ),
        _list("Lessons", brief.lessons),
    ]
    return Report(title=f"Brief for campaign {brief.campaign}", sections=tuple(sections))


def _list(title: str, items: tuple[str, ...]) -> Section:
    return Section(title=title, blocks=(Bullets(items) if items else Paragraph("Nothing."),))


def _say(item: Direction) -> str:
    gain = f" ({item.gain:+.1%})" if item.gain is not None else ""
    return f"round {item.round}, {item.change}{gain}: {item.reason}"
