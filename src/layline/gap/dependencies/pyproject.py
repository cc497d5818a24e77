"""pyproject.toml: the whole of it that says what is needed, each item with its line."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Location, Skipped
from layline.gap.dependencies.model import (
    EVERY_EXTRA,
    PYTHON,
    RUNTIME,
    Declaration,
    Kind,
    Rank,
    Unread,
    canonical_name,
    leave_unread,
    parse_need,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z0-9_.-]+))\s*=(?!=)""")


def find_pyproject_declarations(path: str, text: str) -> Iterator[Declaration | Skipped]:
    """Every need of a pyproject.toml, in the order of the file's own sections."""
    try:
        plain = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        yield leave_unread(path, None, f"not TOML: {error}")
        return
    lines = _Lines(text)
    project = _table(plain, "project")
    if isinstance(python := project.get("requires-python"), str):
        yield _python(path, lines.find("project", "requires-python"), python)
    yield from _listed(
        path, lines, "build system", ("build-system", "requires"), _table(plain, "build-system").get("requires")
    )
    yield from _listed(path, lines, "runtime", ("project", "dependencies"), project.get("dependencies"))
    for extra, items in _table(project, "optional-dependencies").items():
        yield from _listed(path, lines, f"extra {extra}", ("project.optional-dependencies", extra), items)
    for group, items in _table(plain, "dependency-groups").items():
        yield from _listed(path, lines, f"group {group}", ("dependency-groups", group), items)
    tool = _table(plain, "tool")
    yield from _find_uv(path, lines, _table(tool, "uv"))
    yield from _find_poetry(path, lines, _table(tool, "poetry"))


_DYNAMIC = {
    "dependencies": (RUNTIME, Kind.REQUIREMENT),
    "optional-dependencies": (EVERY_EXTRA, Kind.REQUIREMENT),
    "requires-python": (PYTHON, Kind.PYTHON),
}


def find_dynamic(path: str, text: str) -> Iterator[Unread]:
    """Needs that the file leaves to its build backend, and not to requirement files that it names."""
    try:
        plain = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    dynamic, named = _table(plain, "project").get("dynamic"), dynamic_requirement_files(text)
    for key in dynamic if isinstance(dynamic, list) else ():
        scope, kind = _DYNAMIC.get(key, ("", None)) if isinstance(key, str) else ("", None)
        if scope and not any(one == scope or one.startswith(f"{scope} ") for one in named):
            line = _Lines(text).find("project", "dynamic")
            yield leave_unread(path, line, f"{key} is dynamic: the build computes it", (scope,), kind)


def dynamic_requirement_files(text: str) -> dict[str, tuple[str, ...]]:
    """Scope → requirement files that setuptools reads for `dynamic` dependencies."""
    try:
        plain = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    dynamic = _table(_table(_table(plain, "tool"), "setuptools"), "dynamic")
    found = {"runtime": _files(dynamic.get("dependencies"))}
    for extra, value in _table(dynamic, "optional-dependencies").items():
        found[f"extra {extra}"] = _files(value)
    return {scope: files for scope, files in found.items() if files}


def _find_uv(path: str, lines: _Lines, uv: dict[str, Any]) -> Iterator[Declaration | Skipped]:
    for key, scope in (
        ("override-dependencies", "override"),
        ("constraint-dependencies", "constraint"),
        ("dev-dependencies", "group dev"),
    ):
        yield from _listed(path, lines, scope, ("tool.uv", key), uv.get(key))
    for name, source in _table(uv, "sources").items():
        for one in source if isinstance(source, list) else [source]:
            if isinstance(one, dict):
                line = lines.find("tool.uv.sources", name)
                yield _declare(path, line, Kind.SOURCE, canonical_name(name), _address(one), "source")


def _find_poetry(path: str, lines: _Lines, poetry: dict[str, Any]) -> Iterator[Declaration | Skipped]:
    tables = [("runtime", "tool.poetry.dependencies", _table(poetry, "dependencies"))]
    tables.append(("group dev", "tool.poetry.dev-dependencies", _table(poetry, "dev-dependencies")))
    for group, content in _table(poetry, "group").items():
        inner = _table(content, "dependencies") if isinstance(content, dict) else {}
        tables.append((f"group {group}", f"tool.poetry.group.{group}.dependencies", inner))
    for scope, table, items in tables:
        for name, value in items.items():
            line = lines.find(table, name)
            spec = value if isinstance(value, str) else _poetry_spec(value)
            if name == "python":
                yield _python(path, line, spec)
            else:
                yield _declare(path, line, Kind.REQUIREMENT, canonical_name(name), "" if spec == "*" else spec, scope)


def _poetry_spec(value: Any) -> str:
    if isinstance(value, dict):
        version = value.get("version")
        return version if isinstance(version, str) else _address(value)
    return ""


def _listed(
    path: str, lines: _Lines, scope: str, where: tuple[str, str], items: Any
) -> Iterator[Declaration | Skipped]:
    if items is None:
        return
    if not isinstance(items, list):
        yield leave_unread(path, lines.find(*where), f"{'.'.join(where)} is not a list", (scope,), Kind.REQUIREMENT)
        return
    for item in items:
        if isinstance(item, dict) and "include-group" in item:
            continue  # the included group is declared under its own name
        need = parse_need(item) if isinstance(item, str) else None
        line = lines.find(*where, literal=item if isinstance(item, str) else "")
        if need is None:
            yield leave_unread(path, line, f"{item!r} is not a requirement", (scope,), Kind.REQUIREMENT)
            continue
        yield Declaration(
            rank=Rank.METADATA,
            kind=Kind.REQUIREMENT,
            name=need.name,
            spec=need.spec,
            scope=scope,
            place=Location(path, line),
            extras=need.extras,
            marker=need.marker,
        )


def _python(path: str, line: int, spec: str) -> Declaration:
    need = parse_need(f"python{spec}")
    return _declare(path, line, Kind.PYTHON, "python", need.spec if need else spec, PYTHON)


def _declare(path: str, line: int, kind: Kind, name: str, spec: str, scope: str) -> Declaration:
    return Declaration(rank=Rank.METADATA, kind=kind, name=name, spec=spec, scope=scope, place=Location(path, line))


def _address(source: dict[str, Any]) -> str:
    address = next((f"{key}+{source[key]}" for key in ("git", "url", "path", "index") if key in source), "workspace")
    revision = next((source[key] for key in ("rev", "tag", "branch") if key in source), None)
    return f"{address}@{revision}" if revision else address


def _files(value: Any) -> tuple[str, ...]:
    named = value.get("file") if isinstance(value, dict) else None
    listed = [named] if isinstance(named, str) else named
    return tuple(item for item in listed or () if isinstance(item, str))


def _table(plain: Any, key: str) -> dict[str, Any]:
    found = plain.get(key) if isinstance(plain, dict) else None
    return found if isinstance(found, dict) else {}


class _Lines:
    """Where a key of a table stands. tomllib tells no lines, so they are looked up in the text it has accepted."""

    def __init__(self, text: str) -> None:
        self._ranges: dict[tuple[str, str], list[tuple[int, str]]] = {}
        table, key = "", ""
        for number, line in enumerate(text.splitlines(), 1):
            if header := _HEADER.match(line):
                table, key = header.group(1).replace('"', "").replace(" ", ""), ""
            elif (found := _KEY.match(line)) and not line.lstrip().startswith("#"):
                key = next(group for group in found.groups() if group)
            self._ranges.setdefault((table, key), []).append((number, line))

    def find(self, table: str, key: str, *, literal: str = "") -> int:
        """The line of `literal` inside the value of `key`, else of the key, else the first line."""
        rows = self._ranges.get((table, key)) or self._ranges.get(tuple(f"{table}.{key}".rsplit(".", 1)), [])  # type: ignore[arg-type]
        for number, line in rows:
            if literal and (f'"{literal}"' in line or f"'{literal}'" in line):
                return number
        return rows[0][0] if rows else 1
