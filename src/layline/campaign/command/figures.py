"""From the CSVs of a user's benchmark command to a measurement. Pure."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from layline.campaign.values.bench_csv import BenchTable
from layline.campaign.values.judge import read_ratios
from layline.campaign.values.measurement import Accuracy, Arm, GateResult, Measurement, Sample, Status, Timing
from layline.campaign.values.scores import find_low_snr
from layline.campaign.values.statistics import gain_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

Tables: TypeAlias = dict[tuple[int, Arm], BenchTable]
"""One CSV per process pair and leg."""
SNR_DB = {"e4m3": 25.0, "e5m2": 20.0, "fp4": 10.0, "e2m1": 10.0}
"""The specification's gates by number format."""


def build_measurement(start: Measurement, tables: Tables, on_trial: Arm, snr_db: float | None) -> Measurement:
    """What the runs so far say; Check, and the SNR gate of the number format, on every shape of every run."""
    pairs = 1 + max(pair for pair, _ in tables)
    samples = tuple(sample for (pair, leg), table in tables.items() for sample in _samples(pair, leg, table))
    failed = [
        (pair, row) for (pair, leg), table in tables.items() if leg is on_trial for row in table.rows if not row.passed
    ]
    checked = GateResult(
        property="correct",
        passed=not failed,
        reason="Check is PASS on every shape of every run."
        if not failed
        else f"{failed[0][1].label} is {failed[0][1].check}.",
        evidence=tuple(f"run {pair + 1}: {row.label} is {row.check}" for pair, row in failed),
    )
    gates = (checked, *_gate_snr(tables, on_trial, snr_db))
    status = Status.MEASURED if all(gate.passed for gate in gates) else Status.REFUSED
    return replace(start, status=status, pairs=pairs, samples=samples, gates=gates, accuracy=tuple(_accuracy(tables)))


def _gate_snr(tables: Tables, on_trial: Arm, snr_db: float | None) -> Iterator[GateResult]:
    """The gate of a low-precision format: a harness that says PASS below it has a laxer one of its own."""
    if snr_db is None:
        return
    low = [message for (_, leg), table in tables.items() if leg is on_trial for message in find_low_snr(table, snr_db)]
    reason = f"Every SNR is at least {snr_db:g} dB." if not low else f"{low[0]}."
    yield GateResult(property="snr", passed=not low, reason=reason, evidence=tuple(low))


def _samples(pair: int, leg: Arm, table: BenchTable) -> list[Sample]:
    steps = [name for name in table.header if name.endswith("(ms)")]
    found: list[Sample] = []
    for row in table.rows:
        for name in steps or [table.metrics[0]]:
            value = row.number(name)
            if value is None:
                continue
            cost = value if steps else 1e3 / value  # a rate stands for the time of one unit of work
            timing = Timing(calls=1, low=cost, median=cost, mean=cost, stddev=0.0)
            found.append(
                Sample(pair=pair, leg=leg, shape=row.label, step=name.split()[0].lower(), cpu=timing, wall=timing)
            )
    return found


def _accuracy(tables: Tables) -> list[Accuracy]:
    worst: dict[tuple[str, str], list[float]] = {}
    for (_, leg), table in tables.items():
        for row in table.rows if leg is Arm.CANDIDATE else ():
            for name in (column for column in table.header if column.endswith("_snr")):
                value = row.number(name)
                if value is not None:
                    worst.setdefault((row.label, name.removesuffix("_snr")), []).append(min(value, 400.0))
    return [
        Accuracy(
            leg=Arm.CANDIDATE,
            shape=label,
            output=output,
            calls=len(values),
            snr_db=min(values),
            error=10 ** (-min(values) / 20),
            max_error=10 ** (-min(values) / 20),
        )
        for (label, output), values in worst.items()
    ]


def add_control(measurement: Measurement, min_effect: float) -> Measurement:
    """The best against itself must not look like a gain or a loss."""
    if measurement.status is not Status.MEASURED or measurement.pairs < 2:
        return measurement
    ratios = read_ratios(measurement, "wall", lambda timing: timing.low, Arm.AGAIN)
    interval = gain_interval(ratios.whole, 0.005)
    quiet = interval.lower <= min_effect and interval.upper >= -min_effect
    said = f"the best against itself: {interval.estimate:+.2%} ({interval.lower:+.2%} to {interval.upper:+.2%})"
    control = GateResult(property="A/A", passed=quiet, reason=f"{said}." if quiet else f"{said}: the machine drifts.")
    return replace(measurement, controls=(control,), status=measurement.status if quiet else Status.CONTROLS_FAILED)


def merge_tables(tables: Tables, leg: Arm) -> str:
    """One table over all runs of a leg: means, with the deviation between runs where there is more than one."""
    runs = [table for (_, which), table in sorted(tables.items(), key=lambda item: item[0][0]) if which is leg]
    if not runs:
        return ""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    out.write(f"{runs[0].header_line}\r\n")
    for row in runs[0].rows:
        same = [found for run in runs if (found := run.row(row.label)) is not None]
        writer.writerow([_merge_cell(name, same, runs[0]) for name in runs[0].header])
    return out.getvalue()


def _merge_cell(name: str, rows: list[Any], table: BenchTable) -> str:
    base = name.removesuffix("_stddev")
    if name == "Check":
        return str(next((row.check for row in rows if not row.passed), "PASS"))
    values = [row.number(base) for row in rows if row.number(base) is not None]
    if name not in table.header or not values:
        cell = rows[0].cells[name]
        return "nan" if cell is None else str(cell)
    mean = sum(values) / len(values)
    if name.endswith("_stddev"):
        within = [row.number(name) or 0.0 for row in rows]
        between = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else 0.0
        return repr(max(between, max(within, default=0.0)))
    if name.endswith("_snr"):
        return repr(min(values))
    return str(int(mean)) if mean == int(mean) and name in ("B", "M", "N", "K") else repr(mean)
