"""`impact`: which downstreams of a fleet an upstream commit breaks, and where; for upstream's maintainers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Severity, Skipped
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.progress import Progress, silent
from layline.core.prose import count
from layline.core.report import Answer, Bullets, Paragraph, Report, Section
from layline.errors import ConfigError, Error
from layline.upgrade.fleet_file import read_fleet
from layline.upgrade.judging import find_lines, judge_commit
from layline.upgrade.values import Break
from layline.workspace.open import Workspace

if TYPE_CHECKING:
    from layline.upgrade import answers

SCHEMA: Literal["layline.impact/1"] = "layline.impact/1"
_HINT = "Check the paths in the fleet file."


@dataclass(frozen=True, slots=True)
class Hit:
    """What the commit breaks in one project."""

    project: str
    backend: str
    breaks: tuple[Break, ...]


def find_hits(ref: str, fleet: Path, progress: Progress = silent) -> tuple[list[Hit], list[Skipped]]:
    """What the commit breaks against its first parent (or B against A for `A..B`) in every project that has it."""
    hits: list[Hit] = []
    skipped: list[_Unread] = []
    for number, project in enumerate(read_fleet(fleet), 1):
        try:
            workspace = project.open()
        except Error as error:
            skipped.append(_Unread(Skipped(project.name, error.message), is_unknown=False))
            continue
        progress(f"asking {workspace.settings.project.name}", number, 0)
        asked = [_ask(workspace, key, ref) for key in workspace.settings.backends]
        mine = [one for one in asked if isinstance(one, Hit)]
        hits += mine
        # the commit is one upstream's: the others of a project that has it need not know it
        skipped += [one for one in asked if isinstance(one, _Unread) and not (mine and one.is_unknown)]
    if not hits:
        raise _refuse(ref, fleet, skipped)
    return hits, [one.why for one in skipped]


def _refuse(ref: str, fleet: Path, unread: list[_Unread]) -> ConfigError:
    other = next((one.why for one in unread if not one.is_unknown), None)
    if other is not None:
        return ConfigError(f"No project of {fleet} can be read: {other}", hint=_HINT)
    return ConfigError(f"No project of {fleet} has an upstream with {ref!r}.", hint="Fetch it into their clones first.")


@dataclass(frozen=True, slots=True)
class _Unread:
    """A backend of a project that could not be asked."""

    why: Skipped
    is_unknown: bool
    """Its upstream does not have the commit."""


def _ask(workspace: Workspace, key: str, ref: str) -> Hit | _Unread:
    name, is_unknown = workspace.settings.project.name, False
    try:
        workspace.open_backend(key)
        is_unknown = True
        ends = find_ends(workspace, key, ref)
        is_unknown = False
        return Hit(name, key, judge_commit(workspace, key, *ends))
    except ConfigError as error:
        return _Unread(Skipped(f"{name} {key}", error.message), is_unknown=False)
    except Error as error:
        return _Unread(Skipped(f"{name} {key}", error.message), is_unknown=is_unknown)


def find_ends(workspace: Workspace, key: str, ref: str) -> tuple[str, str]:
    """The two commits that a ref or a span asks to compare."""
    upstream = workspace.open_backend(key)
    start, dots, end = ref.partition("..")
    tip = upstream.resolve_upstream(end if dots else ref)
    if not dots and not upstream.git("rev-list", "--max-count=1", "--min-parents=1", "--no-walk", tip):
        raise ConfigError(f"{ref} is the first commit of {upstream.name}: no commit comes before it.")
    return (upstream.resolve_upstream(start) if dots else upstream.resolve(f"{tip}^1")), tip


def build_impact_answer(ref: str, hits: list[Hit], unread: list[Skipped]) -> Answer:
    skipped = tuple(unread)
    broken = [hit for hit in hits if hit.breaks]
    total = sum(len(find_lines(hit.breaks)) for hit in broken)
    title = (
        f"{ref} breaks {count(total, 'place')} in {len({hit.project for hit in broken})} of "
        f"{count(len({hit.project for hit in hits}), 'project')}."
        if broken
        else f"{ref} breaks no place of ours ({count(len({hit.project for hit in hits}), 'project')} compared)."
    )
    groups = tuple(
        Group(title=f"{hit.project} ({hit.backend})", items=tuple(map(_diagnose, hit.breaks))) for hit in broken
    )
    lines = tuple(
        f"{hit.project}: {one.location} {one.way} {one.target}: {one.why}" for hit in broken for one in hit.breaks
    )
    data: answers.Impact = {
        "schema": SCHEMA,
        "ref": ref,
        "projects": [
            {"project": hit.project, "backend": hit.backend, "breaks": [_encode(one) for one in hit.breaks]}
            for hit in hits
        ],
        "skipped": [{"what": one.what, "why": one.why} for one in skipped],
    }
    blocks = (Bullets(lines),) if lines else (Paragraph("Nothing breaks."),)
    return Answer(
        report=Report(title=title, sections=(Section(title="Where", blocks=blocks),), skipped=skipped),
        data=data,
        needs_person=bool(broken),
        listing=Listing(title=title, groups=groups, skipped=skipped),
    )


def _diagnose(one: Break) -> Diagnostic:
    return Diagnostic(
        location=one.location,
        severity=Severity.BREAKS,
        code="breaks",
        message=f"{one.way} {one.target}",
        details=(("why", one.why),),
    )


def _encode(one: Break) -> answers.Hit:
    return {"place": str(one.location), "target": one.target, "way": one.way, "why": one.why}
