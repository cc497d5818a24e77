"""A measurement as a benchmark CSV in the frozen form: what people and other tools read. Pure."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from layline.campaign.values.bench_csv import GEMM_HEADER
from layline.campaign.values.measurement import Arm, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layline.campaign.values.measurement import Measurement
    from layline.campaign.values.operator import Operator, Pass, Shape

EXACT_DB = 400.0
"""How a measurement writes an exact result, whose signal-to-noise ratio is infinite."""


def build_csv(operator: Operator, measurement: Measurement, leg: Arm) -> str:
    """The figures of one leg; empty where it has none to publish."""
    if measurement.status is not Status.MEASURED or not any(sample.leg is leg for sample in measurement.samples):
        return ""
    shapes = [shape for shape in operator.shapes if shape.label in measurement.shapes]
    is_gemm = {"M", "N", "K"} <= {name for name, _ in operator.shapes[0].sizes}
    header = GEMM_HEADER if is_gemm else build_header(operator)
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=header, lineterminator="\r\n", restval="nan")
    writer.writeheader()
    for shape in shapes:
        row = _row(operator, measurement, leg, shape)
        writer.writerow({name: row[name] for name in header if name in row} | ({"B": 1} if is_gemm else {}))
    return out.getvalue()


def build_header(operator: Operator) -> tuple[str, ...]:
    """The columns of an operator that is not a GEMM: its own sizes, metrics with deviations, one SNR per output."""
    sizes = [name for name, _ in operator.shapes[0].sizes]
    unit = unit_of(operator)
    metrics = [
        column for step in operator.passes for column in (f"{_title(step)} {unit}", f"{_title(step)} {unit}_stddev")
    ]
    times = [f"{_title(step)} Time (ms)" for step in operator.passes]
    outputs = [f"{name}_snr" for step in operator.passes for name in step.outputs]
    return ("label", *sizes, "Check", *metrics, *times, *outputs)


def unit_of(operator: Operator) -> str:
    return "GB/s" if "GB/s" in operator.metric else "TFLOPS"


def _title(step: Pass) -> str:
    return step.name.capitalize()


def _row(operator: Operator, measurement: Measurement, leg: Arm, shape: Shape) -> dict[str, object]:
    unit = unit_of(operator)
    row: dict[str, object] = {"label": shape.label, "Check": "PASS", **dict(shape.sizes)}
    for step in operator.passes:
        times = [
            (sample.cpu if measurement.plan.clock == "cpu" else sample.wall).low
            for sample in measurement.samples
            if sample.leg is leg and sample.shape == shape.label and sample.step == step.name
        ]
        if not times:
            row["Check"] = "ERROR"
            continue
        work = step.bytes_moved(shape) / 1e9 if unit == "GB/s" else step.flops(shape) / 1e12
        mean = _mean(times)
        rate = work / (mean * 1e-3)  # the rate of the mean time, so that the columns of a row agree
        row[f"{_title(step)} {unit}"], row[f"{_title(step)} {unit}_stddev"] = rate, rate * _deviation(times) / mean
        row[f"{_title(step)} Time (ms)"] = mean
    for accuracy in measurement.accuracy:
        if accuracy.leg is leg and accuracy.shape == shape.label:
            row[f"{accuracy.output}_snr"] = "inf" if accuracy.snr_db >= EXACT_DB else round(accuracy.snr_db, 3)
    return row


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _deviation(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)) if len(values) > 1 else 0.0
