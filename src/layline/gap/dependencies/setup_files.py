"""setup.cfg and setup.py: read as text and syntax tree, never run."""

from __future__ import annotations

import ast
import configparser
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.core.prose import listed, verb
from layline.gap.dependencies.model import (
    EVERY_EXTRA,
    PYTHON,
    RUNTIME,
    Declaration,
    Kind,
    Need,
    Rank,
    leave_unread,
    parse_need,
)
from layline.gap.dependencies.setup_statements import Reading
from layline.gap.dependencies.setup_values import Many, Table, Text, TooLong, Unknown, Value
from layline.source.setup_script import parse_setup_script

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_SCOPES = {"install_requires": RUNTIME, "setup_requires": "build system", "tests_require": "extra test"}


def find_setup_cfg_declarations(path: str, text: str) -> Iterator[Declaration | Skipped]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError) as error:
        yield leave_unread(path, None, f"not an ini file: {str(error).splitlines()[0]}")
        return
    lines = text.splitlines()
    options = parser["options"] if parser.has_section("options") else {}
    if "python_requires" in options:
        yield _python(path, _line_of(lines, "python_requires"), options["python_requires"])
    for key, scope in _SCOPES.items():
        yield from _listed(path, lines, scope, options.get(key, ""))
    if parser.has_section("options.extras_require"):
        for extra, value in parser["options.extras_require"].items():
            yield from _listed(path, lines, f"extra {extra}", value)


def find_setup_py_declarations(
    path: str, text: str, elsewhere: Collection[str] = ()
) -> Iterator[Declaration | Skipped]:
    """The keywords of the `setup(…)` call, as far as the literals of the file tell them; those of scopes that stand
    `elsewhere` are left to others.
    """
    try:
        script = parse_setup_script(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        yield leave_unread(path, None, f"not Python: {error}")
        return
    asked = [one for one in script.keywords if _SCOPES.get(one.arg or "") not in elsewhere]
    try:
        reading = Reading(script.module)
        values = [reading.read(keyword.value) for keyword in asked]
    except (TooLong, RecursionError) as error:
        yield leave_unread(path, None, f"not followed to its end: {error}")
        return
    left: dict[tuple[int, str, Kind], list[str]] = {}
    for keyword, value in zip(asked, values, strict=True):
        for one in _find_keyword(path, keyword, value):
            if isinstance(one, Declaration):
                yield one
            else:
                left.setdefault((one.line, one.expression, one.of), []).append(one.scope)
    for (line, expression, of), scopes in left.items():
        found = tuple(dict.fromkeys(scopes))
        yield leave_unread(path, line, _say_left(found, expression), found, of)


@dataclass(frozen=True, slots=True)
class _Left:
    """A part of one scope that the literals of the file do not tell; an expression may be a part of many."""

    line: int
    expression: str
    scope: str
    of: Kind = Kind.REQUIREMENT


def _say_left(scopes: tuple[str, ...], expression: str) -> str:
    keywords = {PYTHON: "python_requires", EVERY_EXTRA: "extras_require"}
    names = listed([keywords.get(one, one) for one in scopes], most=2)
    return f"{names} {verb(len(scopes), 'is')} computed: `{expression}`"


def find_setup_py_files(text: str, known: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Scope → requirement files that a computed keyword names, in its call or in the function that it calls."""
    try:
        script = parse_setup_script(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    listed = list(known)
    for keyword in script.keywords:
        value = script.look_up(keyword.value)
        if keyword.arg in _SCOPES and isinstance(value, ast.Call):
            texts = script.find_texts(value)
            meant = {path for one in texts for path in _find_nearest(one, listed)}
            found[_SCOPES[keyword.arg]] = tuple(path for path in listed if path in meant)
    return {scope: files for scope, files in found.items() if files}


def _find_nearest(name: str, known: list[str]) -> list[str]:
    """Files that a name may mean: of `requirements/cpu.txt` and `requirements/test/cpu.txt` the one nearer to setup.py."""
    files = [path for path in known if path == name or path.endswith(f"/{name}")]
    least = min((path.count("/") for path in files), default=0)
    return [path for path in files if path.count("/") == least]


def _find_keyword(path: str, keyword: ast.keyword, value: Value) -> Iterator[Declaration | _Left]:
    match keyword.arg, value:
        case "python_requires", Text(value=spec, line=line):
            yield _python(path, line, spec)
        case "python_requires", _:
            yield replace(_leave(keyword, value, PYTHON), of=Kind.PYTHON)
        case "extras_require", Table(items=extras, rest=rest):
            for extra, items in extras:
                yield from _find_items(path, keyword, f"{EVERY_EXTRA} {extra}", items)
            if rest is not None:
                yield _leave(keyword, rest, EVERY_EXTRA)
        case "extras_require", _:
            yield _leave(keyword, value, EVERY_EXTRA)
        case name, _ if name in _SCOPES:
            yield from _find_items(path, keyword, _SCOPES[str(name)], value)


def _find_items(path: str, keyword: ast.keyword, scope: str, value: Value) -> Iterator[Declaration | _Left]:
    for item in value.items if isinstance(value, Many) else (value,):
        need = parse_need(item.value) if isinstance(item, Text) and item is not value else None
        if isinstance(item, Text) and need is not None:
            yield _require(path, item.line, scope, need)
        else:
            yield _leave(keyword, item, scope)


def _leave(keyword: ast.keyword, value: Value, scope: str) -> _Left:
    """The part that is not known where it is one, else the whole keyword."""
    match value:
        case Unknown():
            return _Left(value.line, str(value), scope)
        case Text():
            return _Left(value.line, value.value[:80], scope)
    return _Left(keyword.value.lineno, str(Unknown(keyword.value)), scope)


def _require(path: str, line: int, scope: str, need: Need) -> Declaration:
    return Declaration(
        rank=Rank.METADATA,
        kind=Kind.REQUIREMENT,
        name=need.name,
        spec=need.spec,
        scope=scope,
        place=Location(path, line),
        extras=need.extras,
        marker=need.marker,
    )


def _listed(path: str, lines: list[str], scope: str, value: str) -> Iterator[Declaration | Skipped]:
    for item in (line.strip() for line in value.splitlines()):
        if not item or item.startswith("#"):
            continue
        need = parse_need(item)
        line = _line_of(lines, item)
        if need is None:
            yield leave_unread(path, line, f"{item!r} is not a requirement", (scope,), Kind.REQUIREMENT)
            continue
        yield _require(path, line, scope, need)


def _line_of(lines: list[str], text: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if text in line), 1)


def _python(path: str, line: int, spec: str) -> Declaration:
    need = parse_need(f"python{spec}")
    return Declaration(
        rank=Rank.METADATA,
        kind=Kind.PYTHON,
        name="python",
        spec=need.spec if need else spec,
        scope=PYTHON,
        place=Location(path, line),
    )
