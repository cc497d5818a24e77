"""A problem's own tolerance is taken from the file beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.campaign.operators.own.foreign.kernelbench import read_stated

CASES = [
    ("tolerance:\n  bfloat16: 0.2\n  fp8_e4m3fn: 0.2\n", {"bfloat16": 0.2, "float8_e4m3fn": 0.2}),
    ("tolerance:\n  torch.bfloat16: 0.05\n", {"bfloat16": 0.05}),
    ("name: x\n", {}),
    ("tolerance: 5e-2\n", {}),
    ('tolerance:\n  float32: "no"\n  float16: 7\n', {}),  # words, and what would accept anything
    ("{", {}),
]


@pytest.mark.parametrize(("text", "stated"), CASES)
def test_what_a_problem_says_of_its_outputs(tmp_path: Path, text: str, stated: dict[str, float]) -> None:
    path = tmp_path / "problem.yaml"
    assert read_stated(path) == {}
    path.write_text(text, "utf-8")
    assert read_stated(path) == stated
