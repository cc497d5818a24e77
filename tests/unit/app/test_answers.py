"""Every JSON answer has a published schema; `commands.Result.json` holds each answer of the suite against it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layline as package
from commands import layline
from layline.app.schema import build_answer_schema, find_answers, schema
from layline.errors import ConfigError

_NAMED = re.compile(r'"(layline\.[a-z-]+/\d+)"')
_FILES = {
    "layline.cadence-index/1",
    "layline.gap-index/1",
    "layline.reports-index/1",
    "layline.site/1",
    "layline.standings/1",
    "layline.watch-state/1",
}
"""What is written beside answers and read by Layline alone, or a copy of records."""


def test_every_schema_that_the_code_names_is_declared() -> None:
    named = {
        name
        for path in Path(package.__file__).parent.rglob("*.py")
        if path.name != "answers.py"
        for name in _NAMED.findall(path.read_text(encoding="utf-8"))
    }
    assert named - _FILES == set(find_answers())


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
