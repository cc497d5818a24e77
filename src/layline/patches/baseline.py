"""Accepted findings: a file of finding ids with a reason and a last day, so that CI fails on news alone."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from layline.errors import RecordError
from layline.patches.drift import Drift

HEADER = "# Findings of `layline patches drift` that were looked at and accepted; each with a reason and a last day.\n"


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
            yield f"{key} must be a text"
    if type(table.get("until")) is not date:
        yield "until must be a date (YYYY-MM-DD, without quotes)"
    yield from (f"unknown key {key!r}" for key in table if key not in {"id", "reason", "until", "target"})


def split_accepted(
    rows: Iterable[Drift], accepted: Iterable[Accepted], today: date
) -> tuple[tuple[Drift, ...], tuple[tuple[Drift, Accepted], ...], tuple[Accepted, ...]]:
    """Rows that still count, rows that are accepted, and entries that match nothing any more or have run out."""
    by_id = {item.id: item for item in accepted}
    counted: list[Drift] = []
    kept: list[tuple[Drift, Accepted]] = []
    for row in rows:
        item = by_id.get(row.id)
        if item is not None and item.until >= today:
            kept.append((row, item))
        else:
            counted.append(row)
    used = {item.id for _, item in kept}
    return tuple(counted), tuple(kept), tuple(item for item in by_id.values() if item.id not in used)


def render_baseline(rows: Iterable[Drift], until: date) -> str:
    """A baseline that accepts these rows, the reason left for a person to write."""
    blocks = [
        f'[[accepted]]\nid = "{row.id}"  # {row.kind.value}: {_plain(row.target or row.patch)}\n'
        f'reason = "say why"\nuntil = {until.isoformat()}\n'
        for row in rows
    ]  # fmt: skip
    return HEADER + "\n" + "\n".join(dict.fromkeys(blocks))


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
