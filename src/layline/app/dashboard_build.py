"""`dashboard build`: validate, render aside, check, put in place in one step."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from layline.config import find_settings_file, load_settings
from layline.core.evidence import Skipped
from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.dashboard.build import build_site
from layline.dashboard.cache import Rendered
from layline.dashboard.publish import build_aside, find_place, keep_foreign, put_in_place, refuse_emptying, write_files
from layline.dashboard.sections import find_hidden, read_section
from layline.dashboard.site import Finished, build_answer, load_content, load_engine, refuse_broken
from layline.source.cache import Cache, cache_directory


def dashboard_build(
    output_dir: Path,
    config: Path | None = None,
    *,
    pdf: bool = True,
    today: date | None = None,
    progress: Progress = silent,
) -> Answer:
    """Build the site of the configured project into `output_dir`; the old one stays until the new one is whole."""
    loaded = load_settings(config or find_settings_file(Path.cwd()))
    place = find_place(output_dir, loaded.root)
    content = replace(load_content(loaded), today=today)
    if content.is_empty:
        refuse_emptying(place, output_dir)
    cached = Rendered(Cache(cache_directory(), "site"))
    built = build_site(content, cached, engine=load_engine(loaded) if pdf else None, progress=progress)
    files = dict(built.files)
    hidden: list[Skipped] = []
    for section in content.sections.sections:
        files |= dict(read_section(loaded.root, section))
        hidden += find_hidden(loaded.root, section)
    with build_aside(place) as aside:
        write_files(aside, files)
        checked = refuse_broken(aside, Rendered(cached.kept))
        kept = keep_foreign(place, aside, files)
        put_in_place(aside, place)
    return build_answer(
        output_dir, files, Finished(kept=kept, skipped=(*built.skipped, *hidden), checked=checked), cached
    )
