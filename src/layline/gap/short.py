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
from layline.gap import statements
from layline.gap.breaks import find_places
from layline.gap.cells import commit_cell
from layline.gap.novelty import NUMBERS, build_novelties, tell_gone
from layline.gap.platform import IN_CI

if TYPE_CHECKING:
    from layline.core.report import Block, Inline
    from layline.gap.model import Cause, Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What the last report of the same comparison said."""

    date: str
    behind: int
    pin: str
    tip: str


def build_short(gap: Gap, before: Before | None) -> Section:
    """One page that a manager can stop after."""
    blocks: list[Block] = [Paragraph(statements.headline(gap))]
    blocks += [Paragraph(text) for text in (since_sentence(gap, before), cost_sentence(gap)) if text]
    blocks += [Paragraph(root) for root in _root_cause(gap)]
    blocks += [Paragraph(gone) for gone in tell_gone(gap)]
    blocks += [Paragraph(text) for text in tell_switched_off(gap)]
    blocks += [
        Paragraph(f"Recommendation: {gap.recommendation}. Reason: {gap.recommendation.rule}. {_first_step(gap)}")
    ]
    found = build_novelties(gap)
    if found:
        blocks += [Paragraph("What became possible upstream:"), Bullets(found)]
    blocks += [Paragraph("What its dependencies ask:"), Bullets(statements.dependency_items(gap, most=8))]
    return Section(title="In short", blocks=tuple(blocks))


def tell_switched_off(gap: Gap) -> list[Inline]:
    """Platforms that upstream's CI no longer runs on, with the change that switched them off."""
    found: list[Inline] = []
    for change in gap.dependencies.platform:
        if change.is_switched_off and change.by is not None and change.what.endswith(IN_CI):
            name = f"#{change.by.pull_request}" if change.by.pull_request else change.by.hash[:8]
            link = Cell(name, evidence=Evidence(repo=gap.upstream, commit=change.by.hash))
            platform = change.what.removesuffix(IN_CI)
            said = shorten(NUMBERS.sub("", change.by.subject), 90)
            found.append(
                (
                    f"Upstream switched {platform} off in its CI: ",
                    link,
                    f" ({change.by.date}, “{said}”); no CI job of the tip installs {platform} wheels.",
                )
            )
    return found


def since_sentence(gap: Gap, before: Before | None) -> str:
    """What changed since the last report; empty where there is none."""
    if before is None:
        return ""
    moved = (
        "the pin has not moved"
        if gap.pin.commit.hash.startswith(before.pin[:12])
        else f"the pin moved from {before.pin[:8]} to {gap.pin.commit.hash[:8]}"
    )
    then = f"At the last report ({before.date}) we were {count(before.behind, 'commit')} behind"
    return f"{then}; since then {moved}, and we are {gap.distance.behind} behind."


def cost_sentence(gap: Gap) -> str:
    """The size of the work, cause before consequence; empty where our code was not compared."""
    if gap.surface is None:
        return ""
    places = find_places(gap)
    if not places:
        return "Nothing of ours breaks at the tip; the upgrade is a move of the pin and a run of the tests."
    files = len({place.rpartition(":")[0] for place in places})
    fix = f"{count(len(places), 'place')} (file:line of ours) to fix in {count(files, 'file')}"
    change = "changes" if gap.effort and gap.effort.lines == 1 else "change"
    later = "With the other lines that use those names, at least"
    lines = f" {later} {count(gap.effort.lines, 'line')} {change}." if gap.effort else ""
    return f"Work: {fix}: {_how(gap, places)}.{lines}{_causes(gap, len(places))}{_beside(gap)}"


def _beside(gap: Gap) -> str:
    """What has to be changed beside the code that ships: settings and tests."""
    keys = sum(1 + stale.others for stale in gap.stale_keys)
    parts = []
    if keys:
        parts.append(f"{count(keys, 'YAML line')} with {count(len(gap.stale_keys), 'key')} unknown to the tip")
    if gap.tests:
        files = len({place.path for place in gap.tests})
        gone = f"{count(len(gap.tests), 'import')} of names that are gone"
        parts.append(f"{count(files, 'test file')} with {gone}")
    return f" Beside the code: {'; '.join(parts)}." if parts else ""


def _how(gap: Gap, places: tuple[str, ...]) -> str:
    """What stands at the places."""
    all_places = set(places)
    patches = {str(row.location) for row in find_breaking(gap.patches or ())} & all_places
    early = {Touch.IMPORT, Touch.MODULE, Touch.SUBCLASS}
    taken = {str(one.location) for one in gap.couplings if one.touch in early} & all_places - patches
    rest = len(all_places) - len(patches) - len(taken)
    bases = any(one.touch is Touch.SUBCLASS and str(one.location) in taken for one in gap.couplings)
    kinds = {
        "imports and base classes" if bases else "imports": len(taken),
        "patches": len(patches),
        "other uses": rest,
    }
    return listed([f"{number} {kind}" for kind, number in kinds.items() if number])


def _causes(gap: Gap, total: int) -> str:
    """Every place once: what the weightiest changes break, what others do, and what nobody found."""
    if not gap.causes:
        return ""
    first, rest = gap.causes[:3], gap.causes[3:]
    again = sum(1 for step in gap.plan if step.again)
    named = [f"{cause.name} {len(cause.places)}" for cause in first[1:]]
    first_of = "is the first to break" if again else "breaks"
    parts = [listed([f"{first[0].name} {first_of} {len(first[0].places)} of the {total}", *named])]
    others = sum(len(cause.places) for cause in rest)
    parts += [f"{count(len(rest), 'other change')} {verb(len(rest), 'breaks')} {others} more"] if rest else []
    unknown = total - sum(len(cause.places) for cause in gap.causes)
    parts += [f"what breaks the remaining {unknown} was not found"] if unknown > 0 else []
    if again:
        parts.append(f"in steps, {count(again, 'later change')} {verb(again, 'breaks')} some of them a second time")
    return f" {'; '.join(parts)}."


def _root_cause(gap: Gap) -> list[Inline]:
    """The change behind most of it, by name."""
    if not gap.causes or 2 * len(gap.causes[0].places) < len(find_places(gap)):
        return []
    title = _title_of(gap, gap.causes[0])
    if title is None:
        return []
    link = commit_cell(gap.upstream, gap.causes[0].commit, length=8)
    return [("Most of it is one change: ", Cell(title[0]), f" ({title[1]}, ", link, ").")]


def _title_of(gap: Gap, cause: Cause) -> tuple[str, str] | None:
    for change in gap.changes.kept:
        if cause.commit in change.commits:
            return (f"{change.title} (#{change.number})" if change.number else change.title), change.date
    return None


def _first_step(gap: Gap) -> str:
    step = next((one for one in gap.plan if one.places), None)
    if step is None:
        if gap.surface is None:
            return ""
        return "Which commits break them was not found." if find_places(gap) else "No step of the way breaks our code."
    if step.behind == 0 and step.ahead > 1:
        return (
            f"No stop before the first break brings anything: commit {step.ahead} after the pin breaks "
            f"{count(step.places, 'place')}. {statements.JUDGED}"
        )
    if step.behind == 0:
        return f"The first commit after the pin breaks {count(step.places, 'place')}. {statements.JUDGED}"
    return (
        f"None of these places breaks before {step.commit[:12]} ({step.date}, {count(step.behind, 'commit')} after the "
        "pin); "
        f"the commit after it breaks {count(step.places, 'place')}. {statements.JUDGED}"
    )
