"""Where a text calls a name: quick enough for every version of a file, and not at its definition."""

from __future__ import annotations

import pytest

from layline.coupling.signature_culprit import _find_calls

CALLS = [
    ("step(a)", ["a)"]),
    ("x = self.step(1) + step (2)\n", ["1) + step (2)\n"]),
    ("def step(a): ...\nclass step(B): ...\nreturn step(3)\n", ["3)\n"]),
    ("one_step(1) xstep(2) éstep(3)", []),
    ("step(step(1))", ["step(1))", "1))"]),
]


@pytest.mark.parametrize(("text", "rests"), CALLS)
def test_calls_of_a_name(text: str, rests: list[str]) -> None:
    assert [text[start:] for start in _find_calls(text, "step")] == rests
