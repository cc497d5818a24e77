"""Commands whose JSON no other test asks for, on the sample: `Result.json` holds each against its published schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import layline
from layline.sample import Sample

ASKED = [
    ("layline.doctor/1", ("doctor",)),
    ("layline.cache/1", ("cache", "info")),
    ("layline.skills/1", ("skills", "list")),
    ("layline.operators/1", ("campaign", "operators")),
    ("layline.operators/1", ("campaign", "operators", "softmax")),
    ("layline.trend/1", ("gap", "trend", "keel", "--since", "2026-05-15")),
    ("layline.matrix/1", ("patches", "matrix", "spar", "--refs", "tags")),
    ("layline.patches/1", ("patches", "list")),
    ("layline.drift/1", ("patches", "drift", "--all", "--date", "2026-06-30")),
    ("layline.patch-diff/1", ("patches", "diff", "keel.core.small_phases")),
    ("layline.patches-find/1", ("patches", "find", "tacks")),
]


@pytest.mark.parametrize(("schema", "words"), ASKED, ids=[" ".join(words) for _, words in ASKED])
def test_an_answer_is_as_its_schema_says(sample: Sample, schema: str, words: tuple[str, ...]) -> None:
    done = layline(*words, "--format", "json", cwd=sample.harbor)
    assert done.code in {0, 1}, done.err
    assert done.json["schema"] == schema


def test_news_are_as_their_schema_says(sample: Sample, tmp_path: Path) -> None:
    done = layline("watch", "--state", str(tmp_path / "state.json"), "--format", "json", cwd=sample.harbor)
    assert (done.code, done.json["schema"]) == (0, "layline.news/1")
