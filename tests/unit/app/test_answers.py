"""Every JSON answer has a published schema; `commands.Result.json` holds each answer of the suite against it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import layline as package
from commands import layline
from layline.app.schema import build_answer_schema, find_answers, schema
from layline.errors import ConfigError

_NAMED = re.compile(r'"(layline\.[a-z-]+/\d+)"')
_NO_ANSWERS = {"cli/examples.py", "cli/main.py"}
"""Tables of the command `schema`."""


def test_answers_are_typed_where_they_are_built() -> None:
    root = Path(package.__file__).parent
    untyped = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if '"schema"' in (text := path.read_text(encoding="utf-8")) and path.name != "answers.py"
        for _ in find_untyped(ast.parse(text))
    }
    assert untyped == _NO_ANSWERS


def find_untyped(tree: ast.AST) -> Iterator[ast.Dict]:
    """Dictionaries with a schema that neither their variable nor their function declares as an answer."""
    typed: list[ast.Dict] = []
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(annotation=kind, value=ast.Dict() as made) if "answers." in ast.unparse(kind):
                typed.append(made)
            case ast.FunctionDef(returns=ast.expr() as kind) if "answers." in ast.unparse(kind):
                inner = (one.value for one in ast.walk(node) if isinstance(one, ast.Return))
                typed += [made for made in inner if isinstance(made, ast.Dict)]
    for node in ast.walk(tree):
        keys = node.keys if isinstance(node, ast.Dict) else []
        has_schema = any(isinstance(key, ast.Constant) and key.value == "schema" for key in keys)
        if isinstance(node, ast.Dict) and has_schema and not any(node is one for one in typed):
            yield node


def test_every_schema_that_the_code_names_is_declared() -> None:
    named = {
        name
        for path in Path(package.__file__).parent.rglob("*.py")
        if path.name != "answers.py"
        for name in _NAMED.findall(path.read_text(encoding="utf-8"))
    }
    assert named == set(find_answers())


@pytest.mark.parametrize("name", sorted(find_answers()))
def test_a_schema_is_printed_by_its_short_and_its_long_name(name: str) -> None:
    short = name.removeprefix("layline.").partition("/")[0]
    assert schema(short).data == schema(name).data == build_answer_schema(name)
    assert schema(short).report.sections


def test_an_unknown_schema_names_the_others() -> None:
    with pytest.raises(ConfigError) as caught:
        schema("nothing")
    assert "patches" in str(caught.value.hint)


def test_schema_prints_what_drift_answers(tmp_path: Path) -> None:
    printed = layline("schema", "drift", cwd=tmp_path)
    assert (printed.code, printed.json["title"]) == (0, "layline.drift/1")
