"""Whether a test asks for the very value that a person may set."""

from __future__ import annotations

import ast

import pytest

from layline.coupling.set_by_hand import asks_for


@pytest.mark.parametrize(
    ("test", "value", "asks"),
    [
        ("NUMBER", "NUMBER", True),
        ("x.y is not None", "x.y", True),
        ("'K' in environ", "environ['K']", True),
        ("environ.get('K', '') != ''", "environ['K']", True),
        ("getenv('K')", "environ['K']", True),
        ("'L' in environ", "environ['K']", False),
        ("level > 1", "numbers[1]", False),  # the same number says nothing
        ("mode == 'K'", "'K'", False),
        ("mode == 'K'", "environ['K']", False),  # another thing is compared with the word
    ],
)
def test_a_test_asks_for_the_value_that_is_set(test: str, value: str, asks: bool) -> None:
    assert asks_for(ast.parse(test, mode="eval").body, ast.parse(value, mode="eval").body) is asks
