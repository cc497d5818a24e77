"""A benchmark CSV, read strictly, as an answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from layline.campaign.values.bench_csv import parse_bench_csv
from layline.campaign.values.scores import (
    STEP,
    compute_aggregates,
    compute_score,
    find_inconsistencies,
    find_low_snr,
    find_primary,
    read_primary,
)
from layline.core.prose import count, verb
from layline.core.report import Bullets, Paragraph, Section, Table
from layline.errors import RecordError

if TYPE_CHECKING:
    from pathlib import Path

    from layline.campaign import answers
    from layline.campaign.values.bench_csv import BenchTable, Cell
    from layline.campaign.values.scores import Difference


def load_table(file: Path) -> BenchTable:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise RecordError(str(file), (f"cannot be read: {error.strerror}",)) from None
    return parse_bench_csv(data, where=str(file))


def find_problems(table: BenchTable, snr_db: float | None) -> list[str]:
    failed = [f"{table.where}: {row.label} is {row.check}" for row in table.rows if not row.passed]
    low = list(find_low_snr(table, snr_db)) if snr_db is not None else []
    return [*failed, *find_inconsistencies(table), *low]


def describe_table(table: BenchTable) -> Section:
    primary = find_primary(table)
    columns = ("shape", "check", *dict.fromkeys((*table.metrics, primary)))
    rows = tuple(
        (
            row.label,
            row.check,
            *(_show(row.number(name) if name != STEP else read_primary(row, table)) for name in columns[2:]),
        )
        for row in table.rows
    )
    aggregates = compute_aggregates(table)
    passed = sum(row.passed for row in table.rows)
    lines = (
        f"{passed} of {count(len(table.rows), 'shape')} {verb(passed, 'passes')}.",
        *(f"{name}, geometric mean over passing shapes: {_show(value)}" for name, value in aggregates.items()),
        f"Score ({primary}): {_show(compute_score(table))}"
        + ("" if table.all_passed else "; a shape did not pass, so the candidate is rejected"),
    )
    return Section(
        title=table.where,
        blocks=(Table(columns=columns, rows=rows, numeric=frozenset(range(2, len(columns)))), Bullets(lines)),
    )


def describe_differences(table: BenchTable, differences: tuple[Difference, ...]) -> Section:
    rows = tuple(
        (item.label, _show(item.before), _show(item.after), f"{item.change:+.3%}", _judge(item)) for item in differences
    )
    note = "Stored files only hint. For a verdict, `campaign round` runs both kernels side by side."
    columns = ("shape", "before", "after", "change", "reading")
    return Section(
        title=f"{find_primary(table)}, shape by shape",
        blocks=(Table(columns=columns, rows=rows, numeric=frozenset({1, 2, 3})), Paragraph(note)),
    )


def _judge(item: Difference) -> str:
    if item.is_regression:
        return "loses 5 % or more"
    return "within the files' own noise" if item.within_noise else "beyond the files' own noise"


def encode_table(table: BenchTable, snr_db: float | None) -> answers.Bench:
    return {
        "schema": "layline.bench/1",
        "rows": [{name: encode_cell(value) for name, value in row.cells.items()} for row in table.rows],
        "aggregates": compute_aggregates(table),
        "score": compute_score(table),
        "primary_metric": find_primary(table),
        "checks": {
            "header_sha256": table.header_sha256,
            "frozen_gemm_header": table.is_gemm,
            "shapes": len(table.rows),
            "passed": sum(row.passed for row in table.rows),
            "failed": [row.label for row in table.rows if not row.passed],
            "has_backward": table.has_backward,
            "inconsistent": list(find_inconsistencies(table)),
            "low_snr": list(find_low_snr(table, snr_db)) if snr_db is not None else [],
        },
    }


def encode_cell(value: Cell) -> Any:
    """JSON has no infinity; an exact result's SNR is the string `inf`. Sizes are whole numbers."""
    if isinstance(value, float):
        if math.isinf(value):
            return "inf"
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def encode_difference(item: Difference) -> answers.BenchDifference:
    return {
        "label": item.label,
        "before": item.before,
        "after": item.after,
        "change": item.change,
        "regression": item.is_regression,
        "within_noise": item.within_noise,
    }


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
