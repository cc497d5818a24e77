"""What a drift question found, kept: a function of commits, settings and our own code, like an inventory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline import codec
from layline.app.results import Results, result_key
from layline.core.evidence import Skipped
from layline.coupling.drift_model import Drift
from layline.errors import RecordError
from layline.patches.drift_report import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

_KIND = "drift"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDrift:
    """Everything a baseline may split and a report may show."""

    pin: str
    tip: str
    rows: tuple[Drift, ...]
    """Worst first; comparisons, which nobody reads afterwards, are not kept."""
    elsewhere: tuple[Elsewhere, ...]
    skipped: tuple[Skipped, ...]


def read_kept(inputs: tuple[object, ...], find: Callable[[], KeptDrift]) -> KeptDrift:
    """What was found for these inputs before, else what is found now."""
    results, key = Results(_KIND), result_key(_KIND, *inputs)
    plain = results.load(key)
    if plain is not None:
        try:
            return codec.decode(KeptDrift, plain, where="cache")
        except RecordError:  # written by a copy that was cut short: found again below
            plain = None
    found = find()
    kept = replace(found, rows=tuple(replace(row, comparison=None) for row in found.rows))
    results.store(key, codec.encode(kept))
    return kept
