"""Accepted findings: a file of finding ids with a reason and a last day, so that CI fails on news alone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, TypeVar

from layline.errors import RecordError


class Identified(Protocol):
    """Anything that a baseline may accept: a drift row, or a place outside patches."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=Identified)


@dataclass(frozen=True, slots=True)
class Accepted:
    id: str
    reason: str
    until: date
    """The last day on which it counts."""


def parse_baseline(text: str, *, where: str) -> tuple[Accepted, ...]:
    """The accepted findings of a TOML file: `[[accepted]]` tables with `id`, `reason`, `until`."""
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecordError(where, (f"is not TOML: {error}",)) from None
    tables = plain.get("accepted", [])
    problems = [f"unknown key {key!r}" for key in plain if key != "accepted"]
    if not isinstance(tables, list):
        problems.append("`accepted` is not a list of tables")
        tables = []
    for number, table in enumerate(tables, 1):
        problems += [f"accepted {number}: {problem}" for problem in _find_problems(table)]
    if problems:
        raise RecordError(where, tuple(problems), hint="Each [[accepted]] needs id, reason and until = YYYY-MM-DD.")
    return tuple(Accepted(table["id"], table["reason"], table["until"]) for table in tables)


def _find_problems(table: Any) -> Iterator[str]:
    if not isinstance(table, dict):
        yield "is not a table"
        return
    for key in ("id", "reason"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            yield f"{key} must be a string"
    if type(table.get("until")) is not date:
        yield "until must be a date (YYYY-MM-DD, without quotes)"
    yield from (f"unknown key {key!r}" for key in table if key not in {"id", "reason", "until", "target"})


def split_accepted(
    rows: Iterable[Item], accepted: Iterable[Accepted], today: date
) -> tuple[tuple[Item, ...], tuple[tuple[Item, Accepted], ...]]:
    """Rows that still count, and rows that are accepted on that day."""
    by_id = {item.id: item for item in accepted if item.until >= today}
    counted: list[Item] = []
    kept: list[tuple[Item, Accepted]] = []
    for row in rows:
        item = by_id.get(row.id)
        if item is None:
            counted.append(row)
        else:
            kept.append((row, item))
    return tuple(counted), tuple(kept)


def find_stale(accepted: Iterable[Accepted], used: Iterable[Accepted]) -> tuple[Accepted, ...]:
    """Entries that match nothing any more or have run out."""
    ids = {item.id for item in used}
    return tuple(item for item in accepted if item.id not in ids)
