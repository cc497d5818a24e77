"""Whether a version of a file calls a name with an argument: a call of its own, not one inside it, nor a text of it."""

from __future__ import annotations

import pytest

from layline.coupling.row_parts import Passed
from layline.coupling.signature_culprit import passes_any

VERSIONS = [
    ("step(mask=1)", True),
    ("self.layers[0].step(\n    x,\n    text=')',\n    mask=1,\n)\n", True),
    ("step (x, mask = 1)", True),
    ("step(x)\nmask = 1\n", False),
    ("step(mask == 1)", False),
    ("step(one(mask=1))", False),
    ("one(step(x), mask=1)", False),
    ("one_step(mask=1)", False),
    ("def step(mask=1): ...\nclass step(B, mask=1): ...\n", False),
    ("'''step(mask=1)'''  # step(mask=1)\n", False),
    ("x = \\\nstep(mask=1)", True),
    ("step(mask=1", False),
    ("", False),
]


@pytest.mark.parametrize(("text", "passes"), VERSIONS)
def test_a_version_passes_an_argument(text: str, passes: bool) -> None:
    assert passes_any(text, Passed(name="step", arguments=("mask", "other"), paths=())) is passes
