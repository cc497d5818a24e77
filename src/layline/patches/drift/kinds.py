"""The words that drift prints of its rows, and takes as `--kind`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.core.drift import DOES_NOT_FIT, NOT_INSTALLED, DriftKind
from layline.core.reasons import Reason
from layline.patches.wanted import ELSEWHERE, MAY_NOT_APPLY

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift

DRIFT_KINDS = (*(kind.value for kind in DriftKind), DOES_NOT_FIT, NOT_INSTALLED, MAY_NOT_APPLY, *ELSEWHERE)
"""What `--kind` of drift takes: each word that its answers print in square brackets."""


def name_kinds(row: Drift) -> Iterator[str]:
    """Every word that answers print for a row, and its kind in JSON."""
    yield row.kind.value
    yield row.code
    if row.has(Reason.NOT_INSTALLED):
        yield NOT_INSTALLED
    if row.risks:
        yield MAY_NOT_APPLY
