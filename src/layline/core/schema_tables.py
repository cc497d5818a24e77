"""A JSON Schema as tables for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from layline.core.report import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator


def find_answer_tables(built: dict[str, Any]) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    for shape in built.get("anyOf", [built]):
        root = built["$defs"][shape["$ref"].rsplit("/", 1)[-1]] if "$ref" in shape else shape
        yield from find_tables(built, root, "answer.", many=("[]", "[]"))


def find_tables(
    whole: dict[str, Any],
    node: dict[str, Any],
    place: str,
    *,
    many: tuple[str, str] = (".NAME", ""),
    head: str = "[{}]",
    above: tuple[int, ...] = (),
) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yields one table per object: its place, its meaning, its rows; one that holds itself is told once.

    `many` is what follows the name of several tables by name, and of several in a list.
    """
    inner: list[tuple[str, str, dict[str, Any]]] = []
    rows = []
    for key, value in node.get("properties", {}).items():
        table = _table_of(whole, value)
        if table is not None:
            listed = "items" in value
            after = many[1] if listed else many[0] if "additionalProperties" in value else ""
            inner.append((f"{place}{key}{after}", "[[{}]]" if listed and not after else "[{}]", table))
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
        yield head.format(place.removesuffix(".")), node.get("description", ""), tuple(rows)
    for name, shown, table in inner:
        if id(table) not in above:
            yield from find_tables(whole, table, f"{name}.", many=many, head=shown, above=(*above, id(table)))


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


def _type_of(value: Any, table: bool) -> str:
    if table:
        return "table"
    if not isinstance(value, dict):
        return "value"
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
