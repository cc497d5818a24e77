"""`layline bench csv`: read a benchmark CSV strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.csv_answer import (
    describe_differences,
    describe_table,
    encode_difference,
    encode_table,
    find_problems,
    load_table,
)
from layline.campaign.values.scores import (
    compare_tables,
)
from layline.core.evidence import Alert, Severity
from layline.core.report import Answer, Report

if TYPE_CHECKING:
    from pathlib import Path


def bench_csv(file: Path, other: Path | None = None, *, snr_db: float | None = None) -> Answer:
    """Schema, PASS/FAIL, aggregates of `file`; with `other`, the per-shape differences from `file` to `other`."""
    table = load_table(file)
    differences = compare_tables(table, after := load_table(other)) if other else ()
    shown = [table, after] if other else [table]
    sections = [describe_table(item) for item in shown]
    if other:
        sections.append(describe_differences(table, differences))
    problems = [problem for item in shown for problem in find_problems(item, snr_db)]
    alerts = tuple(Alert(severity=Severity.LOOK, message=problem) for problem in problems)
    data = encode_table(table, snr_db)
    if other:
        data |= {"other": encode_table(after, snr_db), "differences": [encode_difference(item) for item in differences]}
    report = Report(title=f"Benchmark {file.name}", sections=tuple(sections), alerts=alerts)
    return Answer(report=report, data=data)
