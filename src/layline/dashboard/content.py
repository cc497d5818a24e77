"""Everything a site is made of, read from the project's tree once; pages and PDFs see nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from layline import codec
from layline.core.evidence import Skipped
from layline.core.records import GapRecord, PeriodicRecord
from layline.dashboard.sections import Sections
from layline.errors import RecordError
from layline.workspace.records import GAP_FOLDER, Records, find_path_problem

DATA_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}\.json\Z")
"""Names that become addresses."""
LARGEST_MARKDOWN = 2_000_000
LARGEST_DATA = 20_000_000
"""Bytes of a data file, here and on the site: a program downloads it, no page does."""
PATCHES_FOLDER = "patches/dashboard-data"
"""`<backend>.json` as `patches list` writes it, and `<backend>.drift.json` as `patches drift` does."""
CAMPAIGNS_FOLDER = "campaigns/dashboard-data"
"""`<campaign>.json` as `campaign status` or `campaign report` writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The input of a build; the same content gives the same bytes."""

    project: str
    title: str
    repository: str | None
    labels: Mapping[str, str]
    records: Records
    upstreams: Mapping[str, str] = field(default_factory=dict)
    """The https address of each backend's upstream, as it is configured."""
    articles: Mapping[str, str] = field(default_factory=dict)
    """Markdown of gap reports, by path relative to `docs/backend-gap`."""
    periodic_articles: Mapping[str, str] = field(default_factory=dict)
    """Markdown of periodic reports by id, where the project wants it on the site."""
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Evidence files by the id of the gap record they stand beside."""
    patches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Patch inventories by backend (`layline.patches/1`)."""
    drifts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Drift tables by backend (`layline.drift/1`)."""
    campaigns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sections: Sections = field(default_factory=Sections)
    skipped: tuple[Skipped, ...] = ()
    today: date | None = None
    """The day of the build: what is dated after it is marked and leads nothing."""

    @property
    def is_empty(self) -> bool:
        """Nothing to show but what other makers mount."""
        records = self.records
        return not (records.gap or records.periodic or self.patches or self.drifts or self.campaigns)

    def is_future(self, stamp: str) -> bool:
        return is_future(stamp, self.today)

    @property
    def gaps(self) -> tuple[GapRecord, ...]:
        return tuple(item.record for item in self.records.gap)

    @property
    def periodic(self) -> tuple[PeriodicRecord, ...]:
        return tuple(item.record for item in self.records.periodic)


def is_future(stamp: str, today: date | None) -> bool:
    """True for a day, or a time in some zone, that has not come anywhere on earth."""
    return today is not None and stamp[:10] > (today + timedelta(days=1)).isoformat()


def load_articles(root: Path, docs: str, records: Records) -> dict[str, str]:
    """The Markdown every artifact is made from."""
    sources = sorted({artifact.source for item in records.gap for artifact in item.record.artifacts})
    return {source: read_text(root, f"{docs}/{GAP_FOLDER}/{source}") for source in sources}


def load_periodic_articles(root: Path, records: Records) -> dict[str, str]:
    return {item.record.report_id: read_text(root, item.record.report_path) for item in records.periodic}


def load_evidence(root: Path, docs: str, records: Records) -> dict[str, Mapping[str, Any]]:
    """Layline's own evidence files of gap records; a record of another maker has none."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, file in _find_evidence_files(root, docs, records):
        if not _is_heavy(root / file):
            plain = codec.parse_json(read_text(root, file, limit=LARGEST_DATA), where=file)
            found[name] = plain if isinstance(plain, dict) else {}
    return found


def find_heavy_evidence(root: Path, docs: str, records: Records) -> Iterator[Skipped]:
    """Evidence files that a site cannot take; the reports that they prove are shown without them."""
    for _, file in _find_evidence_files(root, docs, records):
        if _is_heavy(root / file):
            yield Skipped(file, f"it has more than {LARGEST_DATA:,} bytes, so the site has no copy of it")


def _find_evidence_files(root: Path, docs: str, records: Records) -> Iterator[tuple[str, str]]:
    for item in records.gap:
        file = f"{docs}/{GAP_FOLDER}/dashboard-data/evidence/{item.record.id}.json"
        if (root / file).exists():
            yield item.record.id, file


def _is_heavy(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > LARGEST_DATA


def load_data(root: Path, folder: str, *schemas: str) -> Iterator[tuple[str, dict[str, Any]] | Skipped]:
    """Yields (name without `.json`, content) for each data file of these schemas, and why another is not shown."""
    place = root / folder
    if not place.is_dir() or place.is_symlink():
        return
    for file in sorted(place.iterdir()):
        if not file.name.endswith(".json") or file.name.startswith("."):
            continue
        relative = f"{folder}/{file.name}"
        plain = codec.parse_json(read_text(root, relative, limit=LARGEST_DATA), where=relative)
        schema = plain.get("schema") if isinstance(plain, dict) else None
        if not DATA_NAME.match(file.name):
            yield Skipped(relative, "its name cannot be used in a web address")
        elif isinstance(plain, dict) and schema in schemas:
            yield file.name.removesuffix(".json"), plain
        else:
            yield Skipped(relative, f"its schema is {schema!r}; only {', '.join(schemas)} are shown")


def read_text(root: Path, relative: str, *, limit: int = LARGEST_MARKDOWN) -> str:
    """A file of the tree, reached through plain folders, of a size a page can hold."""
    reason = find_path_problem(root, relative)
    if reason is not None:
        raise RecordError(relative, (reason.removeprefix(f"{relative} "),))
    with (root / relative).open("rb") as handle:
        data = handle.read(limit + 1)
    if len(data) > limit:
        raise RecordError(relative, (f"is larger than {limit:,} bytes",))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(relative, (f"byte {error.start} is not UTF-8",)) from None
