"""setup.cfg and setup.py: read as text and syntax tree, never run."""

from __future__ import annotations

import ast
import configparser
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.gap.dependencies.model import Declaration, Kind, Rank, parse_need
from layline.source.setup_script import SetupScript, parse_setup_script

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_SCOPES = {"install_requires": "runtime", "setup_requires": "build system", "tests_require": "extra test"}


def find_setup_cfg_declarations(path: str, text: str) -> Iterator[Declaration | Skipped]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError) as error:
        yield Skipped.at(path, None, f"not an ini file: {str(error).splitlines()[0]}")
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
    """The keywords of the `setup(…)` call, where they are literals or names of literals in the same file; those of
    scopes that stand `elsewhere` are left to others.
    """
    try:
        script = parse_setup_script(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        yield Skipped.at(path, None, f"not Python: {error}")
        return
    for keyword in script.keywords:
        if _SCOPES.get(keyword.arg or "") not in elsewhere:
            yield from _find_keyword(path, keyword, script)


def find_setup_py_files(text: str, known: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Scope → requirement files that a computed keyword names, in its call or in the function that it calls."""
    try:
        script = parse_setup_script(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for keyword in script.keywords:
        value = script.look_up(keyword.value)
        if keyword.arg in _SCOPES and isinstance(value, ast.Call):
            texts = script.find_texts(value)
            files = [path for path in known if any(path == one or path.endswith(f"/{one}") for one in texts)]
            found[_SCOPES[keyword.arg]] = tuple(files)
    return {scope: files for scope, files in found.items() if files}


def _find_keyword(path: str, keyword: ast.keyword, script: SetupScript) -> Iterator[Declaration | Skipped]:
    value = script.look_up(keyword.value)
    match keyword.arg, value:
        case "python_requires", ast.Constant(value=str(spec)):
            yield _python(path, value.lineno, spec)
        case "extras_require", ast.Dict():
            for key, items in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield from _find_items(path, f"extra {key.value}", items, script)
                else:
                    yield Skipped.at(path, items.lineno, "an extra whose name is not a literal")
        case name, _ if name in _SCOPES:
            yield from _find_items(path, _SCOPES[str(name)], value, script)
        case ("python_requires" | "extras_require") as name, _:
            yield Skipped.at(path, value.lineno, f"{name} is computed: `{ast.unparse(value)[:80]}`")


def _find_items(path: str, scope: str, value: ast.expr, script: SetupScript) -> Iterator[Declaration | Skipped]:
    match script.look_up(value):
        case ast.List(elts=items) | ast.Tuple(elts=items):
            for item in items:
                yield from _find_item(path, scope, item)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _find_items(path, scope, left, script)
            yield from _find_items(path, scope, right, script)
        case other:
            yield Skipped.at(path, other.lineno, f"{scope} is computed: `{ast.unparse(other)[:80]}`")


def _find_item(path: str, scope: str, item: ast.expr) -> Iterator[Declaration | Skipped]:
    need = parse_need(item.value) if isinstance(item, ast.Constant) and isinstance(item.value, str) else None
    if need is None:
        yield Skipped.at(path, item.lineno, f"`{ast.unparse(item)[:80]}` is not a literal requirement")
        return
    yield Declaration(
        rank=Rank.METADATA,
        kind=Kind.REQUIREMENT,
        name=need.name,
        spec=need.spec,
        scope=scope,
        place=Location(path, item.lineno),
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
            yield Skipped.at(path, line, f"{item!r} is not a requirement")
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


def _line_of(lines: list[str], text: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if text in line), 1)


def _python(path: str, line: int, spec: str) -> Declaration:
    need = parse_need(f"python{spec}")
    return Declaration(
        rank=Rank.METADATA,
        kind=Kind.PYTHON,
        name="python",
        spec=need.spec if need else spec,
        scope="requires-python",
        place=Location(path, line),
    )
