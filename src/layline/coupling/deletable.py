"""Lines of ours that may be deleted: only those of which nothing is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layline.coupling.drift_model import Drift


def keep_needed(rows: Sequence[Drift]) -> list[Drift]:
    """The rows; of a line that changes more than what can go, none says that the line can."""
    needed = {row.location for row in rows if row.retire is None}
    return [_keep(row) if row.location in needed else row for row in rows]


def _keep(row: Drift) -> Drift:
    return replace(row, findings=tuple(replace(one, retires=False) for one in row.findings))
