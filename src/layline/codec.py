"""Values ⇄ JSON and TOML, and their JSON Schema. The values themselves know nothing of any of these."""

from __future__ import annotations

import ast
import inspect
import json
import math
from dataclasses import is_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from layline.errors import RecordError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Value = TypeVar("Value")


def encode(value: object) -> Any:
    """The value as plain lists, dicts, strings and numbers."""
    return _adapter(value.__class__).dump_python(value, mode="json")


def to_json(value: object) -> str:
    """Readable JSON, the same bytes for the same value, ending in a newline."""
    plain = value if isinstance(value, (dict, list)) else encode(value)
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def decode(kind: type[Value], plain: object, *, where: str) -> Value:
    """Build a `kind` from plain data, or name every problem at once."""
    from pydantic import ValidationError  # start-up of the CLI does not pay for it

    try:
        return _adapter(kind).validate_python(plain, strict=False)
    except ValidationError as error:
        problems = tuple(_describe(item) for item in error.errors(include_url=False, include_context=False))
        raise RecordError(where, problems) from None


def decode_kept(kind: type[Value], plain: object) -> Value | None:
    """What a cache holds; None where it holds nothing of this kind: a row that cannot be decoded is a miss."""
    try:
        return decode(kind, plain, where="cache") if plain is not None else None
    except RecordError:
        return None


def prepare(kind: type[Any]) -> None:
    """Make now what the first reading of a `kind` makes: for a process that others are forked from."""
    _adapter(kind)


def parse_json(text: str | bytes, *, where: str) -> Any:
    """Strict JSON: no duplicate keys, no NaN or Infinity, no byte-order mark."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RecordError(where, (f"byte {error.start} is not UTF-8",)) from None
    if text.startswith("\ufeff"):
        raise RecordError(where, ("begins with a byte-order mark",), hint="Save the file as UTF-8 without BOM.")
    try:
        return json.loads(
            text,
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded,
        )
    except json.JSONDecodeError as error:
        raise RecordError(where, (f"line {error.lineno} is not JSON: {error.msg}",)) from None
    except _NotStrict as error:
        raise RecordError(where, (str(error),)) from None
    except RecursionError:
        raise RecordError(where, ("is nested too deeply",)) from None


def schema(kind: Any, *, name: str, written: bool = False) -> dict[str, Any]:
    """The JSON Schema of a value type, as it is read, or as it is written: then no field is left out."""
    built = _adapter(kind).json_schema(mode="serialization" if written else "validation")
    meanings = _find_meanings(kind) if is_dataclass(kind) else {}
    for node in (built, *built.get("$defs", {}).values()):
        for key, value in node.get("properties", {}).items():
            value.update({"description": meanings[node["title"], key]} if (node["title"], key) in meanings else {})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_join_lines(built), "title": name}


def _find_meanings(kind: Any) -> dict[tuple[str, str], str]:
    """(Class, field) → the text below the field. pydantic could tell, but then every reading of a value would pay."""
    classes = {inspect.getmodule(one) for one in _find_classes(kind, set())}
    return {
        (owner.name, field.target.id): below.value.value
        for module in classes
        if module is not None
        for owner in ast.parse(inspect.getsource(module)).body
        if isinstance(owner, ast.ClassDef)
        for field, below in pairwise(owner.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def _find_classes(kind: Any, seen: set[Any]) -> set[Any]:
    """The dataclasses that a type is made of."""
    if kind not in seen:
        seen.add(kind)
        parts = get_type_hints(kind).values() if isinstance(kind, type) and is_dataclass(kind) else get_args(kind)
        for part in parts:
            _find_classes(part, seen)
    return {one for one in seen if isinstance(one, type) and is_dataclass(one)}


def _join_lines(node: Any) -> Any:
    """Descriptions as running text: where a docstring breaks its lines is no matter of the schema."""
    match node:
        case dict():
            return {
                key: " ".join(value.split()) if key == "description" and isinstance(value, str) else _join_lines(value)
                for key, value in node.items()
            }
        case list():
            return [_join_lines(item) for item in node]
    return node


_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(kind: type[Value]) -> TypeAdapter[Value]:
    from pydantic import TypeAdapter

    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def _describe(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"]) or "the whole"
    return f"{place}: {item['msg'][0].lower()}{item['msg'][1:]}"


class _NotStrict(ValueError):
    pass


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _NotStrict(f"the key {key!r} appears twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> float:
    raise _NotStrict(f"{name} is not a JSON number")


def _bounded(text: str) -> int:
    # Python refuses to convert thousands of digits with an error of its own
    if len(text) > 400:
        raise _NotStrict(f"a number of {len(text)} digits is out of range")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _NotStrict(f"{text} is out of range")
    return number
