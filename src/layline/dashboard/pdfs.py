"""The PDFs of a site: made from the Markdown, cached by content, rendered by several processes where there are
several.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from layline.core.progress import Progress, silent
from layline.dashboard.cache import Rendered, code_digest, digest
from layline.dashboard.content import Content
from layline.errors import Error, RecordError
from layline.render.pdf import Engine, Printed, print_somehow
from layline.render.sheet import Sheet

_WORTH_A_POOL = 6
"""Fewer documents than this are set faster than processes start."""


@dataclass(frozen=True, slots=True)
class Job:
    """One PDF to make."""

    path: str
    source: str
    markdown: str
    sheet: Sheet


def find_jobs(content: Content) -> Iterator[Job]:
    """Yields one job per artifact of the gap reports; a path that two records share is made once, for the newest."""
    seen: set[str] = set()
    for item in content.records.gap:
        record = item.record
        for artifact in record.artifacts:
            path = artifact.path.removeprefix("./")
            if path in seen:
                continue
            seen.add(path)
            commit = f"{record.backend.label} {record.local.commit[:12]}"
            sheet = Sheet(
                project=content.project,
                commit=commit,
                date=record.generated_at,
                title=record.title,
                lang=artifact.language,
                one_page=artifact.kind == "summary",
            )
            yield Job(path, artifact.source, content.articles[artifact.source], sheet)


def build_pdfs(
    content: Content, engine: Engine, cached: Rendered, progress: Progress = silent
) -> Iterator[tuple[Job, Printed]]:
    """Yields (path, PDF) in the order of the jobs; every document that cannot be set is named at once."""
    jobs = list(find_jobs(content))
    setting = digest("engine", code_digest(), engine.version, engine.style, *_read_fonts(engine))
    keys = {job.path: digest("pdf", setting, job.markdown, job.sheet) for job in jobs}
    done = {job.path: _decode(found) for job in jobs if (found := cached.load(keys[job.path])) is not None}
    todo = [job for job in jobs if job.path not in done]
    problems = []
    for number, (job, made) in enumerate(_render_all(todo, engine), 1):
        progress("PDFs", number, len(todo))
        if isinstance(made, str):
            problems.append(f"{job.source}: {made}")
            continue
        cached.save(keys[job.path], _encode(made))
        done[job.path] = made
    if problems:
        raise RecordError("some PDFs cannot be made", tuple(problems), hint="`--no-pdf` builds the site without PDFs.")
    yield from ((job, done[job.path]) for job in jobs)


def _encode(made: Printed) -> bytes:
    return json.dumps([made.overlong, *made.replaced]).encode() + b"\n" + made.data


def _decode(kept: bytes) -> Printed:
    notes, _, data = kept.partition(b"\n")
    overlong, *replaced = json.loads(notes)
    return Printed(data, tuple(replaced), overlong)


def _read_fonts(engine: Engine) -> Iterator[str]:
    """What the fonts are, not where: the same fonts elsewhere give the same PDFs."""
    if engine.fonts is not None:
        for path in sorted(path for path in engine.fonts.rglob("*") if path.is_file()):
            yield hashlib.sha256(path.read_bytes()).hexdigest()


def _render_all(jobs: list[Job], engine: Engine) -> Iterator[tuple[Job, Printed | str]]:
    workers = min(os.cpu_count() or 1, 8, len(jobs))
    if len(jobs) < _WORTH_A_POOL or workers < 2:
        yield from ((job, _render(job, engine)) for job in jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from zip(jobs, pool.map(_render, jobs, [engine] * len(jobs)), strict=True)


def _render(job: Job, engine: Engine) -> Printed | str:
    """The PDF, or why there is none."""
    try:
        return print_somehow(job.markdown, job.sheet, engine)
    except Error as error:
        return f"{error.message} {error.hint}" if error.hint else error.message
