"""What a campaign shows: gains with their intervals, and how near a kernel is to what the machine can do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from layline.render.charts import svg
from layline.render.charts.scale import Scale, short, ticks

NARROW = 500
LETTER, LINE, DOT = 7.0, 14.0, 6.0
"""Room that a letter, a line of text and half a dot take on the paper."""

_LEFT = 60.0
"""Room for `1,000 %` beside the axis."""
_LABEL = 48.0
"""Room for `+1234%` over a dot."""
_RATIOS = tuple(base * 10.0**power for power in range(-3, 5) for base in (1, 2, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One round: an estimate with the range that holds it; not a number where nothing was measured."""

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
    gains: bool = False,
    width: float = 720,
    height: float = 280,
) -> str:
    """A dot with a whisker per round; filled where accepted, hollow where not. `reference` is the line to beat. `gains`
    (of rounds, in percent) stand by their ratio: +100 % is as far up as −50 % is down, so that a great one hides no
    other.
    """
    if not rounds:
        return svg.drawing(
            width, height, f"{label}: no round", svg.text(width / 2, height / 2, "no round yet", text_anchor="middle")
        )
    ends = [bound for item in rounds for bound in (item.low, item.high, item.value) if math.isfinite(bound)]
    ends += [] if reference is None and ends else [reference or 0.0]
    levels = _levels(min(ends), max(ends), gains=gains)
    paper = Scale(_stand(levels[0], gains), _stand(levels[-1], gains), height - 28, 28)

    def up(value: float) -> float:
        return paper(_stand(value, gains))

    across = Scale(0, max(len(rounds) - 1, 1), _LEFT + 26, width - 30)
    shapes = [_level(level, up(level), width, unit) for level in levels]
    if reference is not None:
        y = up(reference)
        shapes.append(
            svg.element(
                "line",
                svg.title(f"reference {short(reference)} {unit}".rstrip()),
                x1=_LEFT,
                x2=width - 10,
                y1=y,
                y2=y,
                class_="mark",
                stroke=svg.INK,
                stroke_dasharray="5 4",
            )
        )
    shapes += [svg.text(_LEFT - 6, height - 8, "round", text_anchor="end", font_size=11)] if gains else []
    every = max(1, -(-len(rounds) // 16))
    for index, item in enumerate(rounds):
        x = across(index) if len(rounds) > 1 else width / 2
        if math.isfinite(item.value):
            shapes += _whisker(item, x, up, unit, told=len(rounds) * _LABEL <= width)
        else:
            shapes.append(_unmeasured(item, x, up(levels[0] if reference is None else reference)))
        if index % every == 0:
            shapes.append(svg.text(x, height - 8, item.label, text_anchor="middle", font_size=11))
    return svg.drawing(width, height, label, *shapes)


def _stand(value: float, gains: bool) -> float:
    """Where a value stands: by itself, or by the logarithm of the ratio it tells."""
    return math.log(max(1 + value / 100, _RATIOS[0])) if gains else value


def _levels(low: float, high: float, *, gains: bool) -> list[float]:
    """Round values that cover a span; of gains that differ by more than two times, round ratios."""
    if low >= high:
        return [low - 1, low + 1]
    low = max(low, -99.9) if gains else low
    if not gains or (1 + high / 100) < 2 * (1 + low / 100):
        return [level for level in ticks(low, high) if not gains or level > -100]
    least = max((one for one in _RATIOS if one <= 1 + low / 100), default=_RATIOS[0])
    most = min((one for one in _RATIOS if one >= 1 + high / 100), default=_RATIOS[-1])
    return [round(100 * (one - 1), 6) for one in _RATIOS if least <= one <= most]


def roofline(
    kernels: tuple[Kernel, ...],
    label: str,
    *,
    peak: float,
    bandwidth: float,
    unit: str = "FLOP/s",
    width: float = 620,
    height: float = 340,
) -> str:
    """Both axes by powers of ten; the roof is what memory (left) and arithmetic (right) allow.

    `peak` and the rates are in `unit`; `bandwidth` is that unit per operation-per-byte (say TB/s). On narrow paper
    names have no room: each kernel has the number of its place in `rank_kernels`.
    """
    ridge = peak / bandwidth
    measured = [kernel for kernel in kernels if kernel.intensity > 0 and kernel.rate > 0]
    left = math.floor(math.log10(min([ridge / 10, *(kernel.intensity for kernel in measured)])))
    right = math.ceil(math.log10(max([ridge * 10, *(kernel.intensity for kernel in measured)])))
    low = math.floor(math.log10(min([peak / 100, *(kernel.rate for kernel in measured)])))
    high = math.ceil(math.log10(max([peak, *(kernel.rate for kernel in measured)])))
    across, up = Scale(left, right, _LEFT + 6, width - 20), Scale(low, high, height - 46, 26)
    shapes = [_level(10.0**power, up(power), width) for power in range(low, high + 1)]
    shapes += [
        svg.text(across(power), height - 26, short(10.0**power), text_anchor="middle")
        for power in range(left, right + 1)
    ]
    shapes.append(svg.text(8, 12, unit, font_size=11))
    shapes.append(svg.text(width - 10, height - 6, "FLOP per byte", text_anchor="end", font_size=11))
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
    ranked = rank_kernels(tuple(measured))
    places = [(across(math.log10(kernel.intensity)), up(math.log10(kernel.rate))) for kernel in ranked]
    taken = [Box(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in [*places, *_along(line)]]
    paper = Box(_LEFT, 0, width, height - 40)
    for index, (kernel, at) in enumerate(zip(ranked, places, strict=True)):
        most = min(peak, kernel.intensity * bandwidth)
        name = str(index + 1) if width < NARROW else f"{kernel.label} {kernel.rate / most:.0%}"
        shapes += _kernel(kernel, index, at, most, name, taken, paper)
    return svg.drawing(width, height, label, *shapes)


def rank_kernels(kernels: tuple[Kernel, ...]) -> tuple[Kernel, ...]:
    """The kernels a roofline draws, the fastest first."""
    return tuple(
        sorted((one for one in kernels if one.intensity > 0 and one.rate > 0), key=lambda kernel: -kernel.rate)
    )


def _along(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of a line, close enough that no name fits between two of them."""
    found = []
    for (x, y), (to_x, to_y) in itertools.pairwise(line):
        steps = max(1, round(max(abs(to_x - x), abs(to_y - y)) / DOT))
        found += [(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps) for step in range(steps + 1)]
    return found


@dataclass(frozen=True, slots=True)
class Box:
    """Room that is taken on the paper."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Box) -> bool:
        return self.left <= other.left and other.right <= self.right and other.bottom <= self.bottom

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def _kernel(
    kernel: Kernel, index: int, at: tuple[float, float], roof: float, text: str, taken: list[Box], paper: Box
) -> list[str]:
    """A dot that says its name when touched; the name beside it too, where it covers neither dot nor name."""
    x, y = at
    tone, colour = f"s{index % len(svg.SERIES)}", svg.SERIES[index % len(svg.SERIES)]
    said = svg.title(f"{kernel.label}: {short(kernel.rate)} of {short(roof)} possible ({kernel.rate / roof:.0%})")
    dot = svg.element("circle", said, cx=x, cy=y, r=5, class_=f"dot {tone}", fill=colour)
    place = _find_room(at, LETTER * len(text), taken, paper)
    if place is None:
        return [dot]
    box, anchor = place
    taken.append(box)
    edge = box.left if anchor == "start" else box.right
    name = svg.text(edge, box.bottom - 3, text, class_=f"label name {tone}", fill=colour, text_anchor=anchor)
    return [dot, name]


def _find_room(at: tuple[float, float], size: float, taken: list[Box], paper: Box) -> tuple[Box, str] | None:
    """Right of a dot, left of it, or above or below; None where every place is taken."""
    x, y = at
    inside = min(max(paper.left, x - size / 2), paper.right - size)  # where neither side has room for the whole name
    for down in (0.0, -LINE, LINE, -2 * LINE, 2 * LINE):
        top, bottom = y + down - LINE / 2, y + down + LINE / 2
        for box, anchor in (
            (Box(x + DOT + 2, top, x + DOT + 2 + size, bottom), "start"),
            (Box(x - DOT - 2 - size, top, x - DOT - 2, bottom), "end"),
            (Box(inside, top, inside + size, bottom), "start"),
        ):
            if paper.holds(box) and not any(box.meets(other) for other in taken):
                return box, anchor
    return None


def _level(level: float, y: float, width: float, unit: str = "") -> str:
    line = svg.element(
        "line",
        x1=_LEFT,
        x2=width - 10,
        y1=y,
        y2=y,
        class_="grid",
        stroke=svg.FAINT,
        stroke_width=1,
        stroke_opacity="0.7",
    )
    return line + svg.text(_LEFT - 6, y + 4, f"{short(level)} {unit}".rstrip(), text_anchor="end")


def _unmeasured(item: Interval, x: float, y: float) -> str:
    """A hollow dot on the line to beat: a round that ended before its gain was measured."""
    tone = item.tone if item.tone in svg.TONES else "none"
    said = svg.title(f"{item.label}: no gain measured")
    return svg.element(
        "circle",
        said,
        cx=x,
        cy=y,
        r=4.5,
        class_=f"ring {tone}",
        fill="#ffffff",
        stroke=svg.TONES[tone],
        stroke_width=1.5,
    )


def _whisker(item: Interval, x: float, up: Callable[[float], float], unit: str, *, told: bool) -> list[str]:
    """A dot in its range; `told`: its value over it, or below where it is a loss."""
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
    value = f"{item.value:+.{0 if abs(item.value) >= 10 else 1}f}{unit if unit == '%' else ''}"
    at = bottom + 17 if item.value < 0 else top - 8
    return [*caps, bar, dot, *([svg.text(x, at, value, text_anchor="middle", font_size=11)] if told else [])]
