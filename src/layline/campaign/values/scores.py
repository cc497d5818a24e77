"""Scores of a benchmark CSV: aggregates, consistency checks, per-shape differences. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.campaign.values.bench_csv import FLOPS_TOLERANCE
from layline.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.campaign.values.bench_csv import BenchRow, BenchTable

FORWARD, BACKWARD, STEP = "Forward TFLOPS", "Backward TFLOPS", "Combined Step TFLOPS"
CORE_LOSS = 0.05
"""A core shape may not lose this much on the primary metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One shape in two files of the same harness; `change` is relative, positive is faster."""

    label: str
    before: float
    after: float
    noise: float
    """Relative standard deviation of the change, from the two `_stddev` figures."""

    @property
    def change(self) -> float:
        return self.after / self.before - 1

    @property
    def is_regression(self) -> bool:
        return self.change <= -CORE_LOSS + 1e-9  # the quotient of two decimals is rarely exact

    @property
    def within_noise(self) -> bool:
        return abs(self.change) <= 2 * self.noise


def geometric_mean(values: Iterable[float]) -> float | None:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def read_primary(row: BenchRow, table: BenchTable, primary: str | None = None) -> float | None:
    """The primary metric of one shape: the named column, else the combined step, else the first metric."""
    if primary and primary != STEP:
        return row.number(primary)
    if table.is_gemm:
        return row.step_tflops if table.has_backward else row.number(FORWARD)
    return row.number(table.metrics[0])


def find_primary(table: BenchTable) -> str:
    """How the primary metric of this file is called when the manifest does not say."""
    if not table.is_gemm:
        return table.metrics[0]
    return STEP if table.has_backward else FORWARD


def compute_aggregates(table: BenchTable) -> dict[str, float | None]:
    """Geometric means over the shapes that passed; the combined step of a forward-only file is its forward mean."""
    passed = [row for row in table.rows if row.passed]
    means = {name: geometric_mean(value for row in passed if (value := row.number(name))) for name in table.metrics}
    if table.is_gemm:
        steps = [value for row in passed if (value := row.step_tflops)]
        means[STEP] = geometric_mean(steps) if table.has_backward else means[FORWARD]
    return means


def compute_score(table: BenchTable, primary: str | None = None) -> float:
    """The aggregate that accept and rollback use: 0 as soon as one shape did not pass."""
    values = [read_primary(row, table, primary) for row in table.rows]
    if not table.all_passed or any(value is None for value in values):
        return 0.0
    return geometric_mean(value for value in values if value) or 0.0


def find_inconsistencies(table: BenchTable) -> Iterator[str]:
    """Figures of one row that contradict each other: a rate that is not work over time."""
    for row in table.rows:
        for name, time, factor in ((FORWARD, "Forward Time (ms)", 2), (BACKWARD, "Backward Time (ms)", 4)):
            rate, milliseconds, products = row.number(name), row.number(time), row.products
            if rate is None or milliseconds is None or products is None or not row.passed:
                continue
            computed = factor * products / (milliseconds * 1e-3) / 1e12
            if abs(rate / computed - 1) > FLOPS_TOLERANCE:
                yield f"{row.label}: `{name}` is {rate:.6g}, but {factor}·B·M·N·K over `{time}` is {computed:.6g}"


def find_low_snr(table: BenchTable, threshold_db: float) -> Iterator[str]:
    """Shapes that claim PASS below the threshold of their number format."""
    for row in table.rows:
        for name in (column for column in table.header if column.endswith("_snr")):
            value = row.number(name)
            if row.passed and value is not None and not value >= threshold_db:
                yield f"{row.label}: PASS with {name} {value:.2f} dB, the gate is {threshold_db:g} dB"


def compare_tables(before: BenchTable, after: BenchTable, primary: str | None = None) -> tuple[Difference, ...]:
    """Per-shape differences; files of different harnesses or shape sets are refused."""
    if before.header_line != after.header_line:
        raise RecordError(
            after.where,
            (f"its header is not the one of {before.where}",),
            hint="Figures of two different harnesses are never compared.",
        )
    ours, theirs = {row.label for row in before.rows}, {row.label for row in after.rows}
    if ours != theirs:
        missing, added = sorted(ours - theirs), sorted(theirs - ours)
        said = [f"{label} is missing" for label in missing] + [f"{label} is new" for label in added]
        raise RecordError(
            after.where, tuple(said), hint="Compare the same active validation set: no shape may be added or removed."
        )
    return tuple(_compare_rows(before, after, primary))


def _compare_rows(before: BenchTable, after: BenchTable, primary: str | None) -> Iterator[Difference]:
    for old in before.rows:
        new = next(row for row in after.rows if row.label == old.label)
        if not (old.passed and new.passed):
            continue
        was, now = read_primary(old, before, primary), read_primary(new, after, primary)
        if was and now:
            noise = math.hypot(_relative_noise(old, before), _relative_noise(new, after))
            yield Difference(label=old.label, before=was, after=now, noise=noise)


def _relative_noise(row: BenchRow, table: BenchTable) -> float:
    """The largest relative `_stddev` of the row's metrics: an upper bound for the combined step."""
    shares = [
        deviation / value
        for name in table.metrics
        if (value := row.number(name)) and (deviation := row.number(f"{name}_stddev")) is not None
    ]
    return max(shares, default=0.0)
