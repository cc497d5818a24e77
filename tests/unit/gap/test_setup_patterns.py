"""A setup.py of others may hold any pattern: one that could keep a reader busy is not looked for."""

from __future__ import annotations

import ast
import time

import pytest

from layline.gap.dependencies.setup_values import Many, Text, Unknown, read_library

NODE = ast.Constant(None)


@pytest.mark.parametrize(
    ("pattern", "is_followed"),
    [
        (r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)", True),
        ("a*a*b", True),
        ("a*a*a*b", False),
        ("(a*)*b", False),
        ("a?" * 60 + "a" * 60, False),  # this one did not come back
        ("(a", False),
    ],
)
def test_a_pattern_is_followed_only_where_it_ends_soon(pattern: str, is_followed: bool) -> None:
    began = time.process_time()
    found = read_library("re.findall", [Text(pattern, 1), Text("a" * 100, 1)], NODE)
    assert isinstance(found, Many if is_followed else Unknown)
    assert time.process_time() - began < 1


def test_a_long_text_is_not_searched() -> None:
    assert isinstance(read_library("re.split", [Text("a*b", 1), Text("a" * 101, 1)], NODE), Unknown)
