"""What could not be read: a reason that several have is said once."""

from __future__ import annotations

import pytest

from layline.core.evidence import Skipped
from layline.render.inline import tell_skipped

TOLD = [
    # (what was skipped and why, the lines)
    ([("a.py", "not UTF-8"), ("b.py", "not UTF-8")], ["a.py: not UTF-8", "b.py: not UTF-8"]),
    (
        [("f (a.py:1)", "too long"), ("x", "odd"), ("g (a.py:9)", "too long"), ("h (b.py:2)", "too long")],
        ["3 times: too long:", "  f (a.py:1)", "  g (a.py:9)", "  h (b.py:2)", "x: odd"],
    ),
]


@pytest.mark.parametrize(("items", "lines"), TOLD)
def test_a_reason_is_said_once(items: list[tuple[str, str]], lines: list[str]) -> None:
    assert list(tell_skipped(Skipped(*item) for item in items)) == lines
