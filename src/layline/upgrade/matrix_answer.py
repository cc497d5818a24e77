"""Each patch against many upstream commits: which are asked about, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Location, Severity
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.progress import Progress, silent, within
from layline.core.prose import count, listed, verb
from layline.core.report import Answer, Chart, Paragraph, Report, Section, Table
from layline.errors import ConfigError, Error
from layline.history.commits import count_commits, read_commit
from layline.patches.drift.report import encode_commit
from layline.upgrade.cells import judge_cells
from layline.upgrade.judging import pin_of
from layline.upgrade.matrix import Fit, Matrix, Row, build_matrix
from layline.upgrade.refs import (
    Ref,
    choose_releases,
    date_refs,
    find_listed,
    find_position,
    find_span,
    find_tags,
    find_weekly,
    keep_since,
    thin,
)

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.upgrade import answers
    from layline.workspace.open import Workspace

SCHEMA: Literal["layline.matrix/1"] = "layline.matrix/1"
_HEAT = {Fit.OK: 0.0, Fit.LOOK: 1.0, Fit.ABSENT: 2.0, Fit.BREAKS: 3.0}
_SHOWN = 6
_EACH = "Places of ours that break:"
_ASK = "`layline patches drift --to REF`"


def ask_matrix(
    workspace: Workspace, key: str, wanted: tuple[str | None, int | None], progress: Progress = silent
) -> Matrix:
    """Every patch at each of these upstream commits."""
    upstream, pin = pin_of(workspace, key)
    refs, every = wanted
    meant = find_refs(upstream, refs, (pin, workspace.settings.backend(key).ref), find_birthday(workspace.downstream))
    step = _step(refs, every)
    chosen = choose_releases(meant, pin) if step is None else thin(meant, step)
    judged = []
    for number, ref in enumerate(chosen, 1):
        part = f"judging {ref.name}, {number} of {len(chosen)}"
        progress(part, 0, 0)
        judged.append(judge_cells(workspace, key, ref.commit, within(progress, part)))
    ends = _find_ends(workspace, key)
    behind = [find_position(upstream, ends, ref.commit) is not None for ref in chosen]
    found = build_matrix(chosen, [one.cells for one in judged], [one.elsewhere for one in judged], behind)
    return replace(found, asked=len(meant), failing=tuple(one.failing for one in judged))


def build_matrix_answer(workspace: Workspace, key: str, matrix: Matrix) -> Answer:
    title = _say(matrix, workspace.label(key))
    upstream, _ = pin_of(workspace, key)
    ends = _find_ends(workspace, key)
    safe = _find_safe(upstream, ends, matrix)
    said = (
        _say_safe(safe, _find_next(upstream, ends, matrix, safe), matrix, is_after=_has_later(upstream, ends, matrix)),
        *_say_others(matrix),
    )
    return Answer(
        report=_build_report(matrix, title, said),
        data=_encode(matrix, key, safe),
        listing=Listing(title=title, meta=said, groups=_group(matrix)),
    )


def choose_refs(
    upstream: Repository, words: str | None, ends: tuple[str, str], every: int | None, born: str | None = None
) -> list[Ref]:
    """Those of the refs that are judged."""
    return thin(find_refs(upstream, words, ends, born), _step(words, every))


def find_birthday(downstream: Repository) -> str | None:
    """The day of our first commit; None where a shallow clone does not hold it."""
    if downstream.is_shallow:
        return None
    first = downstream.git("log", "--max-parents=0", "--format=%cs", downstream.resolve("HEAD"))
    days = first.decode("ascii").split()
    return min(days, default=None)


def _step(words: str | None, every: int | None) -> int | None:
    """Refs that somebody named one by one are all meant."""
    kinds = {None, "tags", "all-tags", "weekly"}
    is_kind = words in kinds or (".." in str(words) and not Path(str(words)).is_file())
    return every if every is not None or is_kind else 1


def find_refs(upstream: Repository, words: str | None, ends: tuple[str, str], born: str | None = None) -> list[Ref]:
    """`tags`, `all-tags`, `weekly`, `A..B`, refs by name (`A,B`), or a file with one ref on each line.

    Default: releases, else weeks. `born`: the day of our first commit; no code of ours was written for a release that
    was old by then.
    """
    pin, ref = ends
    match words:
        case "tags":
            found = _find_releases(upstream, pin)
        case "all-tags":
            found = date_refs(upstream, find_tags(upstream))
            found = keep_since(found, born) if born is not None else found
        case "weekly":
            found = _find_weeks(upstream, pin, ref)
        case None:
            found = _find_releases(upstream, pin) or _find_weeks(upstream, pin, ref)
        case _ if Path(words).is_file():
            named = find_listed(upstream, Path(words).read_text(encoding="utf-8", errors="replace"))
            found = date_refs(upstream, named)
        case _ if ".." in words:
            return [Ref(name, commit, date) for name, commit, date in _dated(upstream, find_span(upstream, words))]
        case _:
            found = date_refs(upstream, find_listed(upstream, words.replace(",", "\n")))
    if not found:
        raise ConfigError(f"{upstream.name} has no such refs.", hint="Use --refs weekly, A..B or a file of refs.")
    return found


def _find_releases(upstream: Repository, pin: str) -> list[Ref]:
    return keep_since(date_refs(upstream, find_tags(upstream)), read_commit(upstream, pin).date)


def _find_weeks(upstream: Repository, pin: str, ref: str) -> list[Ref]:
    return date_refs(upstream, find_weekly(upstream, pin, upstream.resolve_upstream(ref)))


def _dated(upstream: Repository, named: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """In the order of history, not of dates."""
    dates = {ref.commit: ref.date for ref in date_refs(upstream, named)}
    return [(name, commit, dates[commit]) for name, commit in named]


def _find_ends(workspace: Workspace, key: str) -> tuple[str, str]:
    """Pin and tip; where upstream does not have the configured ref, the pin twice."""
    upstream, pin = pin_of(workspace, key)
    try:
        return pin, upstream.resolve_upstream(workspace.settings.backend(key).ref)
    except Error:
        return pin, pin


def _find_safe(upstream: Repository, ends: tuple[str, str], matrix: Matrix) -> answers.SafeRef | None:
    """The newest of these commits that comes after the pin and breaks nothing."""
    placed = [(find_position(upstream, ends, ref.commit), ref) for ref in matrix.usable]
    after = [(position, ref.date, ref) for position, ref in placed if position is not None]
    if not after:
        return None
    ref = max(after, key=lambda one: one[:2])[2]
    lacks, ahead = count_commits(upstream, ends[0], ref.commit)
    return {"commit": ref.commit, "ref": ref.name, "date": ref.date, "commits_ahead": ahead, "commits_lacking": lacks}


def _find_next(upstream: Repository, ends: tuple[str, str], matrix: Matrix, safe: answers.SafeRef | None) -> str | None:
    """The first of these commits after the safe pin, which breaks something; None where there is none."""
    here = find_position(upstream, ends, safe["commit"]) if safe is not None else None
    placed = [(find_position(upstream, ends, ref.commit), ref.date, ref.name) for ref in matrix.refs]
    later = [(place, date, name) for place, date, name in placed if place is not None and here and place > here]
    return min(later)[2] if later else None


def _has_later(upstream: Repository, ends: tuple[str, str], matrix: Matrix) -> bool:
    return any(find_position(upstream, ends, ref.commit) is not None for ref in matrix.refs)


def _say_safe(safe: answers.SafeRef | None, after: str | None, matrix: Matrix, *, is_after: bool) -> str:
    """In the word of `upgrade plan`, which looks at more commits; `is_after`: one of these comes after the pin."""
    if safe is None:
        why = "each one after the pin breaks something of ours" if is_after else "none of them comes after the pin"
        if is_after and (usable := [ref.name for ref in matrix.usable]):
            why += f" ({listed(usable, most=_SHOWN)} {'does' if len(usable) == 1 else 'do'} not come after it)"
        return f"No safe pin is among them: {why}. `upgrade plan --safe` looks at every commit between pin and tip."
    lacks = safe["commits_lacking"]
    branch = f" It lacks {count(lacks, 'commit')} of the pin's own branch." if lacks else ""
    broken = f" The next one, {after}, breaks places of ours." if after is not None else ""
    return (
        f"The newest safe pin among them is {safe['ref']}.{branch}{broken} "
        "`upgrade plan --safe` looks at every commit between pin and tip."
    )


def _say(matrix: Matrix, label: str) -> str:
    """Which commits break nothing of ours, then what the last one breaks: never more than was compared with the pin."""
    usable, last = [ref.name for ref in matrix.usable], matrix.refs[-1].name
    found = "; ".join(_say_last(matrix))
    if len(matrix.refs) == 1:
        return f"{label}: at {last}, {found}."
    number = len(matrix.refs)
    some = f"{len(usable)} of {count(number, 'upstream commit')} {verb(len(usable), 'breaks')} nothing of ours"
    if not usable:
        some = f"each of {count(number, 'upstream commit')} breaks something of ours"
    where = f" ({listed(usable, most=_SHOWN)})" if usable and len(usable) < number else ""
    return f"{label}: {some}{where}. At {last}, {found}."


def _say_last(matrix: Matrix) -> Iterator[str]:
    """What the last of the commits does to us, each line of ours counted once."""
    broken, others = matrix.find_broken(-1), set(matrix.elsewhere[-1])
    parts = (f"{len(broken - others)} in patches", f"{len(others)} outside patches")
    told = f", {' and '.join(parts)}" if others and broken - others else " outside patches" if others else ""
    yield (
        f"{count(len(broken), 'place')} of ours {verb(len(broken), 'breaks')}{told}"
        if broken
        else "nothing of ours breaks"
    )
    if matrix.failing and matrix.failing[-1]:
        yield f"{matrix.failing[-1]} {verb(matrix.failing[-1], 'fails')} at the pin already"
    if not matrix.rows:
        yield "no patch of ours changes this upstream"
    absent = sum(row.cells[-1] is Fit.ABSENT and not row.broken[-1] for row in matrix.rows)
    if absent:
        yield f"the pin and {matrix.refs[-1].name} lack the module of {count(absent, 'effect')}"


def _say_legend(matrix: Matrix) -> str:
    names = ", ".join(ref.name for ref in matrix.refs)
    return f"One letter for each commit, from left to right: {names}. · fits, ? needs a look, X breaks, - its module is absent."


def _say_others(matrix: Matrix) -> Iterator[str]:
    if _is_thinned(matrix):
        yield f"{len(matrix.refs)} of {matrix.asked} are judged, releases first; `--every 1` judges all."
    if any(matrix.failing):
        yield "A place that fails at the pin already does not count as broken."
    yield "`layline upgrade check --pin REF` lists what does not fit one version."


def _count_each(matrix: Matrix) -> Iterator[tuple[int, str]]:
    """The places that break at each commit; no row of a patch may show them."""
    for number, ref in enumerate(matrix.refs):
        broken, outside = len(matrix.find_broken(number)), len(matrix.elsewhere[number])
        some = "all" if outside == broken else str(outside)
        told = f", {some} outside patches" if outside else ""
        failing = matrix.failing[number] if matrix.failing else 0
        old = f"; {failing} more {verb(failing, 'fails')} at the pin already" if failing else ""
        yield broken, f"at {ref.name} ({ref.date}){told}{old}"


def _is_thinned(matrix: Matrix) -> bool:
    return matrix.asked > len(matrix.refs)


def _group(matrix: Matrix) -> tuple[Group, ...]:
    worst = sorted(
        matrix.rows, key=lambda row: (row.first_break is None, -_weigh(row), row.location.path, row.location.line)
    )
    rows = [*_group_elsewhere(matrix), Group(items=tuple(_diagnose(row) for row in worst))]
    shown = [group for group in rows if group.items]
    legend = [Group(lines=(_say_legend(matrix),))] if shown else []
    each = [Group(title=_EACH, counts=tuple(_count_each(matrix)))] if len(matrix.refs) > 1 else []
    return (*each, *legend, *shown)


def _group_elsewhere(matrix: Matrix) -> Iterator[Group]:
    """The places outside patches that break, each with where: no row of a patch shows them."""
    places = sorted({one for found in matrix.elsewhere for one in found}, key=lambda one: (one.path, one.line))
    if places:
        title = f"Outside patches ({_ASK} says why):"
        yield Group(title=title, items=tuple(_diagnose_place(place, matrix) for place in places))


def _diagnose_place(place: Location, matrix: Matrix) -> Diagnostic:
    broken = [ref for ref, found in zip(matrix.refs, matrix.elsewhere, strict=True) if place in found]
    picture = "".join((Fit.BREAKS if ref in broken else Fit.OK).letter for ref in matrix.refs)
    message = f"{picture} breaks at {listed([ref.name for ref in broken], most=_SHOWN)}"
    return Diagnostic(location=place, severity=Severity.BREAKS, code="matrix", message=message)


def _weigh(row: Row) -> float:
    return sum(_HEAT[cell] for cell in row.cells)


def _diagnose(row: Row) -> Diagnostic:
    severity = Severity.BREAKS if row.first_break is not None else Severity.LOOK if _weigh(row) else Severity.OK
    picture = "".join(cell.letter for cell in row.cells)
    details: tuple[tuple[str, str], ...] = ()
    if row.first_break is not None:
        who = f", {row.culprit.hash[:8]} {row.culprit.subject}" if row.culprit is not None else ""
        details = (("since", f"{row.first_break.name} ({row.first_break.date}){who}"),)
    elif row.needs_after is not None:
        details = (("older", _say_older(row.needs_after, f" ({row.needs_after.date})")),)
    return Diagnostic(
        location=row.location, severity=severity, code="matrix", message=f"{picture} {row.target}", details=details
    )


def _say_older(ref: Ref, date: str = "") -> str:
    return f"breaks at {ref.name}{date}, which does not contain the pin"


def _build_report(matrix: Matrix, title: str, said: tuple[str, ...]) -> Report:
    columns = tuple(ref.name for ref in matrix.refs)
    series = tuple(
        (row.target, tuple((name, _HEAT[cell]) for name, cell in zip(columns, row.cells, strict=True)))
        for row in matrix.rows
    )
    rows = tuple((row.target, "".join(cell.letter for cell in row.cells), _since(row)) for row in matrix.rows)
    table = Table(columns=("target", "fits", "breaks since"), rows=rows)
    chart = Chart(kind="heat", title="0 ok, 1 look, 2 absent, 3 breaks", series=series)
    each = Table(columns=("places that break", "commit"), rows=tuple((str(n), at) for n, at in _count_each(matrix)))
    blocks = (
        *map(Paragraph, said),
        each,
        Paragraph(_say_legend(matrix)),
        table,
        *((chart,) if 0 < len(series) <= MOST_DRAWN else ()),
    )
    return Report(title=title, sections=(Section(title="Patches and refs", blocks=blocks),))


MOST_DRAWN = 60


def _since(row: Row) -> str:
    if row.first_break is None:
        return _say_older(row.needs_after) if row.needs_after is not None else "–"
    return f"{row.first_break.name}{f': {row.culprit.subject}' if row.culprit is not None else ''}"


def _encode(matrix: Matrix, key: str, safe: answers.SafeRef | None) -> answers.Matrix:
    return {
        "schema": SCHEMA,
        "backend": key,
        "refs": [
            {
                "ref": ref.name,
                "commit": ref.commit,
                "date": ref.date,
                "other_places": len(places),
                "elsewhere": [str(place) for place in places],
                "failing_already": failing,
            }
            for ref, places, failing in zip(matrix.refs, matrix.elsewhere, matrix.failing, strict=True)
        ],
        "rows": [
            {
                "patch": row.patch,
                "target": row.target,
                "location": str(row.location),
                "cells": [cell.value for cell in row.cells],
                "first_break": row.first_break.name if row.first_break is not None else None,
                "culprit": encode_commit(row.culprit),
                "needs_after": row.needs_after.name if row.needs_after is not None else None,
            }
            for row in matrix.rows
        ],
        "usable": [ref.name for ref in matrix.usable],
        "failing_already": max(matrix.failing, default=0),
        "safe_pin": safe,
    }
