"""The part of the detailed report about us: coupling, surface, configuration, patches; then the evidence sources."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.change.surface import StaleKey
from layline.core.evidence import Evidence
from layline.core.prose import count, listed, shorten_clauses, verb
from layline.core.report import Cell, Paragraph, Section, Table
from layline.core.why import Reason, say
from layline.coupling.drift_model import Drift
from layline.coupling.model import Consequence, State
from layline.gap import statements
from layline.gap.beside import tell_asked
from layline.gap.breaks import (
    BrokenName,
    Standing,
    common_folder,
    find_doubtful_rows,
    find_further_patches,
    find_places,
    find_silent,
    find_standings,
    group_broken,
    is_absent,
    say_kind,
    say_state,
)
from layline.gap.cells import (
    change_cell,
    diff_command,
    evidence_cell,
    join_text,
    listed_text,
    own_place,
    place_cell,
    plain_text,
    span,
)
from layline.gap.follow import say_change
from layline.history.commits import say_count

if TYPE_CHECKING:
    from datetime import date

    from layline.core.report import Block, Inline
    from layline.coupling.model import Coupling
    from layline.gap.model import Gap

_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2})\.json\Z")
MOST_COUPLINGS = 8
MOST_FOLDED = 40
_LONGEST = 160
"""Characters of a reason in the main part; the appendix has it whole."""
_GUARDS = frozenset({Reason.GUARD_OVER, Reason.GUARD_OVER_UNLESS, Reason.GUARD_FOLLOWS, Reason.GATE_OVER})
"""Why a write is skipped."""
_COLUMNS = ("our place", "upstream name", "how; state", "detail", "pin", "tip")


def build_integration(gap: Gap) -> Section:
    """What breaks, by upstream name, whole; what may; and how much of the rest there is."""
    if gap.surface is None:
        text = "Not compared: the backend configures no `packages` or no `integration` folder."
        return Section(title="Integration and coupling", blocks=(Paragraph(text), *_footprint(gap)))
    inner = [_broken(gap), *_follows(gap), *_silent(gap), _doubtful(gap), _stale(gap, MOST_COUPLINGS)]
    intro = Paragraph(f"{next(iter(statements.find_reasons(gap)))} {statements.place_sentence(gap)}")
    return Section(title="Integration and coupling", blocks=(intro, *_footprint(gap)), sections=tuple(inner))


def build_folded_integration(gap: Gap) -> list[Section]:
    """Every row with its evidence."""
    if gap.surface is None:
        return []
    places = tuple(_standing(gap, kind) for kind in (Standing.FITS, Standing.ABSENT, Standing.UNDECIDED))
    found = [_rows(gap), _files(gap), *places, _definitions(gap)]
    if find_doubtful_rows(gap):
        found.append(_doubtful(gap, MOST_FOLDED))
    if len(gap.stale_keys) > MOST_COUPLINGS:
        found.append(_stale(gap, len(gap.stale_keys)))
    return [replace(section, folded=True) for section in found if section.blocks]


def _footprint(gap: Gap) -> list[Block]:
    foot = gap.footprint
    if not foot.folders:
        return [Paragraph("No integration folder is configured for this backend.")]
    text = statements.footprint_sentence(gap, most=6)
    said = (statements.outside_sentence(gap), statements.beyond_sentence(gap), statements.unnamed_sentence(gap))
    more = [told for told in said if told]
    return [Paragraph(" ".join([text, *more]))]


def _broken(gap: Gap) -> Section:
    """Never cut: every place stands here, under the upstream name it uses; the weightiest names first."""
    places = find_places(gap)
    title = f"Errors: {count(len(places), 'place')} {verb(len(places), 'breaks')}"
    if not places:
        return Section(title=title, blocks=(Paragraph("None."),))
    rows = group_broken(gap)
    base = common_folder([place for row in rows for place in row.places])
    below = f"{_tell_base(base)} " if base else ""
    table = Table(
        columns=("upstream name", "what became of it", "since", "our places"),
        rows=tuple(_broken_row(gap, row, base) for row in rows),
        caption=f"{below}A place that uses several names is listed under each and counted once; the appendix has each "
        "row with its lines at pin and tip.",
    )
    return Section(title=title, blocks=(table,))


def _broken_row(gap: Gap, row: BrokenName, base: str) -> tuple[Inline, ...]:
    pieces: list[str | Cell] = []
    for place in row.places:
        cell = own_place(gap, place, text=place.removeprefix(base))
        pieces += [", ", cell] if pieces else [cell]
    numbers = {commit: f"#{number}" for commit, number in gap.numbers.items() if number}
    since: list[str | Cell] = []
    for culprit in row.culprits:
        cell = Cell(numbers.get(culprit, culprit[:8]), evidence=Evidence(repo=gap.upstream, commit=culprit))
        since += [", ", cell] if since else [cell]
    if row.removed is not None and row.removed not in row.culprits:
        since += [", removed by ", change_cell(gap, row.removed, gap.numbers.get(row.removed))]
    names = [piece for name in (row.target, *row.also) for piece in (", ", Cell(name, code=True))][1:]
    return tuple(names), row.said, tuple(since) or "—", tuple(pieces)


def _rows(gap: Gap) -> Section:
    found = [one for one in gap.couplings if one.consequence is Consequence.WILL_BREAK]
    silent = find_silent(gap)
    more = f", then {len(silent)} for patches that stop applying" if silent else ""
    further = [*find_further_patches(gap), *silent]
    base = common_folder([*(str(one.location) for one in found), *(str(row.location) for row in further)])
    rows = [_coupling_row(gap, one, base) for one in found] + [_patch_row(gap, row, base) for row in further]
    table = Table(columns=_COLUMNS, rows=tuple(rows), caption=_tell_base(base))
    return Section(
        title=f"Errors, row by row: {count(len(rows) - len(silent), 'row')}{more}",
        blocks=(table,) if rows else (),
    )


def _follows(gap: Gap) -> list[Section]:
    """Methods of ours for which the new address of their class is not enough."""
    if not gap.follows:
        return []
    base = common_folder([str(one.location) for one in gap.follows])
    rows: list[tuple[Inline, ...]] = []
    for one in gap.follows[:MOST_FOLDED]:
        by = listed_text([change_cell(gap, step.commit, gap.numbers.get(step.commit)) for step in one.changes])
        place = own_place(gap, str(one.location), text=str(one.location).removeprefix(base))
        rows.append((place, Cell(one.arrival, code=True), say_change(one), by))
    table = Table(
        columns=("our method", "upstream's at the tip", "what it does there", "changed by"),
        rows=tuple(rows),
        caption=f"{_tell_base(base)} The classes have new names (above); these methods of ours override theirs.",
        more=max(0, len(gap.follows) - MOST_FOLDED),
        more_where="the evidence file",
    )
    number = len(gap.follows)
    title = f"After the move: {count(number, 'override')} of ours {verb(number, 'needs')} more than the new name"
    return [Section(title=title, blocks=(table,))]


def _standing(gap: Gap, kind: Standing) -> Section:
    """Places of one kind, by file."""
    files: dict[str, list[str]] = {}
    for place, standing in find_standings(gap).items():
        if standing is kind:
            files.setdefault(place.rpartition(":")[0], []).append(place)
    rows = []
    for path, places in sorted(files.items())[:MOST_FOLDED]:
        lines = sorted(places, key=lambda place: int(place.rpartition(":")[2]))[:MOST_FOLDED]
        cells = listed_text([own_place(gap, place, text=place.rpartition(":")[2]) for place in lines])
        rest = len(places) - len(lines)
        row: tuple[Inline, ...] = (Cell(path, code=True), join_text(cells, f" and {rest} more" if rest else ""))
        rows.append(row if kind is Standing.FITS else (*row, _say_undecided(gap, lines, kind)))
    table = Table(
        columns=("file", "lines") if kind is Standing.FITS else ("file", "lines", "why"),
        rows=tuple(rows),
        more=max(0, len(files) - MOST_FOLDED),
        more_where="the evidence file",
    )
    total = sum(map(len, files.values()))
    title = f"{count(total, 'place')} that {kind.of_one if total == 1 else kind.value}"
    return Section(title=title, blocks=(table,) if rows else ())


def _say_undecided(gap: Gap, places: list[str], kind: Standing) -> str:
    """What is known of each name that nothing is decided about, or that the pin does not have."""
    here = (one for one in gap.couplings if one.state is State.UNDECIDED and str(one.location) in places)
    told = (one for one in here if is_absent(one) is (kind is Standing.ABSENT))
    return "; ".join(dict.fromkeys(f"{one.target}: {one.detail or 'made when the code runs'}" for one in told))


def _silent(gap: Gap) -> list[Section]:
    """What our code skips at the tip: nobody sees an error, and the patch is gone."""
    rows = find_silent(gap)
    if not rows:
        return []
    base = common_folder([str(row.location) for row in rows])
    table = Table(
        columns=("our place", "upstream name", "why", "tip"),
        rows=tuple(_silent_row(gap, row, base) for row in rows),
        caption=_tell_base(base),
    )
    title = f"Warnings: {count(len(rows), 'patched place')} {verb(len(rows), 'stops')} applying without an error"
    return [Section(title=title, blocks=(table,))]


def _silent_row(gap: Gap, row: Drift, base: str) -> tuple[Inline, ...]:
    """Why our code skips the write, and what upstream does itself; all else of the target is in the appendix."""
    place, name, *_, tip = _patch_row(gap, row, base)
    words = dict(gap.done).get(str(row.location))
    reads = f"its target reads {listed(list(words))}, as our code does" if words else ""
    own = [f"can be deleted: upstream does it itself at the tip ({reads})"] if words else []
    guards = [say(one) for one in row.reasons if one.reason in _GUARDS]
    return place, name, "; ".join(own or guards) or row.detail, tip


def _doubtful(gap: Gap, most: int = MOST_COUPLINGS) -> Section:
    found = find_doubtful_rows(gap)
    standings = Counter(find_standings(gap).values())
    asked = (Standing.FAILS, Standing.DEAD, Standing.LOOK, Standing.CHANGED)
    kinds = [kind for kind in asked if standings[kind] or kind is Standing.LOOK]
    told = [
        f"{count(standings[kind], 'place')} {kind.of_one if standings[kind] == 1 else kind.value}" for kind in kinds
    ]
    places = sum(standings[kind] for kind in kinds)
    title = f"Warnings: {', '.join(told)}"
    if not found:
        return Section(title=title, blocks=(Paragraph("None."),))
    base = common_folder([str(one.location) for one in found[:most]])
    table = Table(
        columns=_COLUMNS,
        rows=tuple(_row(gap, one, base, whole=most != MOST_COUPLINGS) for one in found[:most]),
        caption=" ".join(filter(None, (_tell_base(base), _tell_rows(len(found), places)))),
        more=max(0, len(found) - most),
        more_where=_where(most, len(found)),
    )
    return Section(title=title, blocks=(table,))


def _where(most: int, total: int) -> str:
    """Where the rows are that a table leaves out: the main part cuts early, the appendix late."""
    if most != MOST_COUPLINGS:
        return "the evidence file"
    if total <= MOST_FOLDED:
        return "the appendix"
    return f"the evidence file; the first {MOST_FOLDED} are in the appendix, too"


def _tell_rows(rows: int, places: int) -> str:
    if rows <= places:
        return ""
    return f"{rows} rows for {count(places, 'place')}: a line that uses several names has one row for each."


def _tell_base(base: str) -> str:
    return f"Paths are relative to {base}." if base else ""


def _row(gap: Gap, one: Coupling | Drift, base: str, *, whole: bool) -> tuple[Inline, ...]:
    row = _patch_row(gap, one, base) if isinstance(one, Drift) else _coupling_row(gap, one, base)
    return row if whole else (*row[:3], shorten_clauses(plain_text(row[3]), _LONGEST), *row[4:])


def _patch_row(gap: Gap, row: Drift, base: str) -> tuple[Inline, ...]:
    ends = {
        one.commit: evidence_cell(one, text="pin" if one.commit == gap.pin.commit.hash else "tip")
        for one in row.evidence
    }
    return (
        own_place(gap, str(row.location), text=str(row.location).removeprefix(base)),
        Cell(row.target or row.patch, code=True),
        f"patches; {say_kind(row)}",
        row.detail,
        ends.get(gap.pin.commit.hash, "—"),
        ends.get(gap.tip.commit.hash, "—"),
    )


def _coupling_row(gap: Gap, one: Coupling, base: str) -> tuple[Inline, ...]:
    detail = one.detail if not one.new_target else f"now {one.new_target}" + (f"; {one.detail}" if one.detail else "")
    guarded = " (guarded)" if one.guarded else ""
    return (
        own_place(gap, str(one.location), text=str(one.location).removeprefix(base)),
        Cell(one.target, code=True),
        f"{one.touch.value}; {say_state(one.state.value)}{guarded}",
        detail,
        evidence_cell(one.pin_evidence, text="pin"),
        evidence_cell(one.tip_evidence, text="tip"),
    )


def _files(gap: Gap) -> Section:
    """Places of each file of ours by what becomes of them; patches included."""
    counted: dict[str, Counter[Standing]] = {}
    for place, standing in find_standings(gap).items():
        counted.setdefault(place.rpartition(":")[0], Counter())[standing] += 1
    fine = {path for path, kinds in counted.items() if not kinds.keys() - {Standing.FITS}}
    hurt = sorted(counted.keys() - fine, key=lambda path: (*(-counted[path][kind] for kind in Standing), path))
    seldom = {Standing.FAILS, Standing.DEAD, Standing.ABSENT, Standing.UNDECIDED}
    kinds = [kind for kind in Standing if kind not in seldom or any(one[kind] for one in counted.values())]
    rows: tuple[tuple[Inline, ...], ...] = tuple(
        (Cell(path, code=True), *(str(counted[path][kind]) for kind in kinds)) for path in hurt
    )
    rest = sum(counted[path].total() for path in fine)
    table = Table(
        columns=("file", *(f"places that {kind.value}" for kind in kinds)),
        rows=rows,
        numeric=frozenset(range(1, 1 + len(kinds))),
        caption=f"Every place of {count(len(fine), 'further file')} fits: {rest}." if rest else "",
    )
    errors = {path for path in hurt if counted[path][Standing.BREAKS]}
    warned = {
        path
        for path in hurt
        if counted[path].keys() & {Standing.STOPS, Standing.FAILS, Standing.DEAD, Standing.LOOK, Standing.CHANGED}
    }
    title = f"Files of ours: {len(errors)} with errors, {len(warned - errors)} with warnings only"
    return Section(title=title, blocks=(table,) if rows else ())


def _definitions(gap: Gap) -> Section:
    """The surface in sentences: how much there is on both sides, and how it changed."""
    sizes = gap.surface.sizes if gap.surface else ()
    grown = listed([f"{name} {was} → {now}" for name, was, now in sizes], most=8)
    changes = listed(statements.tell_surface(gap, "definitions"), most=12)
    told = [f"From pin to tip: {grown}. Definitions, private ones included: {changes}."]
    for title, which in (("Config fields", "fields"), ("Command-line flags", "flags")):
        parts = statements.tell_surface(gap, which)
        told.append(f"{title}: {listed(parts, most=8) if parts else 'no difference'}.")
    return Section(title="Upstream surface in figures", blocks=(Paragraph(" ".join(told)),))


def _stale(gap: Gap, most: int) -> Section:
    title = f"Our YAML keys that the tip no longer knows ({len(gap.stale_keys)})"
    if not gap.stale_keys:
        return Section(title=title, blocks=(Paragraph("None."),))
    rows = tuple(
        (
            Cell(stale.written or stale.key, code=True),
            place_cell(gap.downstream, gap.downstream_commit.hash, stale.location),
            str(stale.lines),
            change_cell(gap, stale.culprit, gap.numbers.get(stale.culprit)) if stale.culprit else "—",
            evidence_cell(stale.pin_evidence),
            _tell_near(gap, stale),
        )
        for stale in gap.stale_keys[:most]
    )
    table = Table(
        columns=(
            "key",
            "first line",
            "lines",
            "unknown since",
            "known at the pin",
            "near name at the tip",
        ),
        rows=rows,
        numeric=frozenset({2}),
        more=max(0, len(gap.stale_keys) - most),
        more_where="the appendix",
    )
    told = tell_asked(gap)
    return Section(title=title, blocks=(*([Paragraph(told)] if told else []), table))


def _tell_near(gap: Gap, stale: StaleKey) -> str:
    """The new name of a key, and where another number is its default, both: it may count something else."""
    defaults = (f" (default {was} → {now}: check the unit)" for key, was, now in gap.defaults if key == stale.key)
    return f"{stale.suggestion}{next(defaults, '')}" if stale.suggestion else "—"


def build_sources(evidence_path: str, day: date, *, whole: bool = True) -> Section:
    """`whole` in the detailed report, whose appendix has the commands."""
    dated = _DATED.search(evidence_path)
    old = dated is not None and dated[1] != day.isoformat()
    kept = " (files keep the name of the first report)" if old else ""
    every = (
        "Every fact with its commit, path, line or command is in ",
        Cell(evidence_path, code=True),
        f"{kept}; ",
        Cell("layline gap verify", code=True),
        f" recomputes them.{' The commands are in the appendix.' if whole else ''}",
    )
    return Section(title="Evidence sources", blocks=(Paragraph(every),))


def build_folded_sources(gap: Gap) -> list[Section]:
    """Files and commands that a reader can run."""
    pin, tip = gap.pin.commit.hash, gap.tip.commit.hash
    commands: list[tuple[str, str, str]] = [
        ("pin", gap.pin_evidence.command or str(gap.pin_evidence), gap.downstream),
        ("commits behind", say_count(pin, tip), gap.upstream),
        ("commits ahead", say_count(tip, pin), gap.upstream),
        ("merge base", f"git merge-base {pin} {tip}", gap.upstream),
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
    return [Section(title="Commands behind the figures", blocks=(table, Paragraph(files)), folded=True)]
