"""The generated indexes on disk: built from valid records, never over a file of others."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.evidence import Alert, Severity, Skipped, encode_skipped
from layline.core.period import Cadence
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.dashboard.index import build_cadence_index, build_combined_index, build_gap_index
from layline.errors import ConfigError, Error, RecordError, say_error
from layline.periodic.presets import fill_preset
from layline.workspace.records import GAP_FOLDER, Records, load_records, require_valid

if TYPE_CHECKING:
    from layline.config import Loaded
    from layline.dashboard import answers


COMBINED = "reports-data/index.json"
USUAL_DOCS = "docs"
"""The default of project.docs: a new project need not have it yet."""


def find_stale(root: Path, indexes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yields the indexes that are on disk with another content; one that is not there was never published."""
    for path, plain in indexes.items():
        if (root / path).exists() and (root / path).read_bytes() != codec.to_json(plain).encode():
            yield path


def load_project_records(loaded: Loaded, *, only: str | None = None) -> Records:
    """The records of a configured project, all valid."""
    _refuse_missing_docs(loaded)
    required = fill_preset(loaded.settings.periodic).required
    return require_valid(load_records(loaded.root, docs=loaded.settings.project.docs, required=required, only=only))


def _refuse_missing_docs(loaded: Loaded) -> None:
    """A folder that the settings name must be there; only the usual one may still come."""
    docs = loaded.settings.project.docs
    if docs == USUAL_DOCS or (loaded.root / docs).is_dir():
        return
    near = difflib.get_close_matches(docs, [item.name for item in loaded.root.iterdir() if item.is_dir()], n=1)
    raise ConfigError(
        f"project.docs = {docs!r}: the project has no such folder.",
        hint=f"Did you mean {near[0]!r}?" if near else "Make the folder, or correct the name in layline.toml.",
    )


def build_indexes(records: Records, only: str | None = None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields (path below `docs`, content); a kind without any record gets no index, unless it was asked for."""
    if only == GAP_FOLDER or (only is None and records.gap):
        yield f"{GAP_FOLDER}/dashboard-data/index.json", build_gap_index(records)
    for cadence in Cadence:
        if only == cadence.value or (only is None and records.of(cadence)):
            yield f"{cadence.folder}/dashboard-data/index.json", build_cadence_index(records, cadence)
    if only is None and records.periodic:
        yield COMBINED, build_combined_index(records)


def refuse_foreign(path: Path) -> None:
    """Only an index is overwritten: an object with `summary` and `reports`."""
    if not path.is_symlink() and not path.exists():
        return
    try:
        if path.is_symlink():
            raise RecordError(str(path), ("is a symlink",))
        plain = codec.parse_json(path.read_bytes(), where=str(path))
        if not isinstance(plain, dict) or not {"summary", "reports"} <= plain.keys():
            raise RecordError(str(path), ("is not an index",))
    except (RecordError, OSError) as error:
        raise Error(
            f"{path} is in the way: it is not a generated index ({say_error(error)}).",
            hint="Move it away and try again.",
        ) from None


def build_answer(
    records: Records,
    indexes: Mapping[str, Mapping[str, Any]],
    doubtful: tuple[Skipped, ...],
    stale: tuple[str, ...] | None = None,
) -> Answer:
    rows = tuple(
        (Cell(path, code=True), str(plain["summary"]["total_reports"]), plain["generated_at"] or "no report")
        for path, plain in indexes.items()
    )
    table = Table(columns=("index", "reports", "newest"), rows=rows, numeric=frozenset({1}))
    found: list[answers.Contradiction] = next(
        (plain["contradictions"] for plain in indexes.values() if "contradictions" in plain), []
    )
    total = len(records.gap) + len(records.periodic)
    alerts = [
        Alert(
            severity=Severity.LOOK, message=f"{path} does not match its records; `layline dashboard index` rewrites it"
        )
        for path in stale or ()
    ]
    alerts += [Alert(severity=Severity.LOOK, message=f"{item.what} {item.why}") for item in doubtful]
    report = Report(
        title="Dashboard indexes" if stale is None else "Dashboard indexes: checked, nothing written",
        sections=(Section(title="", blocks=(Paragraph(f"{total} records, all valid."), table)),),
        alerts=(*alerts, *(Alert(severity=Severity.LOOK, message=_tell(item)) for item in found)),
        skipped=records.skipped,
    )
    data: answers.Index = {
        "schema": "layline.dashboard-index/1",
        "contradictions": found,
        "doubtful": encode_skipped(doubtful),
        "skipped": encode_skipped(records.skipped),
    }
    looked_at = {path: plain["summary"] for path, plain in indexes.items()}
    if stale is None:
        data["written"] = looked_at
    else:
        data |= {"checked": looked_at, "stale": list(stale)}
    return Answer(report=report, data=data, needs_person=bool(stale))


def _tell(contradiction: answers.Contradiction) -> str:
    claims = "; ".join(
        f"{claim['value']} ({claim['source']}, {claim['date'][:10]})" for claim in contradiction["claims"]
    )
    return f"sources differ about {contradiction['about']}, newest first: {claims}"
