"""`dashboard index`: validate every record, then write the generated indexes."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from layline import codec
from layline.config import find_settings_file, load_settings
from layline.core.report import Answer
from layline.dashboard.index_files import build_answer, build_indexes, find_stale, load_project_records, refuse_foreign
from layline.dashboard.unshown import find_doubtful
from layline.files import write_inside


def dashboard_index(
    config: Path | None = None, *, only: str | None = None, check: bool = False, today: date | None = None
) -> Answer:
    """Name every invalid record at once, or (re)write the indexes below the project's `docs`.

    With `check` nothing is written: an index that is there and no longer what its records say asks for a person.
    A record dated after `today`, of another upstream or against itself is indexed, and named.
    """
    loaded = load_settings(config or find_settings_file(Path.cwd()))
    records = load_project_records(loaded, only=only)
    docs = loaded.settings.project.docs
    indexes = {f"{docs}/{path}": plain for path, plain in build_indexes(records, only)}
    backends = loaded.settings.backends.items()
    upstreams = {key: backend.upstream for key, backend in backends if backend.upstream}
    doubtful = tuple(find_doubtful(records, upstreams, today))
    for path in indexes:
        refuse_foreign(loaded.root / path)
    if check:
        return build_answer(records, indexes, doubtful, stale=tuple(find_stale(loaded.root, indexes)))
    for path, plain in indexes.items():
        write_inside(loaded.root, path, codec.to_json(plain))
    return build_answer(records, indexes, doubtful)
