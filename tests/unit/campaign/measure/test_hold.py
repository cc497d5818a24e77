"""Outputs with one right answer, and outputs that only the operator's own check can judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.hold import Answered, find_wrong
from layline.campaign.operators.find import find_operator
from layline.campaign.trusted import choose_plan

OWN = """import numpy as np
from layline.operators import Axis, Tensor, Tolerance
title, language = "Rows as bytes", "c"
axes = {"R": Axis(low=1), "C": Axis(low=1)}
tensors = {"x": Tensor("R C"), "q": Tensor("R C", "int8", role="free"), "scale": Tensor("R")}
passes = {"forward": "x -> q scale"}
shapes = {"small": {"R": 4, "C": 8}}
tolerance = Tolerance(rtol=1e-4, atol=1e-4)
starts = {"naive": "int forward(void) { return 0; }"}

def reference(step, x):
    return {"scale": np.abs(x.x).max(axis=-1) / 127}

def check(step, x, out):
    off = np.abs(x.x - out.q * out.scale[:, None]) > 0.51 * out.scale[:, None]
    return f"{off.sum()} integers are not the nearest ones" if off.any() else ""
"""
CASES = [
    ({}, ""),
    ({"scale": 1.5}, "elements of scale are outside the tolerance"),
    ({"q": 0}, "The operator's own check refuses it: "),
]


@pytest.mark.parametrize(("spoilt", "told"), CASES, ids=["right", "another scale", "other integers"])
def test_every_output_is_held_against_something(tmp_path: Path, spoilt: dict[str, float], told: str) -> None:
    (tmp_path / "own.py").write_text(OWN)
    operator = find_operator(str(tmp_path / "own.py")).operator
    shape, step = operator.shapes[0], operator.passes[0]
    inputs = {"x": np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)}
    scale = np.abs(inputs["x"]).max(axis=-1) / 127
    outputs: dict[str, Any] = {"q": np.rint(inputs["x"] / scale[:, None]).astype(np.int8), "scale": scale}
    outputs |= {name: (outputs[name] * times).astype(outputs[name].dtype) for name, times in spoilt.items()}
    right = operator.oracle(step.name, shape, inputs)
    assert "q" not in right
    with workshop() as shop:
        stage = set_stage(operator, operator.shapes, choose_plan(operator, 0.05, 0.01), Path(shop), b"7")
        found = find_wrong(stage, Answered(step, inputs, {}, outputs, right))
    assert told in (found.reason if found else "")
    assert (found is None) == (not told)
