"""What a campaign shows: gains with their intervals, and how near a kernel is to what the machine can do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from layline.render.charts import svg
from layline.render.charts.scale import Scale, short, ticks

LABEL_WIDTH, LABEL_HEIGHT = 150, 13
"""Room a name takes beside its dot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One round: an estimate with the range that holds it."""

    label: str
    value: float
    low: float
    high: float
    tone: str = "none"
    """`good` (accepted), `bad` (rolled back), `plan` (trade-off) or `none` (inconclusive)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One measured kernel: operations per byte and operations per second."""

    label: str
    intensity: float
    rate: float


def interval_trend(
    rounds: tuple[Interval, ...],
    label: str,
    *,
    unit: str = "",
    reference: float | None = None,
    width: float = 720,
    height: float = 280,
) -> str:
    """A dot with a whisker per round; filled where accepted, hollow where not. `reference` is the line to beat."""
    if not rounds:
        return svg.drawing(
            width, height, f"{label}: no round", svg.text(width / 2, height / 2, "no round yet", text_anchor="middle")
        )
    ends = [bound for item in rounds for bound in (item.low, item.high, item.value) if math.isfinite(bound)]
    ends += [] if reference is None else [reference]
    levels = ticks(min(ends), max(ends)) if min(ends) < max(ends) else [min(ends) - 1, min(ends) + 1]
    up = Scale(levels[0], levels[-1], height - 28, 14)
    across = Scale(0, max(len(rounds) - 1, 1), 70, width - 30)
    shapes = [_level(level, up(level), width) for level in levels]
    if reference is not None:
        y = up(reference)
        shapes.append(
            svg.element(
                "line",
                svg.title(f"reference {short(reference)} {unit}".rstrip()),
                x1=50,
                x2=width - 10,
                y1=y,
                y2=y,
                class_="mark",
                stroke=svg.INK,
                stroke_dasharray="5 4",
            )
        )
    every = max(1, -(-len(rounds) // 16))
    for index, item in enumerate(rounds):
        x = across(index) if len(rounds) > 1 else width / 2
        shapes += _whisker(item, x, up, unit)
        if index % every == 0:
            shapes.append(svg.text(x, height - 8, item.label, text_anchor="middle", font_size=11))
    return svg.drawing(width, height, label, *shapes)


def roofline(
    kernels: tuple[Kernel, ...], label: str, *, peak: float, bandwidth: float, width: float = 620, height: float = 320
) -> str:
    """Both axes by powers of ten; the roof is what memory (left) and arithmetic (right) allow.

    `peak` and the rates share a unit (say TFLOP/s); `bandwidth` is that unit per operation-per-byte (say TB/s).
    """
    ridge = peak / bandwidth
    measured = [kernel for kernel in kernels if kernel.intensity > 0 and kernel.rate > 0]
    left = math.floor(math.log10(min([ridge / 10, *(kernel.intensity for kernel in measured)])))
    right = math.ceil(math.log10(max([ridge * 10, *(kernel.intensity for kernel in measured)])))
    low = math.floor(math.log10(min([peak / 100, *(kernel.rate for kernel in measured)])))
    high = math.ceil(math.log10(max([peak, *(kernel.rate for kernel in measured)])))
    across, up = Scale(left, right, 56, width - 20), Scale(low, high, height - 34, 14)
    shapes = [_level(10.0**power, up(power), width) for power in range(low, high + 1)]
    shapes += [
        svg.text(across(power), height - 14, short(10.0**power), text_anchor="middle")
        for power in range(left, right + 1)
    ]
    start = max(left, low - math.log10(bandwidth))  # where the slope enters the paper
    roof = [
        (start, start + math.log10(bandwidth)),
        (math.log10(ridge), math.log10(peak)),
        (float(right), math.log10(peak)),
    ]
    line = [(across(x), up(y)) for x, y in roof]
    shapes.append(
        svg.element(
            "path",
            svg.title(f"roof: {short(peak)} peak, {short(bandwidth)} bandwidth"),
            d=svg.path(line),
            class_="line roof",
            fill="none",
            stroke=svg.INK,
            stroke_width=2,
        )
    )
    named: list[tuple[float, float]] = []
    for index, kernel in enumerate(sorted(measured, key=lambda kernel: -kernel.rate)):
        x, y = across(math.log10(kernel.intensity)), up(math.log10(kernel.rate))
        is_free = all(abs(x - other) > LABEL_WIDTH or abs(y - line) > LABEL_HEIGHT for other, line in named)
        named += [(x, y)] if is_free else []
        shapes += _kernel(kernel, index, (x, y), min(peak, kernel.intensity * bandwidth), width if is_free else None)
    return svg.drawing(width, height, label, *shapes)


def _kernel(kernel: Kernel, index: int, at: tuple[float, float], roof: float, width: float | None) -> list[str]:
    """A dot that says its name when touched; the name beside it too, where it covers no other."""
    x, y = at
    tone, colour = f"s{index % len(svg.SERIES)}", svg.SERIES[index % len(svg.SERIES)]
    said = svg.title(f"{kernel.label}: {short(kernel.rate)} of {short(roof)} possible ({kernel.rate / roof:.0%})")
    dot = svg.element("circle", said, cx=x, cy=y, r=5, class_=f"dot {tone}", fill=colour)
    if width is None:
        return [dot]
    is_left = x + LABEL_WIDTH > width
    text = f"{kernel.label} {kernel.rate / roof:.0%}"
    return [
        dot,
        svg.text(
            x - 8 if is_left else x + 8,
            y + 4,
            text,
            class_=f"label name {tone}",
            fill=colour,
            text_anchor="end" if is_left else "start",
        ),
    ]


def _level(level: float, y: float, width: float) -> str:
    line = svg.element(
        "line", x1=50, x2=width - 10, y1=y, y2=y, class_="grid", stroke=svg.FAINT, stroke_width=1, stroke_opacity="0.7"
    )
    return line + svg.text(44, y + 4, short(level), text_anchor="end")


def _whisker(item: Interval, x: float, up: Scale, unit: str) -> list[str]:
    tone = item.tone if item.tone in svg.TONES else "none"
    colour = svg.TONES[tone]
    said = svg.title(f"{item.label}: {short(item.value)} {unit} ({short(item.low)} to {short(item.high)})")
    top, bottom = up(item.high), up(item.low)
    caps = [
        svg.element("line", x1=x - 4, x2=x + 4, y1=y, y2=y, class_=f"whisker {tone}", stroke=colour, stroke_width=1.5)
        for y in (top, bottom)
    ]
    bar = svg.element("line", x1=x, x2=x, y1=top, y2=bottom, class_=f"whisker {tone}", stroke=colour, stroke_width=1.5)
    accepted = tone in {"good", "plan"}
    dot = svg.element(
        "circle",
        said,
        cx=x,
        cy=up(item.value),
        r=4.5,
        class_=f"{'dot' if accepted else 'ring'} {tone}",
        fill=colour if accepted else "#ffffff",
        stroke=colour,
        stroke_width=1.5,
    )
    return [*caps, bar, dot]
