"""Foreign problems with missing or odd fields: each is told by its file and what is wrong there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from layline.campaign.operators.own.foreign import write_operator_file
from layline.errors import ConfigError

TENSOR = {"shape": ["M", "K"], "dtype": "float16"}
DEFINITION: dict[str, Any] = {
    "name": "relu",
    "axes": {"M": {"type": "var"}, "K": {"type": "const", "value": 8}},
    "inputs": {"x": TENSOR},
    "outputs": {"y": TENSOR},
    "reference": "def run(x):\n    return x",
}
REFERENCE = b"def ref_kernel(d):\n    return d\n\n\ndef generate_input(size, seed):\n    return d\n"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"inputs": [TENSOR]}, "`inputs` is not a table of tables by name."),
        ({"axes": ["M"]}, "`axes` is not a table of tables by name."),
        ({"axes": {"M": {"type": "var"}, "K": {"type": "const"}}}, "the axis K is const and has no `value`"),
        ({"outputs": {"y": {"dtype": "float16"}}}, "y has no `shape` that is a list of axes."),
        ({"outputs": {"y": {"shape": None, "dtype": "float16"}}}, "the output y is a single number"),
        ({"outputs": {"y": {"shape": ["M"]}}}, "y has no `dtype`."),
        ({"reference": 5}, "`reference` is not a string."),
        ({"constraints": ["M =="]}, "the constraint `M ==` is not an expression."),
    ],
)
def test_a_malformed_definition_is_told(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    (tmp_path / "relu.json").write_text(json.dumps({**DEFINITION, **changed}))
    with pytest.raises(ConfigError, match=r"relu.json") as told:
        write_operator_file("flashinfer", "relu.json", tmp_path)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("M % 2 == 0", "(M % 2 == 0)"),
        ("x.shape[1] == 8 * y.shape[0]", "(K == 8 * M)"),
        ("x.shape[5] == 1", "(x.shape[5] == 1)"),  # told when it is asked for the first time
    ],
)
def test_a_constraint_over_shapes_is_one_over_axes(tmp_path: Path, rule: str, written: str) -> None:
    (tmp_path / "relu.json").write_text(json.dumps({**DEFINITION, "constraints": [rule]}))
    text, _path = write_operator_file("flashinfer", "relu.json", tmp_path)
    assert f"eval({written!r}, " in text


def test_a_malformed_workload_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "relu.json").write_text(json.dumps(DEFINITION))
    (tmp_path / "relu.jsonl").write_text('{"workload": {"axes": {"M": 4}}}\n{broken\n')
    with pytest.raises(ConfigError, match=r"relu.jsonl:2 is not a workload"):
        write_operator_file("flashinfer", "relu.json", tmp_path)


@pytest.mark.parametrize(
    ("task", "reference", "said"),
    [
        ("tests: [5]", REFERENCE, "`tests` is not a list of tables."),
        ("tests: 5", REFERENCE, "`tests` is not a list of tables."),
        ("files: [a]\ntests: [{size: 8}]", REFERENCE, "`files` is not a list of tables."),
        ("tests: [{size: 8, seed: abc}]", REFERENCE, "the seed 'abc' is not a whole number."),
        ("tests: [{size: 8}]", b"\xff\xfe", "reference.py is not UTF-8 text."),
    ],
)
def test_a_malformed_task_is_told(tmp_path: Path, task: str, reference: bytes, said: str) -> None:
    (tmp_path / "task.yml").write_text(task)
    (tmp_path / "reference.py").write_bytes(reference)
    with pytest.raises(ConfigError) as told:
        write_operator_file("gpumode", ".", tmp_path)
    assert said in str(told.value)


def test_a_problem_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "9_a.py").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"9_a.py is not UTF-8 text"):
        write_operator_file("kernelbench", "9_a.py", tmp_path)
