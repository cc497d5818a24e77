"""`artifacts/quick_baseline.log` and `quick_validation.log`: one measuring run as plain text, line by line
comparable.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from layline.campaign.ledger.state import Run
    from layline.campaign.values.measurement import GateResult, Measurement


def build_validation_log(run: Run, labels: Sequence[str]) -> str:
    """Figures of the shapes of a quick run, then controls, gates and what the user's own commands printed."""
    return "\n".join([*_head(run.measurement), *_figures(run, labels), *_checks(run.measurement), *_said(run)]) + "\n"


def _head(measurement: Measurement) -> Iterator[str]:
    machine = measurement.environment
    yield f"status {measurement.status}, {measurement.pairs} process pairs, clock {measurement.plan.clock}"
    yield (
        f"machine {machine.cpu}, {machine.cores} cores, load {machine.load_before:.2f} before, "
        f"{machine.load_after:.2f} after"
    )
    if measurement.problem:
        yield f"problem {measurement.problem}"


def _figures(run: Run, labels: Sequence[str]) -> Iterator[str]:
    """The frozen CSV, cut down to the representative shapes: those are what later quick runs have."""
    header, *lines = run.csv.splitlines() or ["no figures"]
    yield header
    names = next(csv.reader([header]))
    for line, cells in zip(lines, csv.reader(lines), strict=True):
        if not labels or cells[names.index("label")] in labels:
            yield line


def _checks(measurement: Measurement) -> Iterator[str]:
    for kind, results in (("control", measurement.controls), ("gate", measurement.gates)):
        yield from _results(kind, results)


def _results(kind: str, results: Iterable[GateResult]) -> Iterator[str]:
    for result in results:
        yield f"{kind} {result.property} {'passed' if result.passed else 'FAILED'}: {' '.join(result.reason.split())}"
        if not result.passed:
            yield from (f"  {' '.join(line.split())}" for line in result.evidence)


def _said(run: Run) -> Iterator[str]:
    if run.said:
        yield run.said.rstrip("\n")
