"""The detailed report and the one-page summary of a gap, as values for any renderer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.prose import count, listed, shorten_clauses, verb
from layline.core.report import Bullets, Paragraph, Report, Section, Table
from layline.gap import need_statements, statements
from layline.gap.beside import tell_asked, tell_follows, tell_unmade
from layline.gap.breaks import BrokenName, count_touched, find_places, find_silent, group_broken
from layline.gap.cells import change_cell, commit_cell, join_text, listed_text, own_place
from layline.gap.novelty import build_novelties, find_told, tell_gone
from layline.gap.overview import find_fixes
from layline.gap.plan import find_stops, weigh
from layline.gap.report_coupling import (
    build_folded_integration,
    build_folded_sources,
    build_integration,
    build_sources,
)
from layline.gap.report_overview import build_folded_overview, build_overview, say_next
from layline.gap.report_tree import (
    build_capabilities,
    build_dependencies,
    build_folded_capabilities,
    build_folded_dependencies,
    build_representative,
    change_item,
    weighty_changes,
)
from layline.gap.short import (
    Before,
    build_short,
    cost_sentence,
    rule_sentence,
    since_sentence,
    way_sentence,
)

if TYPE_CHECKING:
    from datetime import date

    from layline.core.report import Inline
    from layline.gap.model import Demand, Gap

MOST_SKIPPED = 30
MOST_STOPS = 3
MOST_RISKS = 2


def title_of(gap: Gap) -> str:
    return f"{gap.project} {gap.label} vs upstream {gap.ref.removeprefix('origin/')}"


def build_report(gap: Gap, *, day: date, evidence_path: str, before: Before | None = None) -> Report:
    """What a reader needs, in the order of the published reports; then an appendix with the rows, folded."""
    folded = (
        *build_folded_integration(gap),
        *build_folded_dependencies(gap),
        *build_folded_capabilities(gap),
        *build_folded_overview(gap),
        *build_folded_sources(gap),
    )
    sections = (
        build_short(gap, before),
        build_overview(gap),
        build_dependencies(gap),
        build_capabilities(gap),
        build_representative(gap),
        build_integration(gap),
        build_sources(evidence_path, day),
        Section(title="Appendix", blocks=(), sections=folded),
    )
    return Report(title=title_of(gap), sections=sections, meta=_meta(gap, day), skipped=gap.skipped[:MOST_SKIPPED])


def build_summary(gap: Gap, *, day: date, evidence_path: str = "", before: Before | None = None) -> Report:
    """One printed page."""
    sources = (build_sources(evidence_path, day, whole=False),) if evidence_path else ()
    return Report(
        title=f"{title_of(gap)}: summary",
        meta=_meta(gap, day)[: 3 if gap.guess else 2],
        sections=(
            _high_level(gap, before),
            _recommendation(gap),
            _key_dependencies(gap),
            _representative(gap),
            _integration(gap),
            *sources,
        ),
    )


def _meta(gap: Gap, day: date) -> tuple[tuple[str, str], ...]:
    return (
        ("Date", day.isoformat()),
        (
            "Compared",
            f"{gap.source_path or gap.key} at {gap.pin.commit.hash[:12]} with {_name_tip(gap)}",
        ),
        *((("Pin", gap.guess),) if gap.guess else ()),
        ("Downstream", f"{gap.project} at {gap.downstream_commit.hash[:12]} of {gap.downstream_commit.date}"),
        ("Upstream", gap.upstream),
    )


def _name_tip(gap: Gap) -> str:
    """The ref and its commit; a ref that is the commit is named once."""
    tip = gap.tip.commit.hash
    return tip[:12] if tip.startswith(gap.ref) else f"{gap.ref} at {tip[:12]}"


def _high_level(gap: Gap, before: Before | None) -> Section:
    broken = find_places(gap)
    files = len({place.rpartition(":")[0] for place in find_fixes(gap.couplings, gap.patches or ())})
    keys = count(len(gap.stale_keys), "YAML key")
    rows: tuple[tuple[Inline, ...], ...] = (
        (
            "commit",
            commit_cell(gap.upstream, gap.pin.commit.hash),
            commit_cell(gap.upstream, gap.tip.commit.hash),
            f"{count(gap.distance.behind, 'commit')} behind",
        ),
        ("date", gap.pin.commit.date, gap.tip.commit.date, f"{count(gap.age_days, 'day')} apart"),
        (
            "version",
            gap.pin.version.text if gap.pin.version else "—",
            gap.tip.version.text if gap.tip.version else "—",
            "; ".join(filter(None, (statements.major_step(gap), statements.release_phrase(gap, whole=False)))),
        ),
        (
            "our places that use it",
            str(count_touched(gap)),
            f"{len(broken)} of them {verb(len(broken), 'breaks')}" if gap.surface else "not measured",
            f"{count(files, 'file')} to change{f'; {keys} to replace' if gap.stale_keys else ''}",
        ),
    )
    told = [part for part in (statements.headline(gap), since_sentence(gap, before)) if part]
    cost = cost_sentence(gap, whole=False)
    return Section(
        title="High level",
        blocks=(
            Paragraph(join_text(*[piece for part in told for piece in (" ", part)][1:])),
            *([Paragraph(cost)] if cost else []),
            *([Paragraph(range_told)] if (range_told := need_statements.range_sentence(gap)) else []),
            Table(columns=("", "pin", f"tip ({gap.ref})", "impact"), rows=rows),
        ),
    )


def _recommendation(gap: Gap) -> Section:
    advice = str(gap.recommendation)
    total = len(find_stops(gap.plan))
    stops = _list_stops(gap) if total and not _is_one_step(gap) else []
    way = [way_sentence(gap), *([_say_way(gap, total)] if total else [])]
    shown = f"The {MOST_STOPS} stops with the most work:" if stops and total > MOST_STOPS + 1 else ""
    told = [f"{advice[:1].upper()}{advice[1:]}.", *way, rule_sentence(gap), shown]
    text = join_text(*[piece for part in told if part for piece in (" ", part)][1:])
    blocks = (Paragraph(text), Bullets(tuple(stops))) if stops else (Paragraph(text),)
    return Section(title="Recommendation", blocks=blocks)


def _say_way(gap: Gap, total: int) -> str:
    if _is_one_step(gap):
        asks = "asks" if total == 1 else "ask"
        return f"The pin can move in one step; {count(total, 'commit')} on the way {asks} for the edits below."
    return f"Move the pin with {count(total, 'stop')} on the way and run the tests at each."


def _is_one_step(gap: Gap) -> bool:
    """Only requirements and platforms change on the way: `upgrade plan` has one step, too."""
    return all(step.next and not (step.places or step.again or _asks_code(step.asks)) for step in find_stops(gap.plan))


def _asks_code(asks: Demand) -> bool:
    return bool(asks.methods or asks.keys or asks.deletes)


def _list_stops(gap: Gap) -> list[Inline]:
    """The stops that weigh most, in the order of the way."""
    breaking = find_stops(gap.plan)
    most = MOST_STOPS + (len(breaking) == MOST_STOPS + 1)  # a line that says that one is missing is as long as that one
    weighty = sorted(breaking, key=weigh)[:most]
    stops: list[Inline] = []
    for step in breaking:
        here = commit_cell(gap.upstream, step.commit, length=8)
        if step in weighty and step.next:
            cell = change_cell(gap, step.next, step.number)
            stops.append((here, f" ({step.date}): the next commit (", cell, f") {say_next(gap, step)}."))
        elif step in weighty:
            stops.append((here, f" ({step.date}): {step.reason}."))
    rest = len(breaking) - len(stops)
    more = f"The other {rest} stops are in the detailed report."
    return [*stops, more] if rest else stops


def _key_dependencies(gap: Gap) -> Section:
    items = need_statements.dependency_items(gap, most=4, more="More in the detailed report.")
    return Section(title="Key dependency differences", blocks=(Bullets(items),))


def _representative(gap: Gap) -> Section:
    touching = [change for change in gap.changes.kept if change.ours]
    gone = tell_gone(gap)
    most = 1 if gone else 2
    told = find_told(gap, most)
    further = [change for change in weighty_changes(gap) if change not in told]
    shown = (
        *gone[:1],
        *build_novelties(gap)[:most],
        *(change_item(gap, change) for change in further[: not gone]),
    )
    changes = count(len(gap.changes.kept), "change")
    text = f"Upstream made {changes} to its code, {len(touching) or 'none'} of them in files that we import or patch."
    blocks = (Paragraph(text), Bullets(shown)) if shown else (Paragraph("Upstream's code did not change."),)
    return Section(title="Representative upstream changes", blocks=blocks)


def _integration(gap: Gap) -> Section:
    foot = gap.footprint
    text = statements.footprint_sentence(gap, most=3)
    lines: list[Inline] = [text] if foot.folders else []
    lines += [unnamed] if (unnamed := statements.unnamed_sentence(gap)) else []
    if gap.stale_keys:
        lines.append(_tell_keys(gap))
    asked = tell_asked(gap, whole=False)
    lines += [asked] if asked else []
    rows = group_broken(gap)
    silent = find_silent(gap)
    if silent:
        names = listed(list(dict.fromkeys(row.patch for row in silent)), most=2)
        places = f"{count(len(silent), 'patched place')} {verb(len(silent), 'stops')}"
        lines.append(f"{places} applying without an error: {names}.")
    further = tell_follows(gap, whole=False), tell_unmade(gap, whole=False)
    lines += [told for told in further if told]
    shown = rows[: 0 if gap.follows else MOST_RISKS]  # one page: what is left to do after them weighs more
    risks = tuple(_risk(gap, row) for row in shown)
    left = len(find_places(gap)) - len({place for row in shown for place in row.places})
    breaks = f"{count(left, 'more place')} {verb(left, 'breaks')}: see the detailed report."
    more = (breaks,) if left > 0 and shown else ()
    items = (*lines, *risks, *more)
    return Section(title="Integration layer", blocks=(Bullets(items),))


def _tell_keys(gap: Gap) -> Inline:
    """The keys that most lines of ours set, each with the change that dropped it."""
    told: list[Inline] = []
    for stale in gap.stale_keys[:1]:
        since = stale.culprit and (", since ", change_cell(gap, stale.culprit, gap.numbers.get(stale.culprit)))
        told.append(join_text(f"{stale.key} ({count(stale.lines, 'line')}", since or "", ")"))
    rest = len(gap.stale_keys) - len(told)
    more: list[Inline] = [f"{rest} more"] if rest > 0 else []
    return join_text("YAML keys of ours that the tip does not know: ", listed_text([*told, *more]), ".")


def _risk(gap: Gap, row: BrokenName) -> Inline:
    """One upstream name with how many places of ours stand on it."""
    also = f" and {len(row.also)} more" if row.also else ""
    first = "first: " if len(row.places) > 1 else ""
    number = len(row.places)
    uses = f"{count(number, 'place')} that {verb(number, 'uses')} {row.target}{also} {verb(number, 'breaks')}"
    text = f"{uses}: {shorten_clauses(row.said, 90)} ({first}"
    return text, own_place(gap, row.places[0], text=row.places[0].rpartition("/")[2]), ")."
