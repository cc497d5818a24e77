"""Amounts side by side, and amounts in a grid."""

from __future__ import annotations

from layline.render.charts import svg
from layline.render.charts.scale import Scale, short

Amount = tuple[str, float]
_ROW = 26.0


def bars(amounts: tuple[Amount, ...], label: str, *, unit: str = "", width: float = 440) -> str:
    """One horizontal bar per amount, in the order given; names left, figures at the end of each bar."""
    room = min(220.0, 14 + max((len(name) for name, _ in amounts), default=0) * 6.8)
    top = max((value for _, value in amounts), default=0.0)
    along = Scale(0, top or 1.0, room + 8, width - 70)
    shapes = []
    for row, (name, value) in enumerate(amounts):
        y = row * _ROW + 4
        end = along(max(value, 0.0))
        shapes += [
            svg.text(room, y + 13, _clip(name, room), text_anchor="end"),
            svg.element(
                "rect",
                svg.title(f"{name}: {short(value)} {unit}".rstrip()),
                x=room + 8,
                y=y,
                width=max(end - room - 8, 1),
                height=18,
                rx=2,
                class_="bar s0",
                fill=svg.SERIES[0],
            ),
            svg.text(end + 6, y + 13, short(value), class_="label value"),
        ]
    return svg.drawing(width, max(len(amounts) * _ROW + 4, _ROW), label, *shapes)


def heat_map(
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    values: tuple[tuple[float | None, ...], ...],
    label: str,
    *,
    middle: float | None = None,
    cell: float = 44,
) -> str:
    """A grid of values; with `middle`, better (above) and worse (below) take two hues. None is a hatched gap.

    Every cell prints its figure, so the hue is never the only carrier.
    """
    room = min(200.0, 16 + max((len(name) for name in rows), default=0) * 7.2)
    flat = all(len(name) * 6.8 <= cell for name in columns)
    head = 28.0 if flat else min(110.0, 16 + max((len(name) for name in columns), default=0) * 4.8)
    known = [value for row in values for value in row if value is not None]
    reach = max((abs(value - (middle or 0.0)) for value in known), default=1.0) or 1.0
    shapes = []
    for index, name in enumerate(columns):
        x, y = room + index * cell + cell / 2, head - 8
        if flat:
            shapes.append(svg.text(x, y, name, text_anchor="middle"))
        else:
            shapes.append(svg.text(x, y, _clip(name, 110), transform=f"rotate(-40 {svg.number(x)} {svg.number(y)})"))
    for line, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = head + line * 28
        shapes.append(svg.text(room - 8, y + 18, _clip(name, room), text_anchor="end"))
        for index, value in enumerate(row):
            said = f"{name}, {columns[index]}: " + ("no measurement" if value is None else short(value))
            shapes += _heat_cell(room + index * cell, y, cell, _heat(value, middle, reach), said)
            if value is not None:
                shapes.append(
                    svg.text(
                        room + index * cell + cell / 2,
                        y + 18,
                        f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}",
                        text_anchor="middle",
                        font_size=11,
                        class_="label cell-label",
                    )
                )
    return svg.drawing(room + len(columns) * cell + (4 if flat else 60), head + len(rows) * 28 + 4, label, *shapes)


def _heat_cell(x: float, y: float, cell: float, look: tuple[str, str, float], said: str) -> list[str]:
    tone, colour, weight = look
    return [
        svg.element(
            "rect",
            svg.title(said),
            x=x + 1,
            y=y + 1,
            width=cell - 2,
            height=26,
            rx=2,
            class_=f"cell {tone}",
            fill=colour,
            fill_opacity=weight,
        )
    ]


def _heat(value: float | None, middle: float | None, reach: float) -> tuple[str, str, float]:
    if value is None:
        return "unknown", svg.FAINT, 0.35
    distance = value - (middle or 0.0)
    weight = 0.08 + 0.5 * min(abs(distance) / reach, 1.0)
    if middle is None:
        return "s0", svg.SERIES[0], weight
    return ("good", svg.TONES["good"], weight) if distance >= 0 else ("bad", svg.TONES["bad"], weight)


def _clip(words: str, room: float) -> str:
    most = max(int(room / 6.4), 4)
    return words if len(words) <= most else words[: most - 1] + "…"
