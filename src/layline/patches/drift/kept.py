"""What a drift question found, kept: a function of files, commits of upstream, settings and our own code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline import codec
from layline.core.drift import Uncompared
from layline.core.evidence import Skipped
from layline.coupling.drift_model import Drift
from layline.patches.drift.elsewhere import Elsewhere
from layline.workspace.kept import Results, result_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_KIND = "drift"
KEPT = "taken from an earlier answer"
"""What is told, with how many of how many, once a drift question was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDrift:
    """Everything a baseline may split and a report may show."""

    pin: str
    tip: str
    rows: tuple[Drift, ...]
    """Worst first; comparisons, which nobody reads afterwards, are not kept."""
    elsewhere: tuple[Elsewhere, ...]
    skipped: tuple[Skipped, ...]
    listed: int = 0
    """How many effects the inventory has."""
    uncompared: dict[Uncompared, int] = field(default_factory=dict)
    """Those that are no row, by the reason."""
    loaders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """File that fails at a line of its own when it is loaded → lines of ours that import it."""

    def count_uncompared(self, rows: Iterable[Drift]) -> dict[Uncompared, int]:
        """The same where a filter has left these rows."""
        shown = sum(row.effect is not None for row in rows)
        filtered = self.listed - sum(self.uncompared.values()) - shown
        return {**self.uncompared, **({Uncompared.FILTERED: filtered} if filtered else {})}


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
