"""Where a gap report lives on disk, and writing it without losing what people wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layline import codec
from layline.core.records import Artifact, GapRecord, RecordStatus, read_gap_record
from layline.core.remarks import MADE_BY, REMARKS_BEGIN, with_remarks
from layline.errors import Error, RecordError, say_error
from layline.files import write_atomically
from layline.gap.record import default_artifacts
from layline.gap.structure import keep_structure

FOLDER = "backend-gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The four files of one gap report."""

    id: str
    record: Path
    evidence: Path
    report: Path
    summary: Path
    artifacts: tuple[Artifact, ...]
    existing: GapRecord | None

    @property
    def all(self) -> tuple[Path, ...]:
        return self.report, self.summary, self.record, self.evidence


def find_folder(docs: Path) -> Path:
    """Below which all gap reports are."""
    return docs / FOLDER


def find_places(docs: Path, key: str, slug: str) -> Places:
    """The files of backend + slug: those an existing record names, dated id and language suffix included, else new
    ones.
    """
    folder = find_folder(docs)
    record = _find_record(folder / "dashboard-data" / "reports", key, slug)
    existing = _load(record) if record.exists() else None
    artifacts = existing.artifacts if existing else _name_artifacts(key, slug)
    return Places(
        id=record.stem,
        record=record,
        evidence=evidence_path(record),
        report=folder / _source(artifacts, "detail", key, slug, "report"),
        summary=folder / _source(artifacts, "summary", key, slug, "summary"),
        artifacts=artifacts,
        existing=existing,
    )


def evidence_path(record: Path) -> Path:
    """Beside the folder of records, not in it: whoever lists records must not take it for one."""
    return record.parent.parent / "evidence" / record.name


def refuse_foreign(places: Places) -> None:
    """Nothing that Layline did not make is overwritten unless asked for."""
    foreign = [
        path
        for path in (places.report, places.summary)
        if path.exists() and MADE_BY not in path.read_text(encoding="utf-8", errors="replace")
    ]
    if places.record.exists() and not places.evidence.exists():
        foreign.append(places.record)
    if foreign:
        names = ", ".join(str(path) for path in foreign)
        raise Error(
            f"{names}: not made by Layline, so not overwritten.",
            hint="--replace replaces them (the id, file names and artifacts stay as they are).",
        )


def write_gap(places: Places, texts: tuple[str, str], record: dict[str, Any], evidence: str) -> list[Path]:
    """Write the four files; what would not change is left alone. Returns those that changed."""
    wanted = {
        places.report: compose(texts[0], _old_text(places.report)),
        places.summary: compose(texts[1], _old_text(places.summary)),
        places.record: codec.to_json(record),
        places.evidence: evidence,
    }
    changed = [path for path, text in wanted.items() if _old_text(path) != text]
    for path in changed:
        write_atomically(path, wanted[path])
    return changed


def compose(text: str, old: str | None) -> str:
    """The text as it is written over an old one: in its structure, with its remarks."""
    body = old.partition(REMARKS_BEGIN)[0].removeprefix(MADE_BY).strip("\n") if old is not None else None
    return with_remarks(keep_structure(text, body), old)


def _name_artifacts(key: str, slug: str) -> tuple[Artifact, ...]:
    return default_artifacts(key, slug)


def _find_record(folder: Path, key: str, slug: str) -> Path:
    pattern = re.compile(rf"{re.escape(key)}-{re.escape(slug)}(?:-\d{{4}}-\d{{2}}-\d{{2}})?\.json\Z")
    found = sorted(path for path in folder.glob("*.json") if pattern.match(path.name)) if folder.is_dir() else []
    current = [path for path in found if _load(path).status is not RecordStatus.SUPERSEDED]
    return (current or found or [folder / f"{key}-{slug}.json"])[-1]


def _load(path: Path) -> GapRecord:
    found = read_gap_record(codec.parse_json(path.read_bytes(), where=str(path)))
    if isinstance(found, GapRecord):
        return found
    raise RecordError(str(path), tuple(str(problem) for problem in found), hint="Repair or remove it first.")


def _source(artifacts: tuple[Artifact, ...], kind: str, key: str, slug: str, name: str) -> str:
    """The Markdown behind the artifact of this kind; the primary one where there are several languages."""
    named = sorted(
        (one for one in artifacts if one.kind == kind), key=lambda one: (one.primary is not True, one.language != "en")
    )
    return named[0].source if named else f"reports/{key}/{slug}/{name}.md"


def _old_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path} cannot be read: {say_error(error)}.") from None
