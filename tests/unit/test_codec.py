from __future__ import annotations

import json
from pathlib import Path

import pytest

from layline import codec
from layline.app.schema import schema
from layline.config import Settings, parse_settings
from layline.core.evidence import Evidence, Fact
from layline.errors import RecordError

NOT_STRICT = [
    (b'{"a": 1, "a": 2}', "'a' appears twice"),
    (b'{"a": NaN}', "NaN"),
    (b'{"a": -Infinity}', "Infinity"),
    (b'{"a": 1e999}', "out of range"),
    (b"\xef\xbb\xbf{}", "byte-order mark"),
    (b"\xff{}", "not UTF-8"),
    (b'{"a": ', "line 1 is not JSON"),
    (b"[" * 200_000, "nested too deeply"),
]


@pytest.mark.parametrize(("data", "says"), NOT_STRICT, ids=[says for _, says in NOT_STRICT])
def test_json_is_read_strictly(data: bytes, says: str) -> None:
    with pytest.raises(RecordError, match=says):
        codec.parse_json(data, where="x.json")


def test_a_fact_cannot_be_without_evidence() -> None:
    with pytest.raises(ValueError, match="no evidence"):
        Fact(name="behind", value=3, evidence=())


def test_values_survive_a_round_trip() -> None:
    evidence = Evidence(repo="https://example.org/k", commit="a" * 40, path="a b/ä.py", lines=(3, 5))
    assert codec.decode(Evidence, codec.encode(evidence), where="x") == evidence
    assert evidence.permalink == f"https://example.org/k/blob/{'a' * 40}/a%20b/%C3%A4.py#L3-L5"


def test_the_published_schema_is_the_one_the_code_has() -> None:
    published = Path(__file__).parents[2] / "docs" / "schema" / "layline.toml.schema.json"
    assert json.loads(published.read_text()) == schema("config").data


def test_settings_match_their_schema() -> None:
    import jsonschema

    text = '[project]\nname = "x"\n[backends.k]\npath = "p"\nareas = { models = ["m/**"] }\n'
    jsonschema.validate(codec.encode(parse_settings(text)), codec.schema(Settings, name="x"))
