"""Numbers and dates to places on paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps `low`…`high` to `start`…`end` linearly; a single value stands in the middle."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round values that cover `low`…`high` in steps of 1, 2, 2.5 or 5 times a power of ten."""
    span = high - low
    if not math.isfinite(span) or span < 1e-9:  # nothing a reader could tell apart
        return [low]
    rough = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def short(value: float) -> str:
    """A number as an axis or label shows it: 1,234 or 0.25 or 1.2M."""
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:.3g}M"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.3g}"


def day(value: float | str) -> int | None:
    """The day number of an ISO date, or None."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value[:10]).toordinal()
    except ValueError:
        return None


def positions(values: list[float | str]) -> tuple[list[float], bool]:
    """Where values stand on an axis: dates by day, numbers as they are, anything else one after another."""
    days = [day(value) for value in values]
    known = [number for number in days if number is not None]
    if values and len(known) == len(values):
        return [float(number) for number in known], True
    numbers = [float(value) for value in values if not isinstance(value, str)]
    if len(numbers) == len(values):
        return numbers, False
    order: dict[float | str, int] = {}
    return [float(order.setdefault(value, len(order))) for value in values], False


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def date_ticks(low: float, high: float, count: int = 5) -> list[tuple[float, str]]:
    """First days of months (or of years), at most `count` + 1 of them; the ends where the span is shorter than that."""
    first, last = date.fromordinal(int(low)), date.fromordinal(int(high))
    months = (last.year - first.year) * 12 + last.month - first.month
    step = next((step for step in (1, 2, 3, 6, 12, 24, 60) if months / step <= count), 120)
    index = first.year * 12 + first.month - 1
    found: list[tuple[float, str]] = []
    for month in range(index + -index % step, index + months + 1, step):
        year, inner = divmod(month, 12)
        start = date(year, inner + 1, 1).toordinal()
        if low <= start <= high:
            name = f"{_MONTHS[inner]} {year}" if not found or inner < step else _MONTHS[inner]
            found.append((float(start), name if step < 12 else str(year)))
    if len(found) >= 2:
        return found
    ends = [low] if low == high else [low, high]
    return [(end, f"{date.fromordinal(int(end)).day} {_MONTHS[date.fromordinal(int(end)).month - 1]}") for end in ends]
