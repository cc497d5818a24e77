"""What a drift question found, kept: a function of files, commits of upstream, settings and our own code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline import codec
from layline.app.results import Results, result_key
from layline.core.evidence import Skipped
from layline.coupling.drift_model import Drift
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
    known = results.load(key, lambda plain: codec.decode(KeptDrift, plain, where="cache"))
    if known is not None:
        return known
    found = find()
    kept = replace(found, rows=tuple(replace(row, comparison=None) for row in found.rows))
    results.store(key, codec.encode(kept))
    return kept
