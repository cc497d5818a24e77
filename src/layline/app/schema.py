"""`schema`: the JSON Schema of what Layline reads and answers, and the same as a table for people."""

from __future__ import annotations

import json
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from typing_extensions import get_type_hints

from layline import codec
from layline.app import answers as app_answers
from layline.campaign import answers as campaign_answers
from layline.config import Settings
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.dashboard import answers as dashboard_answers
from layline.errors import ConfigError
from layline.gap import answers as gap_answers
from layline.patches import answers as patches_answers
from layline.periodic import answers as periodic_answers
from layline.upgrade import answers as upgrade_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

_DECLARED = (
    patches_answers,
    gap_answers,
    upgrade_answers,
    periodic_answers,
    campaign_answers,
    dashboard_answers,
    app_answers,
)
CONFIG = "config"


@cache
def find_answers() -> dict[str, tuple[Any, ...]]:
    """`layline.<thing>/1` → how it is declared; an answer about one backend may look other than one about all."""
    found: dict[str, tuple[Any, ...]] = {}
    for module in _DECLARED:
        for kind in vars(module).values():
            if getattr(kind, "__module__", "") == module.__name__ and "schema" in getattr(kind, "__annotations__", {}):
                (name,) = get_type_hints(kind)["schema"].__args__
                found[name] = (*found.get(name, ()), kind)
    return found


def schema(name: str) -> Answer:
    """The JSON Schema called `name`; the report lists every key with its meaning."""
    answers = {full.removeprefix("layline.").partition("/")[0]: full for full in find_answers()}
    if name == CONFIG:
        title, built = "layline.toml", codec.schema(Settings, name="layline.toml")
    elif (short := name.removeprefix("layline.").partition("/")[0]) in answers:
        title, built = answers[short], build_answer_schema(answers[short])
    else:
        raise ConfigError(f"There is no schema called {name!r}.", hint=f"Known: {', '.join((CONFIG, *answers))}.")
    sections = tuple(
        Section(
            title=place, blocks=(Paragraph(meaning), Table(columns=("key", "type", "default", "meaning"), rows=rows))
        )
        for place, meaning, rows in (_find_tables(built, built, "") if name == CONFIG else _find_answer_tables(built))
    )
    return Answer(report=Report(title=title, sections=sections), data=built)


def build_answer_schema(name: str) -> dict[str, Any]:
    """What an answer has; fields may be added to it, so unknown ones are no mistake."""
    return codec.schema(reduce(or_, find_answers()[name]), name=name, written=True)


def _find_answer_tables(built: dict[str, Any]) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    for shape in built.get("anyOf", [built]):
        root = built["$defs"][shape["$ref"].rsplit("/", 1)[-1]] if "$ref" in shape else shape
        yield from _find_tables(built, root, "answer.", many="[]")


def _find_tables(
    whole: dict[str, Any], node: dict[str, Any], place: str, *, many: str = ".NAME", above: tuple[int, ...] = ()
) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yields one table per object: its place, its meaning, its rows; one that holds itself is told once."""
    inner: list[tuple[str, dict[str, Any]]] = []
    rows = []
    for key, value in node.get("properties", {}).items():
        table = _table_of(whole, value)
        if table is not None:
            several = "additionalProperties" in value or "items" in value
            inner.append((f"{place}{key}{many if several else ''}", table))
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
        if id(table) not in above:
            yield from _find_tables(whole, table, f"{name}.", many=many, above=(*above, id(table)))


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
