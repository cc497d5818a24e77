"""The site of a project: what it is made of, that it is whole, and what a build tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Skipped, encode_skipped
from layline.core.report import Answer, Report, Section, Table
from layline.dashboard.cache import Rendered, code_digest, digest
from layline.dashboard.campaigns import SCHEMAS
from layline.dashboard.check.markup import Page, decode_page, encode_page, read_page
from layline.dashboard.check.site import Checked, check_site
from layline.dashboard.content import (
    CAMPAIGNS_FOLDER,
    PATCHES_FOLDER,
    Content,
    find_heavy_evidence,
    load_articles,
    load_data,
    load_evidence,
    load_periodic_articles,
    read_text,
)
from layline.dashboard.index_files import load_project_records
from layline.dashboard.sections import Sections, load_sections
from layline.errors import RecordError
from layline.render.fonts import find_fonts
from layline.render.pdf import Engine

if TYPE_CHECKING:
    from layline.config import Loaded
    from layline.dashboard import answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a build tells beside the files it wrote."""

    kept: tuple[str, ...]
    """Files of others that stayed in the folder."""
    skipped: tuple[Skipped, ...]
    checked: Checked
    """What was read again after writing; anything wrong would have kept the old site."""


def refuse_broken(folder: Path, cached: Rendered) -> Checked:
    """A site that does not pass its own check is not published; a page read before is not parsed again."""

    def read(text: str) -> Page:
        key = digest("checked", code_digest(), text)
        kept = cached.load(key)
        if kept is not None:
            return decode_page(json.loads(kept))
        page = read_page(text)
        cached.save(key, json.dumps(encode_page(page)).encode())
        return page

    checked = check_site(folder, read)
    if checked.problems:
        raise RecordError("the new site fails its own check, so nothing was written", tuple(map(str, checked.problems)))
    return checked


def load_content(loaded: Loaded) -> Content:
    """Everything the site is made of; all records valid or an error that names every problem."""
    settings, root, docs = loaded.settings, loaded.root, loaded.settings.project.docs
    records = load_project_records(loaded)
    patches = _load(loaded, PATCHES_FOLDER, "layline.patches/1", "layline.drift/1")
    campaigns = _load(loaded, CAMPAIGNS_FOLDER, *SCHEMAS)
    return Content(
        project=settings.project.name,
        title=settings.dashboard.title or f"{settings.project.name} engineering dashboard",
        repository=settings.project.repository,
        labels={key: backend.label or key for key, backend in settings.backends.items() if backend.label},
        upstreams={key: backend.upstream for key, backend in settings.backends.items() if backend.upstream},
        records=records,
        articles=load_articles(root, docs, records),
        periodic_articles=load_periodic_articles(root, records) if settings.dashboard.periodic_pages else {},
        evidence=load_evidence(root, docs, records),
        patches=dict(item for item in patches.found if item[1]["schema"] == "layline.patches/1"),
        drifts={
            key.removesuffix(".drift"): value for key, value in patches.found if value["schema"] == "layline.drift/1"
        },
        campaigns=dict(campaigns.found),
        sections=load_sections(root, settings.dashboard.sections) if settings.dashboard.sections else Sections(),
        skipped=(*records.skipped, *find_heavy_evidence(root, docs, records), *patches.skipped, *campaigns.skipped),
    )


@dataclass(frozen=True, slots=True)
class _Data:
    found: tuple[tuple[str, dict[str, Any]], ...]
    skipped: tuple[Skipped, ...]


def _load(loaded: Loaded, folder: str, *schemas: str) -> _Data:
    read = tuple(load_data(loaded.root, f"{loaded.settings.project.docs}/{folder}", *schemas))
    return _Data(
        tuple(item for item in read if not isinstance(item, Skipped)),
        tuple(item for item in read if isinstance(item, Skipped)),
    )


def load_engine(loaded: Loaded) -> Engine:
    """The configured way of making PDFs, with the project's own stylesheet."""
    dashboard = loaded.settings.dashboard
    style = None if dashboard.pdf_style is None else read_text(loaded.root, dashboard.pdf_style)
    fonts = None if dashboard.pdf_fonts is None else find_fonts(loaded.root / dashboard.pdf_fonts)
    return Engine(name=dashboard.pdf_engine, style=style, fonts=fonts)


def build_answer(output_dir: Path, files: dict[str, bytes], done: Finished, cached: Rendered) -> Answer:
    kinds = {"pages": ".html", "PDFs": ".pdf", "data files": ".json", "all files": ""}
    rows = tuple(
        (name, f"{len(found):,}", f"{sum(map(len, found)):,}")
        for name, suffix in kinds.items()
        if (found := [content for path, content in files.items() if path.endswith(suffix)])
    )
    table = Table(columns=("what", "files", "bytes"), rows=rows, numeric=frozenset({1, 2}))
    report = Report(
        title="Dashboard built",
        meta=(
            ("Site", str(output_dir)),
            ("Rendered", str(cached.made)),
            ("Unchanged", str(cached.reused)),
            ("Checked", f"{done.checked.pages:,} pages, {done.checked.links:,} links; nothing is wrong"),
            *((("Kept, not made by Layline", ", ".join(done.kept)),) if done.kept else ()),
        ),
        sections=(Section(title="", blocks=(table,)),),
        skipped=done.skipped,
    )
    data: answers.Build = {
        "schema": "layline.dashboard-build/1",
        "output": str(output_dir),
        "files": sorted(files),
        "bytes": sum(map(len, files.values())),
        "rendered": cached.made,
        "unchanged": cached.reused,
        "checked": {"pages": done.checked.pages, "links": done.checked.links, "problems": []},
        "kept": list(done.kept),
        "skipped": encode_skipped(done.skipped),
    }
    return Answer(report=report, data=data)
