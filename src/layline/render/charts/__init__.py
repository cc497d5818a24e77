"""Small vector drawings: pure, the same bytes for the same values, readable without colour, by themselves or on a page.

Shapes carry classes (`s0`…`s5`, `good`, `plan`, `bad`) that the site's stylesheet themes, and literal colours for
everywhere else. No style attribute and no style element: the site's policy forbids both.
"""

from __future__ import annotations

import csv
import io
import math
import re

from layline.core.report import Chart
from layline.render.charts.badge import badge, shields_endpoint
from layline.render.charts.bars import bars, heat_map
from layline.render.charts.campaign import Interval, Kernel, interval_trend, rank_kernels, roofline
from layline.render.charts.lineage import Step, lineage
from layline.render.charts.trend import Mark, sparkline, trend

__all__ = [
    "Interval",
    "Kernel",
    "Mark",
    "Step",
    "badge",
    "bars",
    "chart_from_fence",
    "draw",
    "fence_of",
    "heat_map",
    "interval_trend",
    "lineage",
    "rank_kernels",
    "roofline",
    "shields_endpoint",
    "sparkline",
    "trend",
]

_FENCE = re.compile(r"csv chart=(trend|bars|intervals|heat|roofline|lineage)(?: unit=(\S+))?(?: title=(.*))?\Z")


def draw(chart: Chart) -> str:
    """A chart of a report, by its kind; an unknown kind is drawn as lines.

    `intervals` reads three series of the same places: the estimate, then low, then high; a place that ends in ✗ was
    rolled
    back. `heat` reads one series per row. `roofline` reads `roof` (bandwidth, peak), then one series per kernel.
    `lineage` reads one series per round: its number (✗ as above), at the number of the round it changed, its gain.
    """
    match chart.kind:
        case "bars":
            amounts = tuple((str(x), y) for _, points in chart.series for x, y in points)
            return bars(amounts, chart.title, unit=chart.unit)
        case "heat" if chart.series:
            columns = tuple(dict.fromkeys(str(x) for _, points in chart.series for x, _ in points))
            found = [{str(x): y for x, y in points} for _, points in chart.series]
            values = tuple(tuple(row.get(column) for column in columns) for row in found)
            return heat_map(tuple(name for name, _ in chart.series), columns, values, chart.title)
        case "intervals" if len(chart.series) == 3:
            (_, values_), (_, lows), (_, highs) = chart.series
            rounds = tuple(
                Interval(label=str(x), value=y, low=low, high=high, tone="bad" if str(x).endswith("✗") else "good")
                for (x, y), (_, low), (_, high) in zip(values_, lows, highs, strict=False)
            )
            return interval_trend(rounds, chart.title, unit=chart.unit)
        case "roofline" if len(chart.series) > 1 and chart.series[0][1]:
            (bandwidth, peak), *_ = chart.series[0][1]
            kernels = tuple(
                Kernel(label=name, intensity=float(x), rate=y) for name, points in chart.series[1:] for x, y in points
            )
            return roofline(kernels, chart.title, peak=peak, bandwidth=float(bandwidth), unit=chart.unit or "FLOP/s")
        case "lineage" if chart.series and all(_is_step(*one) for one in chart.series):
            return lineage(tuple(_read_step(name, *points[0]) for name, points in chart.series), chart.title)
        case _:
            return trend(chart.series, chart.title, unit=chart.unit)


def _is_step(name: str, points: tuple[tuple[float | str, float], ...]) -> bool:
    """Whether a series, which may be anybody's text, is a round of a lineage."""
    return name.removesuffix(" ✗").isdecimal() and len(points) == 1 and isinstance(points[0][0], float)


def _read_step(name: str, parent: float | str, gain: float) -> Step:
    number, stands = int(name.removesuffix(" ✗")), not name.endswith("✗")
    is_start = parent == number
    return Step(
        number=number,
        parent=None if is_start else int(parent),
        tone="good" if stands else "bad",
        stands=stands,
        note="start" if is_start else f"{gain:+.1f} %",
    )


def fence_of(chart: Chart) -> str:
    """The chart as Markdown: a CSV block that reads as data anywhere and is drawn by Layline's pages and PDFs."""
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    writer.writerow(["series", "x", "y"])
    for name, points in chart.series:
        writer.writerows([_flat(name), _flat(x) if isinstance(x, str) else x, f"{y:g}"] for x, y in points)
    kind = chart.kind if chart.kind in {"trend", "bars", "intervals", "heat", "roofline", "lineage"} else "trend"
    unit = f" unit={'-'.join(_flat(chart.unit).split())}" if chart.unit else ""
    return f"```csv chart={kind}{unit} title={_flat(chart.title)}\n{rows.getvalue().replace('`', chr(39))}```"


def chart_from_fence(info: str, content: str) -> Chart | None:
    """The chart a fence of `fence_of` holds, or None where it is anything else."""
    found = _FENCE.match(info.strip())
    if found is None:
        return None
    series: dict[str, list[tuple[float | str, float]]] = {}
    for row in list(csv.reader(io.StringIO(content)))[1:]:
        try:
            name, x, y = row[0], row[1], float(row[2])
        except (IndexError, ValueError):
            return None  # not ours: shown as the text it is
        if not math.isfinite(y):
            return None
        series.setdefault(name, []).append((_number_or_text(x), y))
    kind, unit, title = found.groups()
    drawn = tuple((name, tuple(points)) for name, points in series.items())
    return Chart(kind=kind, title=title or "Chart", series=drawn, unit=(unit or "").replace("-", " "))


def _number_or_text(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _flat(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
