"""`schema`: the JSON Schema of what Layline reads, and the same as a table for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.config import Settings
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS: dict[str, tuple[type[Any], str]] = {"config": (Settings, "layline.toml")}


def schema(name: str) -> Answer:
    """The JSON Schema called `name`; the report lists every key with its meaning."""
    if name not in SCHEMAS:
        raise ConfigError(f"There is no schema called {name!r}.", hint=f"Known: {', '.join(SCHEMAS)}.")
    kind, title = SCHEMAS[name]
    built = codec.schema(kind, name=title)
    sections = tuple(
        Section(
            title=place, blocks=(Paragraph(meaning), Table(columns=("key", "type", "default", "meaning"), rows=rows))
        )
        for place, meaning, rows in _find_tables(built, built, "")
    )
    return Answer(report=Report(title=title, sections=sections), data=built)


def _find_tables(whole: dict[str, Any], node: dict[str, Any], place: str) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yields one table per TOML table: its place, its meaning, its rows."""
    inner: list[tuple[str, dict[str, Any]]] = []
    rows = []
    for key, value in node.get("properties", {}).items():
        table = _table_of(whole, value)
        if table is not None:
            many = "additionalProperties" in value or "items" in value
            inner.append((f"{place}{key}{'.NAME' if many else ''}", table))
        required = key in node.get("required", ())
        rows.append(
            (
                Cell(key, code=True),
                _type_of(value, table is not None),
                "required" if required else _show_default(value),
                value.get("description", ""),
            )
        )
    if place:
        yield f"[{place.removesuffix('.')}]", node.get("description", ""), tuple(rows)
    for name, table in inner:
        yield from _find_tables(whole, table, f"{name}.")


def _show_default(value: dict[str, Any]) -> str | Cell:
    default = value.get("default")
    return "none" if default in (None, "", [], {}) else Cell(json.dumps(default, ensure_ascii=False), code=True)


def _table_of(whole: dict[str, Any], value: dict[str, Any]) -> dict[str, Any] | None:
    """The object a key holds, directly, in a map or in a list."""
    candidates = [value, value.get("additionalProperties"), value.get("items"), *value.get("anyOf", ())]
    for candidate in candidates:
        if isinstance(candidate, dict) and "$ref" in candidate:
            found = whole["$defs"][candidate["$ref"].rsplit("/", 1)[-1]]
            return found if "properties" in found else None
    return None


def _type_of(value: dict[str, Any], table: bool) -> str:
    if table:
        return "table"
    if "anyOf" in value:
        kinds = [_type_of(option, table=False) for option in value["anyOf"] if option.get("type") != "null"]
        return " or ".join(kinds)
    match value.get("type"):
        case "array":
            return f"list of {_type_of(value.get('items', {}), table=False)}"
        case "object":
            return f"table of {_type_of(value.get('additionalProperties', {}), table=False)}"
        case kind:
            return str(kind or "value")
