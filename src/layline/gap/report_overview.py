"""The high-level part of the detailed report: both sides, distance, churn, footprint, recommendation, plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.prose import count, listed, share
from layline.core.report import Bullets, Cell, Paragraph, Section, Table
from layline.gap import statements
from layline.gap.breaks import find_places
from layline.gap.cells import commit_cell, evidence_cell
from layline.gap.churn import CODE
from layline.git import DIFF_RULE

if TYPE_CHECKING:
    from layline.core.report import Inline
    from layline.gap.model import Gap, Side

DATE_RULE = "Dates are committer dates in the committer's own time zone."


def build_overview(gap: Gap) -> Section:
    blocks = (
        Paragraph(
            f"{statements.distance_sentence(gap)} {statements.version_sentence(gap)} {statements.churn_sentence(gap)}"
        ),
        _sides(gap),
        _figures(gap),
    )
    inner = [_churn(gap), _footprint(gap), build_recommendation(gap)]
    if gap.plan:
        inner.append(_plan(gap))
    return Section(title="High-level comparison", blocks=blocks, sections=tuple(inner))


def _sides(gap: Gap) -> Table:
    def row(name: str, pin: Inline, tip: Inline) -> tuple[Inline, ...]:
        return name, pin, tip

    return Table(
        columns=("", "pin", f"tip ({gap.ref})"),
        rows=(
            row(
                "commit", commit_cell(gap.upstream, gap.pin.commit.hash), commit_cell(gap.upstream, gap.tip.commit.hash)
            ),
            row("date", gap.pin.commit.date, gap.tip.commit.date),
            row("subject", gap.pin.commit.subject, gap.tip.commit.subject),
            row("declared version", _version(gap.pin), _version(gap.tip)),
            row("nearest tag", _tag(gap.pin), _tag(gap.tip)),
        ),
        caption=DATE_RULE,
    )


def _figures(gap: Gap) -> Table:
    lines = gap.diff.insertions + gap.diff.deletions
    code = sum(churn.lines for churn in gap.churn if churn.name == CODE)
    rows: tuple[tuple[Inline, ...], ...] = (
        ("commits behind", str(gap.distance.behind), f"recommendation: {gap.recommendation}"),
        ("commits ahead", str(gap.distance.ahead), "private commits to carry over" if gap.distance.ahead else "none"),
        ("relation", gap.distance.relation.value, _relation_impact(gap)),
        ("merge base", commit_cell(gap.upstream, gap.distance.merge_base) if gap.distance.merge_base else "none", ""),
        ("days between pin and tip", str(gap.age_days), ""),
        ("tags in between", statements.tags_phrase(gap), "releases are good stopping points" if gap.releases else ""),
        ("files that differ", str(len(gap.diff.files)), f"{len(_ours(gap))} of them hold what we use"),
        ("lines", f"+{gap.diff.insertions} −{gap.diff.deletions}", f"{share(code, lines)} code" if lines else ""),
        (
            "places of ours that break",
            _breaks(gap),
            f"in {len(_broken_files(gap))} files of ours" if gap.surface else "",
        ),
    )
    return Table(columns=("figure", "value", "impact"), rows=rows, caption=f"Diff: {DIFF_RULE}.")


def _relation_impact(gap: Gap) -> str:
    return (
        "the pin can move forward without a merge" if gap.distance.ahead == 0 else "the pin cannot simply move forward"
    )


def _ours(gap: Gap) -> set[str]:
    """Changed upstream files that hold a name we use or patch."""
    used = {one.pin_evidence.path for one in gap.couplings if one.pin_evidence and one.pin_evidence.path}
    used |= {item.path for row in gap.patches or () for item in row.evidence if item.path}
    return used & {change.old_path or change.path for change in gap.diff.files}


def _breaks(gap: Gap) -> str:
    return "not measured" if gap.surface is None else str(len(find_places(gap)))


def _broken_files(gap: Gap) -> set[str]:
    return {place.rpartition(":")[0] for place in find_places(gap)}


def _churn(gap: Gap) -> Section:
    lines = gap.diff.insertions + gap.diff.deletions
    rows = tuple(
        (churn.name, str(churn.files), f"+{churn.insertions}", f"−{churn.deletions}", share(churn.lines, lines))
        for churn in gap.churn
        if churn.files
    )
    table = Table(
        columns=("class", "files", "added", "deleted", "share of lines"), rows=rows, numeric=frozenset({1, 2, 3, 4})
    )
    return Section(title="What kind of lines changed", blocks=(table,) if rows else (Paragraph("Nothing changed."),))


def _footprint(gap: Gap) -> Section:
    foot = gap.footprint
    if not foot.folders:
        return Section(
            title="Integration footprint", blocks=(Paragraph("No integration folder is configured for this backend."),)
        )
    rows = (
        ("tracked files", str(foot.tracked)),
        ("non-empty files", str(foot.non_empty)),
        ("Python files", str(foot.python)),
    )
    where = f"Below {listed(list(foot.folders), most=6)} at {gap.downstream_commit.hash[:12]} of {gap.project}."
    outside = statements.outside_sentence(gap)
    where += f" {outside}" if outside else ""
    return Section(
        title="Integration footprint",
        blocks=(Paragraph(where), Table(columns=("figure", "files"), rows=rows, numeric=frozenset({1}))),
    )


def build_recommendation(gap: Gap) -> Section:
    """The label, the rule that fired, and every input."""
    inputs = gap.recommendation.inputs
    rows = (
        ("commits behind", str(inputs.behind)),
        ("days between pin and tip", str(inputs.age_days)),
        ("places that will break", "not measured" if gap.surface is None else str(inputs.will_break)),
        ("run-time floors that went up", inputs.dependency_floor or "none"),
    )
    text = f"{gap.recommendation}: {gap.recommendation.rule}."
    return Section(
        title="Recommendation",
        blocks=(Paragraph(text[:1].upper() + text[1:]), Table(columns=("input", "value"), rows=rows)),
    )


def _plan(gap: Gap) -> Section:
    items: list[Inline] = []
    for step in gap.plan:
        text: list[str | Cell] = [
            "Upgrade to ",
            commit_cell(gap.upstream, step.commit),
            f" ({step.date}, {count(step.behind, 'commit')} after the pin): {step.reason}.",
        ]
        if step.breaks_next:
            text.append(f" Then fix: {listed(list(step.breaks_next), most=4)}.")
        items.append(tuple(text))
    intro = Paragraph(statements.plan_sentence(gap))
    return Section(title="Upgrade plan", blocks=(intro, Bullets(tuple(items), ordered=True)))


def _version(side: Side) -> Inline:
    if side.version is None:
        return "none declared"
    place = evidence_cell(side.version.evidence)
    return (f"{side.version.text}, in ", place if isinstance(place, Cell) else Cell(str(place)))


def _tag(side: Side) -> str:
    if side.tag is None:
        return "none"
    name, distance = side.tag
    return name if distance == 0 else f"{name}, {count(distance, 'commit')} before"
