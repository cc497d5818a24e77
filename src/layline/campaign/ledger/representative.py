"""Representative shapes: three to five that stand for all, chosen from the baseline. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from layline.campaign.values.scores import read_primary

if TYPE_CHECKING:
    from layline.campaign.ledger.state import Run
    from layline.campaign.values.bench_csv import BenchRow, BenchTable
    from layline.campaign.values.manifest import Manifest

FEWEST, MOST = 3, 5
_SKEWED = ("skew", "half", "empty", "degenerate", "top_k", "cf=")


def choose_representative(run: Run, manifest: Manifest) -> tuple[str, ...]:
    """Labels of the representative shapes; those the manifest already names, if it does."""
    if manifest.representative_shapes:
        return tuple(str(shape["label"]) for shape in manifest.representative_shapes)
    table = run.table()
    if not table:
        return run.measurement.shapes
    return choose_rows(table, grouped=manifest.is_grouped, core=manifest.core_shapes)


def choose_rows(table: BenchTable, *, grouped: bool, core: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Only shapes that pass: core ones, the cheapest (overhead), the dearest (throughput), then the most variable ones.

    A grouped operator always gets a skewed distribution: a schedule that lives on even groups must not pass quick
    rounds.
    """
    passed = [row for row in table.rows if row.passed]
    if len(passed) <= FEWEST:
        return tuple(row.label for row in passed)
    by_cost = sorted(passed, key=lambda row: (_cost(row), row.label))
    chosen = [row for row in passed if row.label in core]  # a loss there must be seen in every round
    chosen += [row for row in (by_cost[0], by_cost[-1]) if row not in chosen][: max(0, MOST - len(chosen))]
    skewed = [row for row in passed if any(mark in row.label.lower() for mark in _SKEWED)]
    if grouped and skewed and not any(row in chosen for row in skewed):
        chosen.append(max(skewed, key=lambda row: (_variation(row, table), row.label)))
    middle = by_cost[len(by_cost) // 2]
    if middle not in chosen and len(chosen) < MOST:
        chosen.append(middle)
    rest = sorted((row for row in passed if row not in chosen), key=lambda row: (-_variation(row, table), row.label))
    wanted = min(MOST, max(FEWEST, math.ceil(len(passed) / 3)))
    chosen += rest[: max(0, wanted - len(chosen))]
    order = {row.label: index for index, row in enumerate(table.rows)}
    return tuple(sorted((row.label for row in chosen), key=order.__getitem__))


def _cost(row: BenchRow) -> float:
    """Milliseconds of a step, or what stands for it where a harness reports no time."""
    times = [value for name in row.cells if name.endswith("(ms)") and (value := row.number(name))]
    return math.fsum(times) if times else row.products or 0.0


def _variation(row: BenchRow, table: BenchTable) -> float:
    value = read_primary(row, table)
    deviations = [row.number(f"{name}_stddev") or 0.0 for name in table.metrics]
    return max(deviations, default=0.0) / value if value else 0.0
