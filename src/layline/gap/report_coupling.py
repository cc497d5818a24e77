"""The part of the detailed report about us: coupling, surface, configuration, patches; then the evidence sources."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from layline.change.surface import SurfaceChange
from layline.core.evidence import Location
from layline.core.prose import count, listed, shorten, verb
from layline.core.report import Cell, Paragraph, Section, Table
from layline.coupling.model import Consequence
from layline.gap import statements
from layline.gap.breaks import find_further_patches, find_places
from layline.gap.cells import diff_command, evidence_cell, place_cell, span

if TYPE_CHECKING:
    from layline.change.surface import SurfaceRow
    from layline.core.report import Block, Inline
    from layline.coupling.model import Coupling
    from layline.gap.model import Gap, PatchRow

MOST_COUPLINGS = 8
MOST_SURFACE = 6
MOST_FILES = 8


def build_integration(gap: Gap) -> Section:
    if gap.surface is None:
        text = "Not compared: the backend configures no `packages` or no `integration` folder."
        return Section(title="Integration and coupling", blocks=(Paragraph(text),))
    hurting = (Consequence.WILL_BREAK, Consequence.MAY_BREAK, Consequence.LOOK)
    inner = [_totals(gap), *(_consequence(gap, consequence) for consequence in hurting)]
    inner += [
        _files(gap),
        _definitions(gap),
        _options(gap, "Config fields", "fields"),
        _options(gap, "Command-line flags", "flags"),
        _stale(gap),
    ]
    if gap.patches is not None:
        inner.append(_patches(gap))
    intro = next(iter(statements.find_reasons(gap)))
    return Section(title="Integration and coupling", blocks=(Paragraph(intro),), sections=tuple(inner))


def _totals(gap: Gap) -> Section:
    counted: Counter[tuple[str, str]] = Counter((one.touch.value, one.consequence.value) for one in gap.couplings)
    kinds = [value.value for value in Consequence]
    rows = tuple(
        (touch, *(str(counted[touch, kind]) for kind in kinds), str(sum(counted[touch, kind] for kind in kinds)))
        for touch in dict.fromkeys(one.touch.value for one in sorted(gap.couplings, key=lambda one: one.touch.name))
    )
    states = Counter(one.state.value for one in gap.couplings)
    text = (
        "By state: "
        + listed(
            [f"{number} {state}" for state, number in sorted(states.items(), key=lambda pair: (-pair[1], pair[0]))],
            most=12,
        )
        + "."
    )
    table = Table(columns=("how we depend", *kinds, "all"), rows=rows, numeric=frozenset(range(1, 6)))
    return Section(
        title="Totals", blocks=(table, Paragraph(text)) if rows else (Paragraph("Our code touches no upstream name."),)
    )


def _consequence(gap: Gap, consequence: Consequence) -> Section:
    found = [one for one in gap.couplings if one.consequence is consequence]
    rows = [_coupling_row(gap, one) for one in found]
    title = f"{consequence.value[:1].upper()}{consequence.value[1:]} ({len(rows)})"
    most = MOST_COUPLINGS
    if consequence is Consequence.WILL_BREAK:
        # never cut: somebody has to mend each of them
        rows += [_patch_row(gap, row) for row in find_further_patches(gap)]
        title, most = f"Will break ({count(len(find_places(gap)), 'place')})", len(rows)
    if not rows:
        return Section(title=title, blocks=(Paragraph("None."),))
    table = Table(
        columns=("our place", "how", "upstream name", "state", "detail", "pin", "tip"),
        rows=tuple(rows[:most]),
        more=max(0, len(rows) - most),
    )
    return Section(title=title, blocks=(table,))


def _patch_row(gap: Gap, row: PatchRow) -> tuple[Inline, ...]:
    path, _, line = row.location.rpartition(":")
    place = Location(path, int(line)) if line.isdigit() else None
    ends = {
        one.commit: evidence_cell(one, text="pin" if one.commit == gap.pin.commit.hash else "tip")
        for one in row.evidence
    }
    return (
        place_cell(gap.downstream, gap.downstream_commit.hash, place) if place else row.location,
        "patches",
        Cell(row.target, code=True),
        "replacement fails" if row.kind == "unchanged" else row.kind.replace("-", " "),
        shorten(row.detail, 160),
        ends.get(gap.pin.commit.hash, "—"),
        ends.get(gap.tip.commit.hash, "—"),
    )


def _coupling_row(gap: Gap, one: Coupling) -> tuple[Inline, ...]:
    detail = one.detail if not one.new_target else f"now {one.new_target}" + (f"; {one.detail}" if one.detail else "")
    guarded = " (guarded)" if one.guarded else ""
    return (
        place_cell(gap.downstream, gap.downstream_commit.hash, one.location),
        one.touch.value,
        Cell(one.target, code=True),
        one.state.value + guarded,
        shorten(detail, 160),
        evidence_cell(one.pin_evidence, text="pin"),
        evidence_cell(one.tip_evidence, text="tip"),
    )


def _files(gap: Gap) -> Section:
    counted: dict[str, Counter[Consequence]] = {}
    for one in gap.couplings:
        counted.setdefault(one.location.path, Counter())[one.consequence] += 1
    order = sorted(
        counted,
        key=lambda path: (
            -counted[path][Consequence.WILL_BREAK],
            -counted[path][Consequence.MAY_BREAK],
            -counted[path][Consequence.LOOK],
            path,
        ),
    )
    hurt = [path for path in order if sum(counted[path].values()) > counted[path][Consequence.OK]]
    rows: tuple[tuple[Inline, ...], ...] = tuple(
        (Cell(path, code=True), *(str(counted[path][kind]) for kind in Consequence)) for path in hurt[:MOST_FILES]
    )
    if not rows:
        return Section(title="Files of ours", blocks=(Paragraph("No file of ours is affected."),))
    table = Table(
        columns=("file", *(kind.value for kind in Consequence)),
        rows=rows,
        numeric=frozenset(range(1, 5)),
        more=max(0, len(hurt) - MOST_FILES),
    )
    return Section(title="Files of ours", blocks=(table,))


def _definitions(gap: Gap) -> Section:
    surface = gap.surface
    if surface is None:
        return Section(title="Upstream surface")
    sizes = Table(
        columns=("counted", "pin", "tip"),
        rows=tuple((name, str(was), str(now)) for name, was, now in surface.sizes),
        numeric=frozenset({1, 2}),
    )
    counted = statements.count_surface(gap, "definitions")
    changes = listed([f"{counted[change]} {change.value}" for change in SurfaceChange if counted[change]], most=12)
    blocks: list[Block] = [sizes, Paragraph(f"Definitions, private ones included: {changes}.")]
    return Section(title="Upstream surface", blocks=tuple(blocks))


def _options(gap: Gap, title: str, which: str) -> Section:
    rows: tuple[SurfaceRow, ...] = getattr(gap.surface, which) if gap.surface else ()
    if not rows:
        return Section(title=title, blocks=(Paragraph("No difference."),))
    counted = Counter(row.change for row in rows)
    text = listed([f"{counted[change]} {change.value}" for change in SurfaceChange if counted[change]], most=8) + "."
    order = {SurfaceChange.REMOVED: 0, SurfaceChange.RENAMED: 1, SurfaceChange.DEFAULT: 2, SurfaceChange.SIGNATURE: 3}
    ranked = sorted(rows, key=lambda row: (order.get(row.change, 9), row.name))
    table = Table(
        columns=("name", "change", "pin", "tip", "pin file:line", "tip file:line"),
        rows=tuple(
            (
                Cell(row.name, code=True),
                row.change.value,
                shorten(row.was or "—", 60),
                shorten(row.now or "—", 60),
                evidence_cell(row.pin_evidence),
                evidence_cell(row.tip_evidence),
            )
            for row in ranked[:MOST_SURFACE]
        ),
        more=max(0, len(ranked) - MOST_SURFACE),
    )
    return Section(title=title, blocks=(Paragraph(text), table))


def _stale(gap: Gap) -> Section:
    title = "Our YAML keys that the tip no longer knows"
    if not gap.stale_keys:
        return Section(title=title, blocks=(Paragraph("None."),))
    rows = tuple(
        (
            Cell(stale.key, code=True),
            place_cell(gap.downstream, gap.downstream_commit.hash, stale.location),
            str(stale.others),
            evidence_cell(stale.pin_evidence),
            stale.suggestion or "—",
        )
        for stale in gap.stale_keys[:MOST_COUPLINGS]
    )
    table = Table(
        columns=("key", "first place", "further places", "known at the pin", "near name at the tip"),
        rows=rows,
        numeric=frozenset({2}),
        more=max(0, len(gap.stale_keys) - MOST_COUPLINGS),
    )
    return Section(title=title, blocks=(table,))


def _patches(gap: Gap) -> Section:
    """What `patches drift` says beyond the places that will break, which stand above."""
    rows = [row for row in gap.patches or () if row.severity == "look"]
    broken = {row.location for row in gap.patches or () if row.severity == "breaks" and row.active}
    total = len({row.location for row in gap.patches or ()})
    text = (
        f"{len(broken) or 'None'} of {count(total, 'patched place')} {verb(len(broken), 'breaks')} (they are in the table "
        f"above); {count(len(rows), 'effect')} {verb(len(rows), 'needs')} a look."
    )
    blocks: list[Block] = [Paragraph(text)]
    if rows:
        shown = tuple(
            (row.patch, Cell(row.target, code=True), row.kind, row.location, shorten(row.detail, 120))
            for row in rows[:MOST_COUPLINGS]
        )
        more = max(0, len(rows) - MOST_COUPLINGS)
        columns = ("patch", "target", "drift", "place", "detail")
        blocks.append(Table(columns=columns, rows=shown, more=more, more_where="layline patches drift"))
    return Section(title="Patches", blocks=tuple(blocks))


def build_sources(gap: Gap, evidence_path: str) -> Section:
    """Files and commands that a reader can run; every fact with its own place is in the evidence file."""
    commands: list[tuple[str, str, str]] = [
        ("pin", gap.pin_evidence.command or str(gap.pin_evidence), gap.downstream),
        ("commits behind", f"git rev-list --count {span(gap)}", gap.upstream),
        ("commits ahead", f"git rev-list --count {gap.tip.commit.hash}..{gap.pin.commit.hash}", gap.upstream),
        ("merge base", f"git merge-base {gap.pin.commit.hash} {gap.tip.commit.hash}", gap.upstream),
        ("diff size", diff_command(gap), gap.upstream),
        ("files by area and class", diff_command(gap, "--numstat"), gap.upstream),
        ("commits and what they touch", f"git log --no-renames --name-only {span(gap)}", gap.upstream),
    ]
    commands += [
        (f"footprint of {folder}", f"git ls-tree -r -l {gap.downstream_commit.hash} -- {folder}", gap.downstream)
        for folder in gap.footprint.folders
    ]
    table = Table(
        columns=("fact", "command", "in a clone of"),
        rows=tuple((name, Cell(command, code=True), repo) for name, command, repo in commands),
    )
    files = f"Read for dependencies at both commits: {listed(list(gap.dependencies.files), most=25)}."
    every = (
        "Every fact with its commit, path, line or command is in ",
        Cell(evidence_path, code=True),
        "; ",
        Cell("layline gap verify", code=True),
        " recomputes them.",
    )
    return Section(title="Evidence sources", blocks=(table, Paragraph(files), Paragraph(every)), sections=())
