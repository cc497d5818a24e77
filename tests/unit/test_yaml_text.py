"""YAML is read in one place, and what cannot be read is said in one way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layline
from layline.errors import ConfigError
from layline.yaml_text import NotYaml, compose_yaml, dump_yaml, load_yaml, parse_yaml

_READS = re.compile(r"\byaml\.(?:load|safe_load|compose|parse|scan|full_load)\b|C?SafeLoader\b")


def test_no_other_module_reads_yaml() -> None:
    root = Path(layline.__file__).parent
    readers = [path.name for path in sorted(root.rglob("*.py")) if _READS.search(path.read_text(encoding="utf-8"))]
    assert readers == ["yaml_text.py"]


def test_nodes_tell_their_lines() -> None:
    (key, value), *_ = compose_yaml("a:\n  b: 1\n").value
    assert (key.value, key.start_mark.line, value.value[0][0].start_mark.line) == ("a", 0, 1)
    assert compose_yaml("") is None


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "\t- x", "[" * 5000])
def test_what_is_no_yaml_is_said(text: str) -> None:
    with pytest.raises(NotYaml):
        compose_yaml(text)
    with pytest.raises(NotYaml):
        load_yaml(text)
    with pytest.raises(ConfigError):
        parse_yaml(text, where="x")


def test_a_text_of_brackets_costs_little_and_is_told() -> None:
    """Composing it would take time with the square of its length."""
    for read in (compose_yaml, load_yaml):
        with pytest.raises(NotYaml, match="more than 100 levels of nesting at line 1"):
            read("[" * 1_000_000)
    assert load_yaml("[" * 100 + "]" * 100)


def test_a_text_of_others_may_use_aliases_and_ours_may_not() -> None:
    text = "a: &one {b: 1}\nc: *one\n"
    assert load_yaml(text) == {"a": {"b": 1}, "c": {"b": 1}}
    with pytest.raises(ConfigError, match="alias"):
        parse_yaml(text, where="x")


def test_a_date_of_ours_stays_text_and_comes_back() -> None:
    plain = {"created": "2026-11-15 02:20", "é": [1, None]}
    assert parse_yaml(dump_yaml(plain), where="x") == plain
