"""The records of a project, read from disk: every problem of every file at once, nothing followed out of the tree.

records = load_records(root, docs="docs", required=("megatron", …))
records.problems          # tuple[Problem, …]; str() gives file, place and reason
require_valid(records)    # raises RecordError with all of them
records.gap[0].record     # GapRecord; .plain is the JSON as it stands in the file; newest first
records.periodic          # both cadences, newest first
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from layline import codec
from layline.core.checks import Problem
from layline.core.evidence import Skipped
from layline.core.period import Cadence, parse_moment
from layline.core.records import GapRecord, PeriodicRecord, Record, read_gap_record, read_periodic_record
from layline.errors import RecordError

GAP_FOLDER = "backend-gap"
REPORTS = "dashboard-data/reports"
EVIDENCE_SUFFIX = ".evidence.json"
"""Layline's own evidence files stand beside the gap records; they are no records."""
LARGEST_FILE = 1_000_000

Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Generic[Kind]):
    """One record with the file it came from, relative to the project's root."""

    file: str
    plain: Mapping[str, Any]
    record: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All records of a project, newest first, and what is wrong with the others."""

    gap: tuple[Loaded[GapRecord], ...] = ()
    periodic: tuple[Loaded[PeriodicRecord], ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Skipped, ...] = field(default=())

    def of(self, cadence: Cadence) -> tuple[Loaded[PeriodicRecord], ...]:
        return tuple(item for item in self.periodic if item.record.cadence is cadence)


def load_records(root: Path, *, docs: str = "docs", required: tuple[str, ...] = (), only: str | None = None) -> Records:
    """Read every record under `root/docs`; `only` is `backend-gap`, `weekly` or `monthly`."""
    found: list[Loaded[Any] | Problem | Skipped] = []
    if only in (None, GAP_FOLDER):
        found += _load_folder(root, f"{docs}/{GAP_FOLDER}", lambda plain: _read_gap(root, docs, plain))
    for cadence in Cadence:
        if only in (None, cadence.value):
            found += _load_folder(root, f"{docs}/{cadence.folder}", _periodic_reader(root, cadence, required))
    gap = [item for item in found if isinstance(item, Loaded) and isinstance(item.record, GapRecord)]
    periodic = [item for item in found if isinstance(item, Loaded) and isinstance(item.record, PeriodicRecord)]
    problems = [item for item in found if isinstance(item, Problem)]
    problems += [*_find_duplicates(gap), *_find_duplicates(periodic), *_find_shared_artifacts(gap)]
    return Records(
        gap=tuple(sorted(gap, key=lambda item: (item.record.date, item.record.id), reverse=True)),
        periodic=tuple(sorted(periodic, key=lambda item: item.record.sort_key, reverse=True)),
        problems=tuple(problems),
        skipped=tuple(item for item in found if isinstance(item, Skipped)),
    )


def require_valid(records: Records) -> Records:
    """The records, if nothing at all is wrong with any of them."""
    if records.problems:
        raise RecordError(
            "the records are not valid",
            tuple(map(str, records.problems)),
            hint="docs/records.md lists every field and rule.",
        )
    return records


def find_path_problem(root: Path, relative: str) -> str | None:
    """Why `root/relative` is not a plain file reached through plain folders; None where it is."""
    place = root
    for part in relative.split("/"):
        place /= part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return f"{relative} does not exist"
        except OSError as error:
            return f"{relative} cannot be read: {error.strerror}"
        if stat.S_ISLNK(mode):
            return f"{relative} is a symlink or lies behind one"
    return None if stat.S_ISREG(mode) else f"{relative} is not a file"


def _load_folder(
    root: Path, folder: str, read: Callable[[Any], Record | tuple[Problem, ...]]
) -> Iterator[Loaded[Any] | Problem | Skipped]:
    """A folder that is not there has no reports."""
    place = f"{folder}/{REPORTS}"
    if not (root / place).exists() and not (root / place).is_symlink():
        return
    if find_path_problem(root, place) != f"{place} is not a file":
        yield Problem("", "is a symlink or lies behind one, or is not a folder", file=place)
        return
    for entry in sorted(os.scandir(root / place), key=lambda item: item.name):
        file = f"{place}/{entry.name}"
        if entry.name.startswith(".") or entry.name.endswith(EVIDENCE_SUFFIX):
            continue
        if not entry.name.endswith(".json"):
            yield Skipped(file, "is not a .json file")
            continue
        yield from _load_file(root, file, read)


def _load_file(
    root: Path, file: str, read: Callable[[Any], Record | tuple[Problem, ...]]
) -> Iterator[Loaded[Any] | Problem]:
    try:
        plain = codec.parse_json(_read_bytes(root, file), where=file)
    except RecordError as error:
        yield from (Problem("", reason, file=file) for reason in error.problems)
        return
    match read(plain):
        case tuple() as problems:
            yield from (replace(problem, file=file) for problem in problems)
        case PeriodicRecord(report_id=report_id) if Path(file).stem != report_id:
            yield Problem("report_id", f"is {report_id!r}, but the file is called {Path(file).name}", file=file)
        case record:
            yield Loaded(file=file, plain=plain, record=record)


def _read_bytes(root: Path, file: str) -> bytes:
    reason = find_path_problem(root, file)
    if reason is not None:
        raise RecordError(file, (reason.removeprefix(f"{file} "),))
    try:
        with (root / file).open("rb") as handle:
            data = handle.read(LARGEST_FILE + 1)
    except OSError as error:
        raise RecordError(file, (f"cannot be read: {error.strerror}",)) from None
    if len(data) > LARGEST_FILE:
        raise RecordError(file, (f"is larger than {LARGEST_FILE} bytes",))
    return data


def _read_gap(root: Path, docs: str, plain: Any) -> GapRecord | tuple[Problem, ...]:
    record = read_gap_record(plain)
    if isinstance(record, tuple):
        return record
    return tuple(_find_missing_sources(root, docs, record)) or record


def _find_missing_sources(root: Path, docs: str, record: GapRecord) -> Iterator[Problem]:
    for index, artifact in enumerate(record.artifacts):
        reason = find_path_problem(root, f"{docs}/{GAP_FOLDER}/{artifact.source}")
        if reason is not None:
            yield Problem(f"artifacts[{index}].path", f"its Markdown source {reason}")


def _periodic_reader(
    root: Path, cadence: Cadence, required: tuple[str, ...]
) -> Callable[[Any], PeriodicRecord | tuple[Problem, ...]]:
    def read(plain: Any) -> PeriodicRecord | tuple[Problem, ...]:
        record = read_periodic_record(plain, cadence, required)
        if isinstance(record, tuple):
            return record
        return tuple(_find_window_problems(root, record)) or record

    return read


def _find_window_problems(root: Path, record: PeriodicRecord) -> Iterator[Problem]:
    from zoneinfo import ZoneInfo, available_timezones  # reads the machine's time zone data: no place in core

    reason = find_path_problem(root, record.report_path)
    if reason is not None:
        yield Problem("report_path", reason)
    window = record.time_window
    try:
        zone = ZoneInfo(window.timezone)
    except (KeyError, OSError, ValueError):
        if available_timezones():  # a machine without time zone data cannot tell
            yield Problem("time_window.timezone", f"there is no time zone called {window.timezone!r}")
        return
    for name in ("start", "end"):
        told = parse_moment(getattr(window, name))
        if told.utcoffset() != told.astimezone(zone).utcoffset():
            yield Problem(f"time_window.{name}", f"its offset is not that of {window.timezone} on that day")


def _find_duplicates(items: list[Loaded[Any]]) -> Iterator[Problem]:
    """Ids must differ by more than case: they become file names and addresses."""
    seen: dict[str, str] = {}
    for item in items:
        name, place = (
            (item.record.id, "id") if isinstance(item.record, GapRecord) else (item.record.report_id, "report_id")
        )
        first = seen.setdefault(name.casefold(), item.file)
        if first != item.file:
            yield Problem(place, f"{name!r} is also the id of {first}", file=item.file)


def _find_shared_artifacts(items: list[Loaded[GapRecord]]) -> Iterator[Problem]:
    """A PDF shows one comparison: two records that claim it cannot both be right."""
    claimed: dict[str, str] = {}
    for item in items:
        for index, artifact in enumerate(item.record.artifacts):
            path = artifact.path.removeprefix("./")
            first = claimed.setdefault(path.casefold(), item.file)
            if first != item.file:
                yield Problem(f"artifacts[{index}].path", f"{path} is also claimed by {first}", file=item.file)
