"""What a proposer is told before the next round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline import codec
from layline.campaign.proposers import Brief, Direction, build_brief
from layline.campaign.session.lessons import read_lessons
from layline.campaign.trusted import TrustedBench
from layline.core.report import Bullets, Code, Paragraph, Report, Section

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.campaign import answers
    from layline.campaign.rounds import Campaign


ANSWER = (
    "Edit the allowed files in this folder and write proposal.json beside this brief; anything else you leave "
    "is dropped."
)
EXAMPLE = (
    '{"hypothesis": "…", "change": "…", "bucket": "K1", "expect": "+4 %", "diagnosis": "why the last round failed"}'
)


def brief_campaign(campaign: Campaign) -> Brief:
    """The brief for the next round of an open campaign."""
    operator = campaign.bench.operator if isinstance(campaign.bench, TrustedBench) else None
    return build_brief(campaign.state, read_lessons(campaign), operator)


def encode_brief(brief: Brief) -> answers.Brief:
    plain = codec.encode(brief)
    return {
        "schema": "layline.brief/1",
        "campaign": brief.campaign,
        "operator": brief.operator,
        "language": brief.language,
        "hardware": brief.hardware,
        "metric": brief.metric,
        "allowed_files": list(brief.allowed_files),
        "best_round": brief.best_round,
        "effective": plain["effective"],
        "ineffective": plain["ineffective"],
        "inconclusive": plain["inconclusive"],
        "slowest": plain["slowest"],
        "lessons": list(brief.lessons),
        "demanded": list(brief.demanded),
        "time_limit_s": brief.time_limit_s,
        "kernel": dict(brief.kernel),
        "diff": brief.diff,
        "bounds": plain["bounds"],
        "bottleneck": plain["bottleneck"],
        "escalation": brief.escalation,
    }


def describe_brief(brief: Brief, render: Callable[[Report], str]) -> dict[str, str]:
    """The brief as the files a program finds in its folder."""
    answer = render(build_report(brief, is_for_program=True))
    return {"brief.md": answer, "brief.json": codec.to_json(encode_brief(brief))}


def build_report(brief: Brief, *, is_for_program: bool = False) -> Report:
    facts = (
        f"Make {brief.operator} ({brief.language}, {brief.hardware}) faster: {brief.metric}.",
        f"You may change {', '.join(brief.allowed_files)} and nothing else; the best is round {brief.best_round}.",
        "One hypothesis, one change. State the bucket (K1–K4, or W1 with its bound) and what you expect.",
    )
    sections = [
        Section(title="Task", blocks=(Bullets(facts),)),
        _list("Required before the next round", (*((brief.escalation,) if brief.escalation else ()), *brief.demanded)),
        _list("What helped", tuple(map(_say, brief.effective))),
        _list("What did not help", tuple(map(_say, brief.ineffective))),
        _list("What could not be decided", tuple(map(_say, brief.inconclusive))),
        _list(
            "Where the time goes (best kernel)",
            tuple(f"{item.shape}: {item.milliseconds:.4f} ms" for item in brief.slowest),
        ),
        _build_bottleneck(brief),
        _list("Lessons", brief.lessons),
    ]
    if is_for_program:
        sections.insert(1, Section(title="Answer", blocks=(Paragraph(ANSWER), Code(EXAMPLE, "json"))))
    return Report(title=f"Brief for campaign {brief.campaign}", sections=tuple(sections))


def _build_bottleneck(brief: Brief) -> Section:
    """The classification with its evidence, then shape by shape; what the machine could not tell is said."""
    found = brief.bottleneck
    shapes = tuple(f"{item.shape} ({item.kind}): {item.rate:.1f} GFLOP/s; {item.reading}" for item in brief.bounds)
    if found is None:
        return _list("What holds it back", shapes)
    lines = (
        f"bound by: {found.kind}",
        *found.evidence,
        f"what usually helps: {found.direction}",
        *(f"not known: {said}" for said in found.missing),
    )
    return Section(
        title="What holds it back",
        blocks=(Bullets(lines), Bullets(shapes) if shapes else Paragraph("No shape was measured.")),
    )


def _list(title: str, items: tuple[str, ...]) -> Section:
    return Section(title=title, blocks=(Bullets(items) if items else Paragraph("Nothing."),))


def _say(item: Direction) -> str:
    gain = f" ({item.gain:+.1%})" if item.gain is not None else ""
    return f"round {item.round}, {item.change}{gain}: {item.reason}"
