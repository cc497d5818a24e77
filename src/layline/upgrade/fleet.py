"""Every project of an organisation on one page: how far behind, and what breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Severity, Skipped, encode_skipped
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.progress import Progress, silent
from layline.core.prose import count, verb
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table
from layline.errors import ConfigError, Error
from layline.history.commits import compare_commits, read_commit
from layline.patches.drift.ask import DriftOptions, find_drift
from layline.patches.drift.places import count_places
from layline.patches.drift.sentences import tell_row
from layline.upgrade.fleet_file import FleetProject, read_fleet
from layline.workspace.open import Workspace

if TYPE_CHECKING:
    from layline.upgrade import answers

SCHEMA: Literal["layline.fleet/1"] = "layline.fleet/1"
OPTIONS = DriftOptions(culprits=True)
_SHOWN = 20
"""Places of one project that the page names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One backend of one project."""

    project: str
    backend: str
    commit: str
    pin: str
    pinned: str
    """Date of the pin."""
    tip: str
    behind: int
    places: int
    """Patched ones."""
    broken: int
    elsewhere: int
    """Places outside patches that break."""
    dead: int
    rows: tuple[Diagnostic, ...]


def find_members(file: Path, progress: Progress = silent) -> tuple[list[Member], list[Skipped]]:
    """Every backend of every project, and what cannot be read."""
    members: list[Member] = []
    skipped: list[Skipped] = []
    listed = read_fleet(file)
    for number, project in enumerate(listed, 1):
        progress(f"asking {project.name}", number, len(listed))
        for found in _ask(project):
            (skipped if isinstance(found, Skipped) else members).append(found)  # type: ignore[arg-type]
    if not members:
        raise ConfigError(f"No project of {file} can be read: {skipped[0].what}: {skipped[0].why}")
    return members, skipped


def build_fleet_answer(members: list[Member], skipped: list[Skipped]) -> Answer:
    title = _say(members)
    data: answers.Fleet = {
        "schema": SCHEMA,
        "projects": [_encode(one) for one in members],
        "skipped": encode_skipped(skipped),
    }
    groups = tuple(Group(title=_say_member(one), items=one.rows) for one in members)
    return Answer(
        report=_build_report(title, members, tuple(skipped)),
        data=data,
        needs_person=any(one.broken or one.elsewhere for one in members),
        listing=Listing(title=title, groups=groups, skipped=tuple(skipped)),
    )


def _ask(project: FleetProject) -> Iterator[Member | Skipped]:
    try:
        workspace = project.open()
    except Error as error:
        yield Skipped(project.name, error.message)
        return
    for key in workspace.settings.backends:
        try:
            yield _find(project, workspace, key)
        except Error as error:
            yield Skipped(f"{project.name} {key}", error.message)


def _find(project: FleetProject, workspace: Workspace, key: str) -> Member:
    asked, found = find_drift(workspace, key, OPTIONS)
    places = count_places(found.rows)
    others = (item for item in found.elsewhere if item.severity is Severity.BREAKS and not item.fails_already)
    elsewhere = {item.location for item in others}
    broken = [row for row in found.rows if row.severity is Severity.BREAKS and not row.fails_already]
    return Member(
        project=project.name,
        backend=workspace.label(key),
        commit=workspace.commit,
        pin=found.pin,
        pinned=read_commit(asked.upstream, found.pin).date,
        tip=found.tip,
        behind=compare_commits(asked.upstream, found.pin, found.tip).behind,
        places=places.total,
        broken=places.broken,
        elsewhere=len(elsewhere),
        dead=places.dead,
        rows=tuple(tell_row(row) for row in broken[:_SHOWN]),
    )


def _say(members: list[Member]) -> str:
    total = sum(one.broken + one.elsewhere for one in members)
    hit = len({one.project for one in members if one.broken or one.elsewhere})
    projects = len({one.project for one in members})
    return f"{count(total, 'place')} {verb(total, 'breaks')} in {hit} of {count(projects, 'project')}."


def _say_member(one: Member) -> str:
    return (
        f"{one.project} over {one.backend}: {count(one.behind, 'commit')} behind; {one.broken} of "
        f"{count(one.places, 'patched place')} and {count(one.elsewhere, 'other place')} "
        f"{verb(one.broken + one.elsewhere, 'breaks')} at {one.tip[:8]}."
    )


def _build_report(title: str, members: list[Member], skipped: tuple[Skipped, ...]) -> Report:
    columns = (
        "project",
        "backend",
        "pin",
        "commits behind",
        "patched places",
        "break",
        "outside patches",
        "dead today",
    )
    rows = tuple(
        (
            one.project,
            one.backend,
            f"{one.pin[:8]} ({one.pinned})",
            *(str(number) for number in (one.behind, one.places, one.broken, one.elsewhere, one.dead)),
        )
        for one in members
    )
    table = Table(columns=columns, rows=rows, numeric=frozenset(range(3, len(columns))))
    sections = [Section(title="All projects", blocks=(table,))]
    for one in members:
        lines = tuple(f"{row.location}: {row.message}" for row in one.rows)
        rest = one.broken + one.elsewhere - len(lines)
        more = (Paragraph(f"{rest} more: run `layline patches drift` in the project."),) if rest > 0 else ()
        blocks = (Paragraph(_say_member(one)), *((Bullets(lines),) if lines else ()), *more)
        sections.append(Section(title=f"{one.project}: {one.backend}", blocks=blocks))
    return Report(title=title, sections=tuple(sections), skipped=skipped)


def _encode(one: Member) -> answers.Member:
    return {
        "project": one.project,
        "backend": one.backend,
        "commit": one.commit,
        "pin": one.pin,
        "pin_date": one.pinned,
        "tip": one.tip,
        "behind": one.behind,
        "patched_places": one.places,
        "breaks": one.broken,
        "breaks_elsewhere": one.elsewhere,
        "dead": one.dead,
        "rows": [{"place": str(row.location), "code": row.code, "message": row.message} for row in one.rows],
    }
