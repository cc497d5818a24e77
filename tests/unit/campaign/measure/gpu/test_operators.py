"""The accelerator's operators: declared without torch, kernels that Python can read, knobs the search can turn."""

from __future__ import annotations

import ast
import sys

import pytest

from layline.campaign.operators import FILES, load_operator
from layline.campaign.operators.find import read_named_file
from layline.campaign.operators.own.build import build_operator
from layline.campaign.proposers.knobs import find_knobs, set_knobs

NAMES = ("gemm_bf16", "rmsnorm_bf16", "gemm_fp8", "grouped_gemm_bf16")


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_is_declared_without_torch(name: str) -> None:
    operator = load_operator(name)
    assert operator.language == "triton"
    assert all(
        step.flops(shape) > 0 and step.bytes_moved(shape) > 0 for step in operator.passes for shape in operator.shapes
    )
    assert "triton" not in sys.modules


@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_defines_every_pass_and_the_wrong_one_differs(name: str) -> None:
    operator = load_operator(name)
    texts = [text for _name, text in (*operator.starts, *operator.variants)] + [operator.wrong]
    for text in texts:
        defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert {step.symbol for step in operator.passes} <= defined
    assert operator.wrong != operator.start("naive")


@pytest.mark.parametrize("name", NAMES)
def test_knobs_stand_on_a_declared_value_and_can_be_turned(name: str) -> None:
    operator = load_operator(name)
    for _name, text in (*operator.starts, *operator.variants):
        knobs = list(find_knobs(text))
        assert knobs
        assert all(knob.value in knob.values for knob in knobs)
        turned = set_knobs(text, {knob.name: knob.values[-1] for knob in knobs})
        assert [knob.value for knob in find_knobs(turned)] == [knob.values[-1] for knob in knobs]


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("bf16")])
def test_every_operator_file_for_an_accelerator_gives_the_search_something_to_turn(name: str) -> None:
    operator = build_operator(read_named_file(name))
    texts = [text for _name, text in (*operator.starts, *operator.variants)]
    for text in texts:
        defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert {step.symbol for step in operator.passes} <= defined
    knobs = [list(find_knobs(text)) for text in texts]
    assert any(knobs)
    assert all(knob.value in knob.values for found in knobs for knob in found)
