"""`gap report`: the detailed report, the summary, the dashboard record and the evidence of one backend."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from layline.app.gap_handed import HANDED
from layline.codec import parse_json
from layline.config import miss_backend
from layline.core.progress import Progress, silent
from layline.core.records import read_gap_record
from layline.core.report import Answer
from layline.dashboard.check.markup import read_page
from layline.errors import RecordError
from layline.gap.files import Places, write_gap
from layline.gap.written import Wanted, build_answer, make_report
from layline.render.html import render_article
from layline.render.lint import find_markdown_problems
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def gap_report(
    workspace: Workspace,
    keys: tuple[str, ...],
    *,
    to: str | None = None,
    today: date,
    take_over: bool = False,
    patches: bool = True,
    progress: Progress = silent,
) -> Answer:
    """Write the report of every backend named; nothing is written if one of them cannot be measured."""
    if not keys:
        raise miss_backend()
    wanted = Wanted(to=to, today=today, take_over=take_over, patches=patches)
    workspace = know_packages(workspace)
    made = [make_report(workspace, key, wanted, HANDED, progress) for key in keys]
    written = {one.places.id: write_gap(one.places, one.texts, one.record, one.evidence) for one in made}
    problems = {one.places.id: list(find_problems(one.places)) for one in made}
    return build_answer(workspace, made, written, problems, today)


def find_problems(places: Places) -> Iterator[tuple[Path, str]]:
    """Yields what a reader's tools would stumble over in the files as they stand on disk now."""
    for path in (places.report, places.summary):
        text = path.read_text(encoding="utf-8")
        yield from ((path, reason) for reason in find_markdown_problems(text))
        article = render_article(text)
        yield from (
            (path, f"as a page: {reason}")
            for reason in read_page(f"<!DOCTYPE html><main>{article.html}</main>").problems
        )
        yield from ((path, f"as a page: the link to {link} has no target") for link in article.dead_links)
    for path in (places.record, places.evidence):
        try:
            plain = parse_json(path.read_bytes(), where=path.name)
        except RecordError as error:
            yield from ((path, reason) for reason in error.problems)
            continue
        record = read_gap_record(plain) if path == places.record else None
        yield from ((path, str(problem)) for problem in (record if isinstance(record, tuple) else ()))
