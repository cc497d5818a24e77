"""Where a periodic report lives on disk, and writing it without losing what people wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.remarks import MADE_BY, with_remarks
from layline.errors import Error, RecordError
from layline.files import write_inside
from layline.periodic.record import GENERATOR
from layline.workspace.records import REPORTS

if TYPE_CHECKING:
    from pathlib import Path

    from layline.config import Project
    from layline.core.period import Period


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The two files of a periodic report, relative to the project's root."""

    report: str
    record: str


def find_places(project: Project, period: Period) -> Places:
    name = re.sub(r"[^a-z0-9]+", "-", project.name.lower()).strip("-") or "project"
    folder = f"{project.docs}/{period.cadence.folder}"
    return Places(
        report=f"{folder}/{period.id}-{name}-{period.cadence.value}.md", record=f"{folder}/{REPORTS}/{period.id}.json"
    )


def write_report(root: Path, places: Places, text: str, record: Mapping[str, Any], *, replace_foreign: bool) -> None:
    """Write both files, the record last: a reader who finds it also finds its report. Remarks of people are kept."""
    foreign = [] if replace_foreign else list(_find_foreign(root, places))
    if foreign:
        raise Error(
            f"{', '.join(foreign)}: not written by Layline, so not overwritten.",
            hint="--no-write only shows the report; --replace takes the files over.",
        )
    write_inside(root, places.report, with_remarks(text, _read(root / places.report)))
    write_inside(root, places.record, codec.to_json(dict(record)))


def _find_foreign(root: Path, places: Places) -> Iterator[str]:
    """Yields what is there and not ours: it holds somebody's own findings."""
    text = _read(root / places.report)
    if text is not None and MADE_BY not in text:
        yield places.report
    told = _read(root / places.record)
    if told is not None and not _is_ours(told, places.record):
        yield places.record


def _is_ours(text: str, where: str) -> bool:
    try:
        plain = codec.parse_json(text, where=where)
    except RecordError:
        return False
    return isinstance(plain, dict) and plain.get("generator") == GENERATOR


def _read(path: Path) -> str | None:
    """The text at `path`; None where there is nothing, an empty text where it is not ours to read."""
    if path.is_symlink():
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        return ""
