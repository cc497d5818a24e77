"""The middle of the detailed report: dependencies, then directories and capabilities."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.prose import count, listed, shorten
from layline.core.report import Bullets, Cell, Paragraph, Section, Table
from layline.gap import need_statements, statements
from layline.gap.cells import change_link, place_cell, requirement_text
from layline.gap.dependencies import Rank
from layline.gap.dependencies.compare import Move
from layline.gap.novelty import tell_classes, tell_origins

if TYPE_CHECKING:
    from layline.core.report import Block, Inline
    from layline.gap.changes import UpstreamChange
    from layline.gap.dependencies import Difference, LockedSet
    from layline.gap.model import Gap

MOST_ROWS, MOST_METADATA, MOST_FOLDED = 10, 6, 60
MOST_PER_AREA, MOST_CHANGES = 6, 5


def build_dependencies(gap: Gap) -> Section:
    """Platforms and CI, then the package metadata; what other files say is counted and stands in the appendix."""
    intro = need_statements.dependency_sentence(gap)
    inner = [_platforms(gap), _rank_section(gap, Rank.METADATA, _count_shown(gap))]
    if gap.dependencies.conflicts:
        inner.append(_conflicts(gap))
    if gap.dependencies.locks:
        items = tuple(_lock_text(was, now) for was, now in gap.dependencies.locks)
        inner.append(Section(title="Lock files", blocks=(Bullets(items),)))
    return Section(title="Dependencies", blocks=(Paragraph(intro), *_others(gap)), sections=tuple(inner))


def _count_shown(gap: Gap) -> int:
    """Rows of the package metadata in the main part: those that a run needs, or a few."""
    return max(MOST_METADATA, sum(1 for row in _rows_of(gap, Rank.METADATA) if row.is_runtime))


def build_folded_dependencies(gap: Gap) -> list[Section]:
    ranks = [rank for rank in Rank if len(_rows_of(gap, rank)) > (_count_shown(gap) if rank is Rank.METADATA else 0)]
    return [replace(_rank_section(gap, rank, MOST_FOLDED), title=_counted(gap, rank), folded=True) for rank in ranks]


def _rows_of(gap: Gap, rank: Rank) -> list[Difference]:
    return [row for row in gap.dependencies.differences if row.rank is rank]


def _counted(gap: Gap, rank: Rank) -> str:
    return f"{rank.label[:1].upper()}{rank.label[1:]}: {count(len(_rows_of(gap, rank)), 'difference')}"


def _others(gap: Gap) -> list[Block]:
    found = [
        f"{rank.label} ({len(rows)})" for rank in Rank if rank is not Rank.METADATA and (rows := _rows_of(gap, rank))
    ]
    return [Paragraph(f"Differences in other files, in the appendix: {listed(found, most=8)}.")] if found else []


def _platforms(gap: Gap) -> Section:
    """Wheel channels, images, CI matrices, and CI that was switched off."""
    rows = tuple(
        (
            change.what,
            *change.tell_sides(),
            place_cell(gap.upstream, gap.pin.commit.hash, change.at_pin) if change.at_pin else "—",
            place_cell(gap.upstream, gap.tip.commit.hash, change.at_tip) if change.at_tip else "—",
        )
        for change in gap.dependencies.platform
    )
    if not rows:
        return Section(title="Platforms and CI", blocks=(Paragraph("No channel, image or CI matrix differs."),))
    columns = ("what", "pin", "tip", "pin file:line", "tip file:line")
    more = max(0, len(rows) - MOST_ROWS)
    return Section(title="Platforms and CI", blocks=(Table(columns=columns, rows=rows[:MOST_ROWS], more=more),))


def _rank_section(gap: Gap, rank: Rank, most: int) -> Section:
    rows = _rows_of(gap, rank)
    title = rank.label[:1].upper() + rank.label[1:]
    if not rows:
        return Section(title=title, blocks=(Paragraph("No difference."),))
    whole = [row for row in rows if {Move.FILE_ADDED, Move.FILE_REMOVED} & set(row.changes)]
    shown = sorted(
        (row for row in rows if row not in whole),
        key=lambda row: (not row.is_runtime, bool({Move.LEFT, Move.JOINED} & set(row.changes))),
    )
    blocks: list[Block] = []
    if shown:
        blocks.append(
            Table(
                columns=("what", "scope", "pin", "tip", "change", "pin file:line", "tip file:line"),
                rows=tuple(_difference_row(gap, row) for row in shown[:most]),
                more=max(0, len(shown) - most),
                more_where="the evidence file" if most == MOST_FOLDED else "the appendix",
            )
        )
    if whole:
        blocks.append(Bullets(tuple(_whole_files(whole))))
    return Section(title=title, blocks=tuple(blocks))


def _difference_row(gap: Gap, row: Difference) -> tuple[Inline, ...]:
    scope = listed(list(row.scopes), most=2) if row.rank is Rank.METADATA else row.kind.value
    was: Inline = place_cell(gap.upstream, gap.pin.commit.hash, row.was.place) if row.was else "—"
    now: Inline = place_cell(gap.upstream, gap.tip.commit.hash, row.now.place) if row.now else "—"
    changes = ", ".join(change.value for change in row.changes)
    moved = f" ({row.was.scope} → {row.now.scope})" if row.was and row.now and row.was.scope != row.now.scope else ""
    return (
        row.name,
        scope,
        shorten(requirement_text(row.was), 90),
        shorten(requirement_text(row.now), 90),
        changes + moved,
        was,
        now,
    )


def _whole_files(rows: list[Difference]) -> list[Inline]:
    """Files that came or went as a whole, each with what it declared."""
    files: dict[tuple[str, bool], list[str]] = {}
    for row in rows:
        one = row.now or row.was
        if one is not None:
            files.setdefault((one.scope, row.now is not None), []).append(f"{row.name} {one.spec}".strip())
    return [
        (
            Cell(path, code=True),
            (
                f" {'is new' if added else 'is gone'}; it {'declares' if added else 'declared'} "
                f"{shorten(listed(names, most=8), 260)}."
            ),
        )
        for (path, added), names in files.items()
    ]


def _conflicts(gap: Gap) -> Section:
    rows = tuple(
        (
            one.name,
            requirement_text(one.stronger),
            place_cell(gap.upstream, gap.tip.commit.hash, one.stronger.place),
            requirement_text(one.weaker),
            place_cell(gap.upstream, gap.tip.commit.hash, one.weaker.place),
            "no version satisfies both" if one.excludes else "they differ",
        )
        for one in gap.dependencies.conflicts
    )
    table = Table(
        columns=("what", "package metadata", "where", "requirement file", "where", "verdict"),
        rows=rows[:MOST_ROWS],
        more=max(0, len(rows) - MOST_ROWS),
    )
    return Section(title="Files that disagree at the tip", blocks=(table,))


def _lock_text(was: LockedSet | None, now: LockedSet | None) -> str:
    if was is None or now is None:
        lock = was or now
        if lock is None:
            raise ValueError("a lock needs a side")
        return f"{lock.path} {'is new' if was is None else 'is gone'}, with {count(len(lock.versions), 'package')}."
    before, after = dict(was.versions), dict(now.versions)
    changed = sum(1 for name in before.keys() & after.keys() if before[name] != after[name])
    return (
        f"{now.path}: {count(len(after), 'package')} at the tip, {len(before)} at the pin;"
        f" {len(after.keys() - before.keys())} new, {len(before.keys() - after.keys())} gone, {changed} at another "
        "version."
    )


def build_capabilities(gap: Gap) -> Section:
    inner = [_packages(gap), *([_shims(gap)] if gap.shims else [])]
    return Section(title="Directories and capabilities", sections=tuple(inner))


def build_folded_capabilities(gap: Gap) -> list[Section]:
    return [_areas(gap), _changes_by_area(gap)] if gap.areas else []


def _areas(gap: Gap) -> Section:
    rows = tuple(
        (
            area.name,
            str(area.files),
            str(area.added),
            str(area.removed),
            str(area.renamed),
            f"+{area.insertions}",
            f"−{area.deletions}",
            str(area.commits),
        )
        for area in sorted(gap.areas, key=lambda area: (-area.commits, area.name))
    )
    columns = ("area", "files", "new", "gone", "renamed", "added lines", "deleted lines", "commits")
    table = Table(
        columns=columns,
        rows=rows,
        numeric=frozenset(range(1, 8)),
        caption="A commit counts once in each area it touches.",
    )
    return Section(title=f"Areas: {len(rows)}", blocks=(table,), folded=True)


def _packages(gap: Gap) -> Section:
    """Largest first, with the number of Python files in brackets."""
    items: list[Inline] = []
    for kind, verb in (("added", "New"), ("renamed", "Renamed"), ("removed", "Gone")):
        named = [one for one in gap.packages if one.kind == kind and statements.is_package_folder(one.path)]
        named = [one for one in named if not one.origins]
        if not named:
            continue
        named.sort(key=lambda one: (-one.files, one.path))
        shown = [f"{one.old_path} → {one.path}" if one.old_path else f"{one.path} ({one.files})" for one in named]
        items.append(f"{verb}: {listed(shown, most=6)}.")
    taken = tell_origins(gap, most=3)
    items += [taken] if taken else []
    text = "Folders of Python files that only one side has, with the number of files."
    classes = tell_classes(gap)
    items += [classes] if classes else []
    return Section(
        title="Packages", blocks=(Paragraph(text), Bullets(tuple(items))) if items else (Paragraph("None."),)
    )


def _shims(gap: Gap) -> Section:
    if not gap.shims:
        return Section(
            title="Deprecation shims", blocks=(Paragraph("The tip has no module that only warns and re-exports."),)
        )
    items: tuple[Inline, ...] = tuple(
        (place_cell(gap.upstream, gap.tip.commit.hash, Location(path, line)),) for path, line in gap.shims[:MOST_ROWS]
    )
    one = len(gap.shims) == 1
    gone = [path for path, _ in gap.shims if statements.breaks_in(gap, path)]
    warns = "warns that it is" if one else "warn that they are"
    text = f"{count(len(gap.shims), 'module')} of the tip {warns} deprecated when imported."
    if gone:
        text += f" What we use of {listed(gone, most=6)} is gone nevertheless: see the errors."
    return Section(title="Deprecation shims", blocks=(Paragraph(text[:1].upper() + text[1:]), Bullets(items)))


def build_representative(gap: Gap) -> Section:
    changes = gap.changes
    intro = (
        f"{count(len(changes.kept), 'code change')} by pull request, "
        f"{len([one for one in changes.kept if one.ours]) or 'none'} of them in files we import or patch. Left out: "
        f"{count(changes.reverted, 'reverted commit')} and {changes.housekeeping} of bots, CI, builds, docs and tests."
    )
    blocks: list[Block] = [Paragraph(intro[:1].upper() + intro[1:])]
    if changes.kept:
        blocks.append(Bullets(tuple(change_item(gap, change) for change in weighty_changes(gap)[:MOST_CHANGES])))
    return Section(title="Representative upstream changes", blocks=tuple(blocks))


def weighty_changes(gap: Gap) -> list[UpstreamChange]:
    """Changes that break places of ours first, then those that other findings on our code come from, then those that
    are mostly about files we use: a sweep over the whole tree touches these, too, and says little of them.
    """
    breaks = {cause.commit: len(cause.places) for cause in gap.causes}
    changes = Counter(one.culprit for one in gap.couplings if one.culprit)
    changes.update(row.culprit.hash for row in gap.patches or () if row.culprit is not None)

    def weigh(change: UpstreamChange) -> tuple[float, ...]:
        found = (max(weights.get(commit, 0) for commit in change.commits) for weights in (breaks, changes))
        return (*(-weight for weight in found), -(len(change.ours) ** 2) / max(1, change.files))

    return sorted(gap.changes.kept, key=weigh)


def _changes_by_area(gap: Gap) -> Section:
    blocks: list[Block] = []
    for area in dict.fromkeys(change.area for change in gap.changes.kept):
        inside = [change for change in gap.changes.kept if change.area == area]
        more = f" ({len(inside) - MOST_PER_AREA} more in the evidence file)" if len(inside) > MOST_PER_AREA else ""
        blocks.append(Paragraph(f"{area[:1].upper()}{area[1:]}{more}:"))
        blocks.append(Bullets(tuple(change_item(gap, change) for change in inside[:MOST_PER_AREA])))
    return Section(title="Upstream changes by area", blocks=tuple(blocks), folded=True)


def change_item(gap: Gap, change: UpstreamChange) -> Inline:
    ours = f", {count(len(change.ours), 'file')} we use" if change.ours else ""
    link = change_link(gap, change)
    cell = link if isinstance(link, Cell) else Cell(str(link))
    return (f"{shorten(change.title, 110)} (", cell, f", {change.date}, {count(change.files, 'code file')}{ours}).")
