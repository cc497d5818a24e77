"""Lines of ours that may be deleted: only those of which nothing is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layline.core.why import Why
from layline.coupling.drift_model import Drift


def find_deletable(rows: Iterable[Drift], every: Iterable[Drift]) -> Iterator[tuple[Drift, Why]]:
    """Those of the rows whose line can go, and why: of a line that changes more than what upstream made needless, as
    `every` row says, none.
    """
    needed = {row.location for row in every if row.retire is None}
    for row in rows:
        if row.location not in needed and row.retire is not None:
            yield row, row.retire
