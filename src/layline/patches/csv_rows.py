"""An inventory as rows of a table: one for each effect, with every field of the JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_PATCH = (
    ("backend", "backend"),
    ("patch", "id"),
    ("description", "description"),
    ("phase", "phase"),
    ("priority", "priority"),
    ("active", "active"),
)
_EFFECT = (
    "style",
    "target",
    "replacement",
    "moment",
    "certain",
    "target_kind",
    "alias_of",
    "location",
)
_MORE = (
    *("id", "when", "otherwise", "state", "adds", "mutates", "reason", "holder", "reached"),
    *("replacement_at", "replacements_at", "suggestion", "removal", "anchors"),
)
_PATCH_MORE = ("active_reason", "handler", "tags", "version_gates", "body_keys", "implementation", "notes")
_STRAY = ("within", "called_from", "unknown_callers")
CSV_COLUMNS = (
    *(column for column, _ in _PATCH),
    "guard",
    *_EFFECT,
    "registered_at",
    *_MORE,
    *_PATCH_MORE,
    "guard_text",
    "guard_keys",
    "guard_other",
    *_STRAY,
)


def find_csv_rows(inventory: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """One row for each effect; a patch without effects still has one."""
    for patch in inventory["patches"]:
        guard = patch["guard"]
        known = {
            **{column: patch[name] for column, name in _PATCH},
            "backend": inventory["backend"],
            "guard": guard["expression"],
            "registered_at": f"{patch['file']}:{patch['line']}",
            "guard_text": guard["text"],
            "guard_keys": guard["keys"],
            "guard_other": guard["other"],
            **{name: patch[name] for name in _PATCH_MORE},
        }
        for effect in patch["effects"] or [{}]:
            yield _row(known, effect)
    for item in inventory["unregistered"]:
        stray = {"backend": inventory["backend"], "patch": f"unregistered: {item['within']}", "guard": item["when"]}
        yield _row(stray, item)


def _row(known: dict[str, Any], effect: dict[str, Any]) -> tuple[object, ...]:
    values = {**known, **{name: effect.get(name) for name in (*_EFFECT, *_MORE, *_STRAY)}}
    return tuple(_flat(values.get(column)) for column in CSV_COLUMNS)


def _flat(value: object) -> object:
    match value:
        case list():
            return "; ".join(map(str, value))
        case dict():
            return "; ".join(f"{key}: {item}" for key, item in value.items() if item is not None)
        case str():
            return " ".join(value.split())
        case _:
            return value
