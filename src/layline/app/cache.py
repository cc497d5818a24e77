"""`cache info` and `cache clear`: what Layline keeps on disk, and how to be rid of it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.project.cache import CARRIED, find_carried, find_files, measure, show_size
from layline.source.cache import FILE_NAME, MAX_BYTES, Kept, cache_directory, read_contents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from layline.project import answers


def cache_info() -> Answer:
    """Where the cache is, what it holds and how large it may grow."""
    folder = cache_directory()
    file = folder / FILE_NAME
    contents = [*read_contents(file), *_count_carried(folder)]
    used = sum(row.size for row in contents)
    on_disk = sum(measure(path) for path in (*find_files(folder), *find_carried(folder)))
    rows = tuple((Cell(row.analyser, code=True), str(row.count), show_size(row.size)) for row in contents)
    table = Table(columns=("What", "Rows", "Size"), rows=rows)
    said = Paragraph(
        f"{folder} holds {show_size(used)} ({show_size(on_disk)} on disk); the limit is "
        f"{show_size(MAX_BYTES)}, and what was not "
        "used for longest is "
        "deleted first. It can be deleted at any time: the next answers only take longer."
    )
    data: answers.CacheInfo = {
        "schema": "layline.cache/1",
        "folder": str(folder),
        "bytes": used,
        "bytes_on_disk": on_disk,
        "limit_bytes": MAX_BYTES,
        "contents": [{"what": row.analyser, "rows": row.count, "bytes": row.size} for row in contents],
    }
    section = Section(title="", blocks=(said, table) if rows else (said,))
    return Answer(report=Report(title="Cache", sections=(section,)), data=data)


def _count_carried(folder: Path) -> Iterator[Kept]:
    repositories = [path for path in find_carried(folder) if path.is_dir()]
    if repositories:
        yield Kept(CARRIED, len(repositories), sum(map(measure, repositories)))


def cache_clear() -> Answer:
    """Delete what was kept of readings and answers, and repositories that came from other machines; mirrors of
    upstreams, which cost a download, stay.
    """
    folder = cache_directory()
    files = [*find_files(folder), *find_carried(folder)]
    freed = sum(measure(path) for path in files)
    for path in files:
        with suppress(FileNotFoundError):  # another process was faster
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    with suppress(OSError):
        (folder / CARRIED).rmdir()
    data: answers.CacheClear = {"schema": "layline.cache-clear/1", "folder": str(folder), "freed_bytes": freed}
    title = f"Deleted {show_size(freed)} below {folder}" if files else f"There is nothing to delete below {folder}"
    return Answer(report=Report(title=title, sections=()), data=data)
