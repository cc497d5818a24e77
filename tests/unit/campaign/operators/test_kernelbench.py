"""What stands beside a KernelBench problem, and what its sizes are called: read without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.campaign.operators.own.foreign.kernelbench import find_fixed, find_steps, read_problem, read_stated

STATED = [
    ("tolerance:\n  bfloat16: 0.2\n  fp8_e4m3fn: 0.2\n", {"bfloat16": 0.2, "float8_e4m3fn": 0.2}),
    ("tolerance:\n  torch.bfloat16: 0.05\n", {"bfloat16": 0.05}),
    ("name: x\n", {}),
    ("tolerance: 5e-2\n", {}),
    ('tolerance:\n  float32: "no"\n  float16: 7\n', {}),  # words, and what would accept anything
    ("{", {}),
]


@pytest.mark.parametrize(("text", "stated"), STATED)
def test_what_a_problem_says_of_its_outputs(tmp_path: Path, text: str, stated: dict[str, float]) -> None:
    path = tmp_path / "problem.yaml"
    assert read_stated(path) == {}
    path.write_text(text, "utf-8")
    assert read_stated(path) == stated


LISTED = [
    ("SHAPES = [{'T': 1, 'K': 128}, {'T': 2, 'K': 128}]", {"K": 128}),  # no other head size is asked for
    ("SHAPES = [{'T': 1, 'K': 128}]", {}),  # one shape says nothing of the others
    ("SHAPES = [{'T': 1}, {'T': 2}]", {}),
    ("", {}),
]


@pytest.mark.parametrize(("text", "fixed"), LISTED)
def test_a_size_that_every_listed_shape_has_is_fixed(tmp_path: Path, text: str, fixed: dict[str, int]) -> None:
    (tmp_path / "shapes.py").write_text(text)
    assert find_fixed(tmp_path / "reference.py", {"T": 64, "K": 64}) == fixed


STEPS = [
    ("SHAPES = [{'T': 1024, 'K': 4096}, {'T': 2048, 'K': 4127}]", {"T": 1024}),  # no kernel may count on K
    ("SHAPES = [{'T': 1024, 'K': 128}]", {}),  # one shape says nothing of the others
    ("", {}),
]


@pytest.mark.parametrize(("text", "steps"), STEPS)
def test_a_kernel_may_count_on_what_every_listed_extent_is_a_multiple_of(
    tmp_path: Path, text: str, steps: dict[str, int]
) -> None:
    (tmp_path / "shapes.py").write_text(text)
    assert find_steps(tmp_path / "reference.py", {"T": 64, "K": 64}) == steps


def test_sizes_that_are_assigned_together_are_sizes() -> None:
    text = """
batch_size = 4
height, width = 32, batch_size * 4


class Model: ...


def get_inputs():
    return [torch.rand(batch_size, height, width)]


def get_init_inputs():
    return []
"""
    assert read_problem(text, "p.py").constants == {"batch_size": 4, "height": 32, "width": 16}


def test_what_every_listed_shape_gives_is_a_size() -> None:
    text = """
M, N, K = 4, 8, 16


class Model: ...


def get_inputs():
    return [torch.rand(M, K)]


def get_init_inputs():
    return [M, N, K]
"""
    assert read_problem(text, "p.py").constants == {"M": 4, "K": 16}
    assert read_problem(text, "p.py", [{"M": 1, "N": 2, "K": 3}]).constants == {"M": 4, "K": 16, "N": 8}
    assert read_problem(text, "p.py", [{"M": 1, "N": 2, "K": 3}, {"M": 1, "K": 3}]).constants == {"M": 4, "K": 16}
