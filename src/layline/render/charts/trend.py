"""Lines over time: the sparkline beside a number and the full chart it leads to."""

from __future__ import annotations

from dataclasses import dataclass

from layline.render.charts import svg
from layline.render.charts.scale import Scale, date_ticks, positions, short, ticks

Point = tuple[float | str, float]
Series = tuple[str, tuple[Point, ...]]
_RIGHT = 92.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened at a place on the time axis, such as a pin that moved."""

    at: float | str
    label: str


def sparkline(points: tuple[Point, ...], label: str, *, width: float = 160, height: float = 40) -> str:
    """A word-sized line; the last value has a dot. One point is a dot, none is an empty frame that says so."""
    if not points:
        return svg.drawing(width, height, f"{label}: no measurement", class_="spark")
    places, _ = positions([x for x, _ in points])
    values = [y for _, y in points]
    across = Scale(min(places), max(places), 4, width - 5)
    up = Scale(min(0.0, *values), max(values), height - 5, 5) if max(values) > 0 else Scale(0, 1, height - 5, 5)
    line = [(across(place), up(value)) for place, value in zip(places, values, strict=True)]
    base = up(0)
    area = [(line[0][0], base), *line, (line[-1][0], base)]
    shapes = [
        svg.element("path", d=svg.path(area) + "Z", class_="area s0", fill=svg.SERIES[0], fill_opacity="0.12"),
        svg.element(
            "path",
            d=svg.path(line),
            class_="line s0",
            fill="none",
            stroke=svg.SERIES[0],
            stroke_width=1.75,
            stroke_linejoin="round",
        ),
        svg.element("circle", cx=line[-1][0], cy=line[-1][1], r=3, class_="dot s0", fill=svg.SERIES[0]),
    ]
    return svg.drawing(width, height, label, *(shapes if len(points) > 1 else shapes[2:]), class_="spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The paper of a chart and its two scales."""

    width: float
    height: float
    across: Scale
    up: Scale
    levels: tuple[float, ...]
    dates: bool
    labels: tuple[tuple[float, str], ...]
    """What stands under the horizontal axis, by place."""


def trend(
    series: tuple[Series, ...],
    label: str,
    *,
    unit: str = "",
    marks: tuple[Mark, ...] = (),
    width: float = 720,
    height: float = 300,
) -> str:
    """One line per series with a dot per measurement, from zero, each line named at its end.

    Series of one name are stretches of one line: they share its colour, and the last of them carries the name.
    """
    drawn = tuple((name, points) for name, points in series if points)
    if not drawn:
        return svg.drawing(
            width,
            height,
            f"{label}: no measurement",
            svg.text(width / 2, height / 2, "no measurement", text_anchor="middle"),
        )
    frame = lay_out(drawn, width, height, extra=tuple(mark.at for mark in marks))
    shapes = [*_axes(frame, unit), *_marks(frame, marks)]
    ends: list[tuple[float, int, str]] = []
    names = list(dict.fromkeys(name for name, _ in drawn))
    for number, (name, points) in enumerate(drawn):
        index = names.index(name)
        places, _ = positions([x for x, _ in points])
        line = [(frame.across(place), frame.up(y)) for place, (_, y) in zip(places, points, strict=True)]
        shapes += _line(index, name, points, line, unit)
        if all(name != later for later, _ in drawn[number + 1 :]):
            end = short(points[-1][1])
            ends.append((line[-1][1], index, f"{end} {name}" if len(names) > 1 else end))
    x = frame.across.end + 8
    shapes += [_named(x, y, index, words) for y, index, words in _spread(ends)]
    return svg.drawing(width, height, label, *shapes)


def lay_out(series: tuple[Series, ...], width: float, height: float, *, extra: tuple[float | str, ...] = ()) -> Frame:
    """Scales that hold every point and start at zero."""
    places, dates = positions([x for _, points in series for x, _ in points] + list(extra))
    values = [y for _, points in series for _, y in points]
    levels = ticks(min(0.0, *values), max(*values, 0.0) or 1.0)
    across = Scale(min(places), max(places), 46, width - _RIGHT)
    up = Scale(levels[0], levels[-1], height - 28, 14)
    count = 5 if width > 500 else 3
    labels = tuple(date_ticks(min(places), max(places), count)) if dates else _names(series, places, count * 2)
    return Frame(width=width, height=height, across=across, up=up, levels=tuple(levels), dates=dates, labels=labels)


def _names(series: tuple[Series, ...], places: list[float], count: int) -> tuple[tuple[float, str], ...]:
    names: dict[float, str] = {}
    for place, (x, _) in zip(places, (point for _, points in series for point in points), strict=False):
        names.setdefault(place, x if isinstance(x, str) else short(x))
    every = max(1, -(-len(names) // count))
    return tuple(item for index, item in enumerate(sorted(names.items())) if index % every == 0)


def _axes(frame: Frame, unit: str) -> list[str]:
    shapes = []
    for level in frame.levels:
        y = frame.up(level)
        shapes.append(
            svg.element(
                "line",
                x1=frame.across.start - 6,
                x2=frame.across.end,
                y1=y,
                y2=y,
                class_="grid",
                stroke=svg.FAINT,
                stroke_width=1,
                stroke_opacity="0.7",
            )
        )
        shapes.append(svg.text(frame.across.start - 10, y + 4, short(level), text_anchor="end"))
    if unit:
        shapes.append(svg.text(frame.across.start - 6, 9, unit, class_="label axis", font_size=11))
    for place, words in frame.labels:
        x, floor = frame.across(place), frame.height - 28
        shapes.append(svg.element("line", x1=x, x2=x, y1=floor, y2=floor + 5, class_="grid", stroke=svg.FAINT))
        shapes.append(svg.text(x, frame.height - 8, words, text_anchor="middle"))
    return shapes


def _marks(frame: Frame, marks: tuple[Mark, ...]) -> list[str]:
    shapes = []
    for mark in marks:
        places, dates = positions([mark.at])
        if dates != frame.dates:
            continue
        x = frame.across(places[0])
        line = svg.element(
            "line",
            svg.title(mark.label),
            x1=x,
            x2=x,
            y1=14,
            y2=frame.height - 28,
            class_="mark",
            stroke=svg.INK,
            stroke_dasharray="2 4",
        )
        shapes += [line, svg.text(x + 4, 24, mark.label, class_="label mark-label", font_size=11)]
    return shapes


def _line(index: int, name: str, points: tuple[Point, ...], line: list[tuple[float, float]], unit: str) -> list[str]:
    colour = svg.SERIES[index % len(svg.SERIES)]
    tone = f"s{index % len(svg.SERIES)}"
    shapes = [
        svg.element(
            "path",
            d=svg.path(line),
            class_=f"line {tone}",
            fill="none",
            stroke=colour,
            stroke_width=2,
            stroke_linejoin="round",
        )
    ]
    for (x, y), place in zip(points, line, strict=True):
        said = svg.title(f"{name}, {x}: {short(y)} {unit}".rstrip())
        shapes.append(svg.element("circle", said, cx=place[0], cy=place[1], r=3, class_=f"dot {tone}", fill=colour))
    return shapes


def _named(x: float, y: float, index: int, words: str) -> str:
    colour = svg.SERIES[index % len(svg.SERIES)]
    return svg.text(x, y + 4, words, class_=f"label name s{index % len(svg.SERIES)}", fill=colour, font_weight=600)


def _spread(ends: list[tuple[float, int, str]], apart: float = 15) -> list[tuple[float, int, str]]:
    """Move names apart that would stand on each other, keeping their order."""
    placed: list[tuple[float, int, str]] = []
    for y, index, words in sorted(ends):
        placed.append((max(y, placed[-1][0] + apart) if placed else y, index, words))
    return placed
