"""The first page of a report, in prose: where we stand, what became possible, what it costs, what to do, what is new since."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.prose import count, listed, sentence, shorten, verb
from layline.core.report import Bullets, Cell, Paragraph, Section
from layline.gap import statements
from layline.gap.breaks import find_causes, find_places
from layline.gap.cells import change_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.core.report import Block, Inline
    from layline.gap.changes import UpstreamChange
    from layline.gap.model import Gap

_NEW = re.compile(
    r"^(?:\[[^\]]*\]\s*)*(?:add|support|enable|introduce|implement|allow|new|initial)\w*\b", re.IGNORECASE
)
"""How the title of a pull request says that it brings something new."""
_NUMBERS = re.compile(r"\s*\(#\d+\)")
_MOST_AREAS, _MOST_PER_AREA = 6, 3


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
    blocks += [Paragraph(text) for text in (since_sentence(gap, before), _cost(gap)) if text]
    blocks += [
        Paragraph(f"Recommendation: {gap.recommendation}, because of {gap.recommendation.rule}. {_first_step(gap)}")
    ]
    found = list(find_novelties(gap))
    if found:
        blocks += [Paragraph("What became possible upstream, by area, newest first:")]
        blocks += [Bullets(tuple(_novelty_item(gap, area, changes) for area, changes in found[:_MOST_AREAS]))]
    blocks += [Paragraph("What its dependencies ask:"), Bullets(statements.dependency_deltas(gap, most=4))]
    return Section(title="In short", blocks=tuple(blocks))


def find_novelties(gap: Gap) -> Iterator[tuple[str, tuple[UpstreamChange, ...]]]:
    """Yields areas with the changes that bring something new, by what their titles say, not by files touched."""
    new = [change for change in gap.changes.kept if change.kind == "feat" or _NEW.match(change.title)]
    amounts = Counter(change.area for change in new)
    for area, _ in sorted(amounts.items(), key=lambda pair: (-pair[1], pair[0])):
        inside = sorted((change for change in new if change.area == area), key=lambda change: change.date, reverse=True)
        yield area, tuple(inside)


def since_sentence(gap: Gap, before: Before | None) -> str:
    """What changed since the last report; empty where there is none."""
    if before is None:
        return ""
    moved = (
        "the pin has not moved"
        if gap.pin.commit.hash.startswith(before.pin[:12])
        else f"the pin moved from {before.pin[:8]} to {gap.pin.commit.hash[:8]}"
    )
    change = gap.distance.behind - before.behind
    more = f"{count(abs(change), 'commit')} {'more' if change > 0 else 'fewer'}" if change else "as many as then"
    return f"Since the last report ({before.date}) {moved}; we are {gap.distance.behind} commits behind, {more}."


def _cost(gap: Gap) -> str:
    """The size of the work, cause before consequence."""
    if gap.surface is None:
        return ""
    places = find_places(gap)
    if not places:
        return "Nothing of ours breaks at the tip; the upgrade is a move of the pin and a run of the tests."
    files = len({place.rpartition(":")[0] for place in places})
    causes = find_causes(gap)
    named = [f"{name} ({count(len(inside), 'place')})" for name, inside in causes[:3]]
    by = f" Most come from {listed(named)}." if named else ""
    patches = len({row.location for row in gap.patches or () if row.severity == "breaks" and row.active})
    own = f" {patches} of them {verb(patches, 'is')} monkey patches." if patches else ""
    return sentence(f"The work is {count(len(places), 'place')} in {count(files, 'file')}") + own + by


def _first_step(gap: Gap) -> str:
    step = next((one for one in gap.plan if one.places), None)
    if step is None:
        if gap.surface is None:
            return ""
        return "Which commits break them was not found." if find_places(gap) else "No step of the way breaks our code."
    free = "The first commit" if step.behind == 1 else f"The first {step.behind} commits"
    return (
        f"{free} can be taken without a change of ours; the next one breaks "
        f"{count(step.places, 'place')}: {shorten(listed(list(step.breaks_next), most=3), 160)}."
    )


def _novelty_item(gap: Gap, area: str, changes: tuple[UpstreamChange, ...]) -> Inline:
    pieces: list[str | Cell] = [f"{area[:1].upper()}{area[1:]}: "]
    for index, change in enumerate(changes[:_MOST_PER_AREA]):
        link = change_link(gap, change)
        pieces += ["; " if index else "", f"{shorten(_NUMBERS.sub('', change.title), 90)} ("]
        pieces += [link if isinstance(link, Cell) else Cell(str(link)), ")"]
    rest = len(changes) - _MOST_PER_AREA
    pieces.append(f"; and {rest} more." if rest > 0 else ".")
    return tuple(pieces)
