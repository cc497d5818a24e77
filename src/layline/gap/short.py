"""The first page of a report, in prose: where we stand, what it costs, what to do, what became possible, what is new
since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Evidence
from layline.core.prose import count, listed, shorten, verb
from layline.core.report import Bullets, Cell, Paragraph, Section
from layline.coupling.drift_model import find_breaking
from layline.coupling.model import Touch
from layline.gap import need_statements, statements
from layline.gap.beside import tell_beside, tell_follows, tell_unmade
from layline.gap.breaks import find_places
from layline.gap.cells import change_cell, join_text, listed_text
from layline.gap.novelty import build_novelties, tell_gone
from layline.gap.overview import find_fixes
from layline.gap.platform import IN_CI, NUMBERS

if TYPE_CHECKING:
    from layline.core.report import Block, Inline
    from layline.gap.effort import Effort
    from layline.gap.model import Cause, Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What the last report of the same comparison said."""

    date: str
    behind: int
    pin: str
    tip: str
    places: int | None = None
    """Places of ours that broke then; None where that report has no evidence file."""


def build_short(gap: Gap, before: Before | None) -> Section:
    """One page that a manager can stop after."""
    release = statements.release_phrase(gap)
    head = join_text(statements.headline(gap), _root_cause(gap), f" {release[:1].upper()}{release[1:]}.")
    blocks: list[Block] = [Paragraph(head)]
    since = since_sentence(gap, before)
    blocks += [Paragraph(since)] if since else []
    blocks += [Paragraph(told)] if (told := need_statements.range_sentence(gap)) else []
    blocks += [Paragraph(cost_sentence(gap))] if gap.surface is not None else []
    blocks += [Paragraph(told) for told in (tell_follows(gap), tell_unmade(gap)) if told]
    blocks += [Paragraph(gone) for gone in tell_gone(gap)]
    blocks += [Paragraph(text) for text in tell_switched_off(gap)]
    blocks += [Paragraph(join_text(f"Recommendation: {gap.recommendation}. ", why_sentence(gap)))]
    found = build_novelties(gap)
    if found:
        blocks += [Paragraph("New in upstream:"), Bullets(found)]
    blocks += [Paragraph("Changed dependencies and CI:"), Bullets(need_statements.dependency_items(gap, most=4))]
    return Section(title="In short", blocks=tuple(blocks))


def tell_switched_off(gap: Gap) -> list[Inline]:
    """Platforms that upstream's CI no longer runs on, with the change that switched them off."""
    found: list[Inline] = []
    for change in gap.dependencies.platform:
        if change.is_switched_off and change.by is not None and change.what.endswith(IN_CI):
            platform = change.what.removesuffix(IN_CI)
            said = shorten(NUMBERS.sub("", change.by.subject), 90)
            found.append(
                (
                    f"Upstream's CI no longer runs on {platform} since ",
                    change_cell(gap, change.by.hash, change.by.pull_request),
                    f" ({change.by.date}: “{said}”).",
                )
            )
    return found


def since_sentence(gap: Gap, before: Before | None) -> str:
    """What changed since the last report; empty where there is none."""
    if before is None:
        return ""
    stays = gap.pin.commit.hash.startswith(before.pin[:12])
    now = len(find_places(gap)) if gap.surface is not None else None
    if stays and gap.tip.commit.hash.startswith(before.tip[:12]) and now == before.places:
        same = "pin and tip" if now is None else "pin, tip and the number of places that break"
        return f"Since the last report ({before.date}): {same} are the same."
    moved = "the pin has not moved" if stays else f"the pin moved from {before.pin[:8]} to {gap.pin.commit.hash[:8]}"
    told = [moved, f"we are {count(gap.distance.behind, 'commit')} behind ({before.behind} then)"]
    if before.places is not None and now is not None:
        told.append(f"{count(now, 'place')} of ours {verb(now, 'breaks')} ({before.places} then)")
    return f"Since the last report ({before.date}): {', '.join(told)}."


_NAMED = 5
"""So many changes that break us are named in one sentence."""


def cost_sentence(gap: Gap, *, whole: bool = True) -> Inline:
    """The size of the work, cause before consequence; empty where our code was not compared. `whole`: not for one page
    alone.
    """
    if gap.surface is None:
        return ""
    places = find_places(gap)
    if not places:
        needs = need_statements.tell_needs(gap)
        other = f", {needs}" if needs else ""
        work = f"a move of the pin{other} and a run of the tests"
        doubt = " The pin is a guess: what broke before it is not counted." if gap.guess else ""
        return (
            f"Nothing that fits the pin breaks at the tip; the upgrade is {work}.{doubt}{statements.name_failing(gap)}"
        )
    fixes = tuple(sorted(find_fixes(gap.couplings, gap.patches or ())))
    files = len({place.rpartition(":")[0] for place in fixes})
    fix = f"Work: fix {count(len(fixes), 'place')} in {count(files, 'file')} ({_how(gap, fixes)})."
    more = len(places) - len(fixes)
    fix += f" {count(more, 'further place')} {verb(more, 'breaks')} only because of these." if more > 0 else ""
    fix += statements.name_failing(gap, more=True)
    lines = f" {_tell_lines(gap.effort, whole)}" if gap.effort else ""
    end = tell_beside(gap, whole=whole), f" {statements.place_sentence(gap, whole=whole)}"
    return join_text(f"{fix}{lines}", _causes(gap, len(places), whole), *end, _last_move(gap))


def _tell_lines(effort: Effort, whole: bool) -> str:
    which = ": these places, and the lines that use an imported name which is gone" if whole else ""
    return f"At least {count(effort.lines, 'line')} {verb(effort.lines, 'changes')}{which}."


def _last_move(gap: Gap) -> Inline:
    """What the work was the last time."""
    move = gap.last_move
    if move is None:
        return ""
    name = f"#{move.commit.pull_request}" if move.commit.pull_request else move.commit.hash[:8]
    cell = Cell(name, evidence=Evidence(repo=gap.downstream, commit=move.commit.hash))
    old, grown = move.files - move.new_files, move.insertions - move.new_lines
    changed = f"{count(old, 'file')} of ours, +{grown} −{move.deletions} lines"
    new = f", and added {count(move.new_files, 'new one')}, +{move.new_lines} lines" if move.new_files else ""
    return " The last move of this pin (", cell, f", {move.commit.date}) changed {changed}{new}."


def _how(gap: Gap, places: tuple[str, ...]) -> str:
    """What stands at the places."""
    all_places = set(places)
    patches = {str(row.location) for row in find_breaking(gap.patches or ())} & all_places
    early = {Touch.IMPORT, Touch.MODULE, Touch.SUBCLASS}
    taken = {str(one.location) for one in gap.couplings if one.touch in early} & all_places - patches
    rest = len(all_places) - len(patches) - len(taken)
    bases = any(one.touch is Touch.SUBCLASS and str(one.location) in taken for one in gap.couplings)
    kinds = {"import": len(taken), "patch": len(patches), "other use": rest}
    told = listed([count(number, kind) for kind, number in kinds.items() if number])
    return f"{told}; base classes count as imports" if bases else told


def _causes(gap: Gap, total: int, whole: bool) -> Inline:
    """Every place once: what the weightiest changes break, what others do, and what nobody found."""
    if not gap.causes:
        return ""
    most = len(gap.causes) if len(gap.causes) <= _NAMED else _NAMED - 1
    first, rest = gap.causes[:most], gap.causes[most:]
    if not rest and len(first[0].places) + 2 >= total and first[0].number:
        return _tell_again(gap, whole)  # the headline says it
    named: list[Inline] = [
        (change_cell(gap, one.commit, one.number), f" {'' if at else 'breaks '}{len(one.places)}")
        for at, one in enumerate(first)
    ]
    each = {len(one.places) for one in first}
    if len(each) == 1 and len(first) > 1:
        cells: list[Inline] = [change_cell(gap, one.commit, one.number) for one in first]
        named = [join_text(listed_text(cells), f" break {each.pop()} each")]
    others = sum(len(cause.places) for cause in rest)
    tail = f"; {count(len(rest), 'other change')} {verb(len(rest), 'breaks')} {others} more" if rest else ""
    unknown = total - sum(len(cause.places) for cause in gap.causes)
    tail += f"; which change breaks the remaining {unknown} was not found" if unknown > 0 else ""
    return join_text(" ", listed_text(named), f"{tail}.{_tell_again(gap, whole)}")


def _tell_again(gap: Gap, whole: bool) -> str:
    again = sum(1 for step in gap.plan if step.again)
    if not again:
        return ""
    fixes = " That stop needs fixes of its own." if whole and again == 1 else ""
    fixes = " These stops need fixes of their own." if whole and again > 1 else fixes
    return f" {count(again, 'later change')} {verb(again, 'breaks')} places that an earlier stop has fixed.{fixes}"


def _root_cause(gap: Gap) -> Inline:
    """The change behind most of it, by its title; empty where there is none."""
    first = gap.causes[0] if gap.causes else None
    if first is None or 2 * len(first.places) < len(find_places(gap)):
        return ""
    title = _title_of(gap, first)
    if title is None:
        return ""
    return join_text(" ", change_cell(gap, first.commit, first.number), " is “", Cell(title[0]), f"” of {title[1]}.")


def _title_of(gap: Gap, cause: Cause) -> tuple[str, str] | None:
    for change in gap.changes.kept:
        if cause.commit in change.commits:
            return change.title, change.date
    return None


def why_sentence(gap: Gap) -> Inline:
    """How far one gets without the work, and the rule that decided."""
    way, rule = way_sentence(gap), rule_sentence(gap)
    return join_text(way, " ", rule) if way else rule


def rule_sentence(gap: Gap) -> str:
    return f"Rule: {gap.recommendation.rule}."


def way_sentence(gap: Gap) -> Inline:
    """How far one gets without the work; empty where our code was not compared."""
    step = next((one for one in gap.plan if one.places), None)
    if step is None or step.next is None:
        if gap.surface is None:
            return ""
        return (
            "Which commits break them was not found." if find_places(gap) else "No commit on the way breaks our code."
        )
    cell, places = change_cell(gap, step.next, step.number), count(step.places, "place")
    if step.behind == 0:
        where = "the first commit after the pin" if step.ahead == 1 else f"commit {step.ahead} after the pin"
        left = count(gap.distance.behind - step.ahead + 1, "commit")
        return (
            cell,
            f", {where}, breaks {places}. The pin cannot move past it until these are fixed: {left} stay out of reach.",
        )
    here = f"{step.commit[:12]} ({step.date}, {say_after(gap, step.behind)})"
    what = f"#{step.number}" if step.number else "that change"
    told = f") breaks {places}.{_say_around(gap, what)}{_say_holding(gap)}"
    return f"The pin can move to {here}, and nothing that fits today breaks. The next commit (", cell, told


def _say_holding(gap: Gap) -> str:
    """Bounds of ours that must be raised for that; empty where none must."""
    if not gap.holding:
        return ""
    one, number = gap.holding[0], len(gap.holding)
    places = listed([str(held.ours.place) for held in gap.holding], most=4)
    return f" Raise our own bound {one.bound} first: {places} {'does' if number == 1 else 'do'} not allow {one.asked}."


def say_after(gap: Gap, commits: int) -> str:
    """How far a commit of the tip's line is; of a pin on a branch of its own from where that left the line: such a commit
    may be older than the pin.
    """
    since = f"the pin's branch left {gap.ref}" if gap.distance.ahead else "the pin"
    return f"{count(commits, 'commit')} after {since}"


def _say_around(gap: Gap, what: str) -> str:
    """Between which releases our code breaks; empty where none is tagged with the change."""
    last, first = gap.around
    if first is None:
        return ""
    before = f"{last} is the newest release without {what}. " if last is not None else ""
    return f" {before}{first} is the first release with {what}."
