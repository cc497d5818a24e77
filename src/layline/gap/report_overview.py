"""The high-level part of the detailed report: both sides with what each figure means for us, and the upgrade plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.prose import count, listed, share, verb
from layline.core.report import Bullets, Cell, Paragraph, Section, Table
from layline.gap import statements
from layline.gap.breaks import count_touched, find_places
from layline.gap.cells import change_cell, commit_cell, evidence_cell
from layline.gap.overview import find_fixes
from layline.gap.plan import find_stops, say_asks, say_breaks, weigh
from layline.gap.short import say_after
from layline.git import DIFF_RULE
from layline.history.tags import is_final

if TYPE_CHECKING:
    from layline.core.report import Inline
    from layline.gap.model import Gap, PlanStep, Side

DATE_RULE = "Dates are committer dates in the committer's own time zone."
MOST_STEPS = 9


def build_overview(gap: Gap) -> Section:
    inner = [_plan(gap)] if gap.plan else []
    return Section(title="High-level comparison", blocks=(_figures(gap),), sections=tuple(inner))


def build_folded_overview(gap: Gap) -> list[Section]:
    """What stands behind the figures: churn by class, and the stops that the plan leaves out."""
    lines = gap.diff.insertions + gap.diff.deletions
    rows = tuple(
        (churn.name, str(churn.files), f"+{churn.insertions}", f"−{churn.deletions}", share(churn.lines, lines))
        for churn in gap.churn
        if churn.files
    )
    columns = ("class", "files", "added", "deleted", "share of lines")
    table = Table(
        columns=columns, rows=rows, numeric=frozenset({1, 2, 3, 4}), caption=f"Diff: {DIFF_RULE}. {DATE_RULE}"
    )
    found = [Section(title="What kind of lines changed", blocks=(table,), folded=True)] if rows else []
    if len(gap.plan) > MOST_STEPS:
        steps = Bullets(_steps(gap, list(range(len(gap.plan)))))
        title = f"Upgrade plan: all {len(find_stops(gap.plan))} stops between pin and tip"
        found.append(Section(title=title, blocks=(steps,), folded=True))
    return found


def _figures(gap: Gap) -> Table:
    lines = gap.diff.insertions + gap.diff.deletions
    rows: tuple[tuple[Inline, ...], ...] = (
        (
            "commit",
            commit_cell(gap.upstream, gap.pin.commit.hash),
            commit_cell(gap.upstream, gap.tip.commit.hash),
            f"{count(gap.distance.behind, 'commit')} behind, {gap.distance.ahead or 'none'} ahead; {_relation(gap)}",
        ),
        ("date", gap.pin.commit.date, gap.tip.commit.date, f"{count(gap.age_days, 'day')} apart"),
        ("declared version", _version(gap.pin), _version(gap.tip), _version_impact(gap)),
        ("nearest tag", _tag(gap.pin), _tag(gap.tip), statements.tags_phrase(gap)),
        (
            "diff",
            count(len(gap.diff.files), "file"),
            f"+{gap.diff.insertions} −{gap.diff.deletions} lines",
            f"{statements.churn_phrase(gap)}; {_say_ours(gap)}" if lines else "",
        ),
        ("our places that use it", str(count_touched(gap)), _say_breaks(gap), _work(gap)),
    )
    return Table(columns=("", "pin", f"tip ({gap.ref})", "impact"), rows=rows)


def _relation(gap: Gap) -> str:
    if gap.distance.ahead == 0:
        return "the pin can move forward without a merge"
    own, tag = f"{count(gap.distance.ahead, 'commit')} of", gap.pin.tag
    off = f"{verb(gap.distance.ahead, 'is')} not on {gap.ref}"
    if tag is not None and tag[1] == 0:
        return f"the pin is the release {tag[0]}: {own} its branch {off}"
    return f"{own} the pin {off}: they are on another upstream branch, or are your own to carry over"


def _version_impact(gap: Gap) -> str:
    was, now = gap.pin.version, gap.tip.version
    if was is None or now is None:
        return "no version on both sides"
    if was.text == now.text:
        return "the declared version did not change"
    step = f"{step}; " if (step := statements.major_step(gap)) else ""
    named = any(is_final(name) for name, _ in gap.releases)
    return f"{step}{'releases are good stopping points' if named else 'no release of this branch lies between them'}"


def _work(gap: Gap) -> str:
    if gap.surface is None:
        return "not measured"
    files = {place.rpartition(":")[0] for place in find_fixes(gap.couplings, gap.patches or ())}
    lines = f", {count(gap.effort.lines, 'line')}" if gap.effort else ""
    return f"{count(len(files), 'file')}{lines} of ours" if files else "nothing to change"


def _ours(gap: Gap) -> set[str]:
    """Changed upstream files that hold a name we use or patch."""
    used = {one.pin_evidence.path for one in gap.couplings if one.pin_evidence and one.pin_evidence.path}
    used |= {item.path for row in gap.patches or () for item in row.evidence if item.path}
    return used & {change.old_path or change.path for change in gap.diff.files}


def _say_ours(gap: Gap) -> str:
    number = len(_ours(gap))
    return f"{number} of the files {verb(number, 'holds')} what we use"


def _say_breaks(gap: Gap) -> str:
    if gap.surface is None:
        return "unknown how many of them break"
    broken = len(find_places(gap))
    return f"{broken or 'none'} of them {verb(broken, 'breaks')}"


def _plan(gap: Gap) -> Section:
    shown = list(range(len(gap.plan)))
    if len(gap.plan) > MOST_STEPS:
        weighty = sorted(shown, key=lambda index: (index != len(gap.plan) - 1, *weigh(gap.plan[index]), index))
        shown = sorted(weighty[:MOST_STEPS])
    stops = len(find_stops(gap.plan))
    here = len(find_stops([gap.plan[index] for index in shown]))
    text = statements.plan_sentence(
        gap, f"the {here} with the most work are listed here, all of them in the appendix" if here < stops else ""
    )
    return Section(title="Upgrade plan", blocks=(Paragraph(text), Bullets(_steps(gap, shown))))


def say_next(gap: Gap, step: PlanStep) -> str:
    """What the commit after a stop does to us; empty where nothing."""
    files = {path for package, named in gap.mentions if package in step.asks.deletes for path in named}
    told = [part for part in (say_breaks(step), *say_asks(step.asks, len(files))) if part]
    return listed(told) if told else ""


def _steps(gap: Gap, shown: list[int]) -> tuple[Inline, ...]:
    items: list[Inline] = []
    for step in (gap.plan[index] for index in shown):
        where = f"{step.date}, {say_after(gap, step.behind)}" if step.behind else f"{step.date}, the pin"
        text: list[str | Cell] = [commit_cell(gap.upstream, step.commit), f" ({where})"]
        if step.next:
            near = f" ({step.ahead} commits later)" if step.ahead > 1 else ""
            text += [", then ", change_cell(gap, step.next, step.number), f"{near}: {say_next(gap, step)}."]
        else:
            text.append(f": {step.reason}.")
        if step.breaks_next:
            text.append(f" Fix: {listed(list(step.breaks_next), most=2)}.")
        if step.asks.keys:
            text.append(f" Keys: {listed(list(step.asks.keys), most=2)}.")
        items.append(tuple(text))
    return tuple(items)


def _version(side: Side) -> Inline:
    if side.version is None:
        return "none declared"
    if side.version.evidence.path is None:
        return f"{side.version.text}, by its tags"
    place = evidence_cell(side.version.evidence)
    return (f"{side.version.text}, in ", place if isinstance(place, Cell) else Cell(str(place)))


def _tag(side: Side) -> str:
    if side.tag is None:
        return "none"
    name, distance = side.tag
    return name if distance == 0 else f"{name}, {count(distance, 'commit')} before"
