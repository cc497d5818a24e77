"""GPU MODE's problems, read in place: what is taken from their files, and what each missing thing is called."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from layline.campaign.measure.build import add_shim, dress
from layline.campaign.operators import load_operator
from layline.campaign.operators.own.foreign.gpumode import read_problem, write_gpumode
from layline.campaign.values.operator import Snapshot
from layline.errors import ConfigError

TASK = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
tests:
  - {"rows": 7, "columns": 64, "seed": 1}
benchmarks:
  - {"rows": 512, "columns": 1024, "seed": 2}
  - {"rows": 512, "columns": 1024, "seed": 3}
  - {"rows": 4096, "columns": 1024, "seed": 4}
"""
REFERENCE = """
from utils import make_match_reference
import torch
from task import input_t


def ref_kernel(data):
    x, w, y = data
    y[...] = x * w
    return y


def generate_input(rows, columns, seed):
    gen = torch.Generator(device="cuda")
    x = torch.randn(rows, columns, device="cuda", generator=gen).contiguous()
    w = torch.empty(columns, device="cuda")
    w.uniform_(0, 1, generator=gen)
    y = torch.empty_like(x).contiguous()
    return x, w, y


check_implementation = make_match_reference(ref_kernel, rtol=2e-3, atol=1e-9)
"""


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    folder = tmp_path / "scale_py"
    folder.mkdir()
    (folder / "task.yml").write_text(TASK)
    (folder / "task.py").write_text("input_t = object\n")
    (tmp_path / "utils.py").write_text("def make_match_reference(*_, **__): ...\n")
    (folder / "reference.py").write_text(REFERENCE)
    return folder


def test_sizes_files_data_and_tolerances_are_read(problem: Path) -> None:
    found = read_problem(problem)
    assert found.sizes == (
        {"rows": 512, "columns": 1024},
        {"rows": 4096, "columns": 1024},
        {"rows": 7, "columns": 64},
    )
    assert [name for name, _path in found.files] == ["task", "utils", "reference"]
    assert (found.outs, found.plain) == ((False, False, True), (True, False, False))
    assert (found.rtol, found.atol) == (2e-3, 1e-4)
    assert found.most_seed == 1 << 16  # its own are smaller


def test_the_operator_file_is_python_and_names_the_problem(problem: Path) -> None:
    text, source = write_gpumode("scale_py", problem.parent)
    assert source == problem / "reference.py"
    names = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert {"legal", "reference", "draw"} <= names
    assert "AXES = ['rows', 'columns']" in text
    assert "x * w" not in text  # read in place, not copied


REFUSED = [
    ("task.yml", None, r"task\.yml cannot be read: No such file"),
    ("task.yml", "tests: [", r"task\.yml is not YAML"),
    ("task.yml", "- a", "is not a table"),
    ("task.yml", TASK + "multi_gpu: true\n", "needs several GPUs"),
    ("task.yml", TASK.replace('"rows": 7', '"rows": "few"'), "tests give rows='few', which is not a size"),
    ("task.yml", TASK.replace('"rows": 7, ', ""), "do not give the same sizes"),
    ("task.yml", "files: []\n", "has no tests and no benchmarks with sizes"),
    ("reference.py", None, r"reference\.py cannot be read"),
    ("reference.py", "def ref_kernel(:", r"reference\.py:1: "),
    ("reference.py", REFERENCE.replace("generate_input", "make_input"), "has no generate_input"),
]


@pytest.mark.parametrize(("name", "text", "told"), REFUSED)
def test_what_is_missing_is_said_with_its_place(problem: Path, name: str, text: str | None, told: str) -> None:
    (problem / name).unlink()
    if text is not None:
        (problem / name).write_text(text)
    with pytest.raises(ConfigError, match=told):
        read_problem(problem)


def test_seeds_are_as_large_as_the_problems_own(problem: Path) -> None:
    """A problem that makes numbers of its seed had numbers so large that nothing else could be told apart."""
    (problem / "task.yml").write_text(TASK.replace('"seed": 4}', '"seed": 54352}'))
    assert read_problem(problem).most_seed == 108704


def test_a_start_whose_imports_are_missing_comes_last(problem: Path) -> None:
    names: dict[str, object] = {}
    text = write_gpumode("scale_py", problem.parent)[0]
    function = next(one for one in ast.parse(text).body if getattr(one, "name", "") == "can_import")
    exec(f"import ast\nfrom importlib.util import find_spec\nFILES = [('task', '')]\n{ast.unparse(function)}", names)
    asked: Callable[[str], bool] = names["can_import"]  # type: ignore[assignment]
    assert asked("import json\nfrom task import input_t\n")
    assert not asked("import json, no_such_module.inner\n")
    assert not asked("from no_such_module import it\n")


def test_two_texts_that_are_built_alike_are_one_kernel() -> None:
    """A problem's own model, submitted again, had no verdict: other sources, the same build."""
    operator = replace(load_operator("gemm_bf16"), shim="\nSHIM = 1\n")
    bare, dressed = (Snapshot(files=(("kernel.py", text),)) for text in ("A = 1\n", "A = 1\n\nSHIM = 1\n"))
    assert dress(bare, operator) == Snapshot(files=(("kernel.py", "A = 1\n\nSHIM = 1\n"),))
    assert dress(None, operator) is None
    assert dressed == dress(bare, operator)


def test_modules_that_submissions_import_come_before_them_and_behind_the_future() -> None:
    operator = replace(load_operator("gemm_bf16"), shim="\nSHIM = 1\n", prelude="BEFORE = 1\n")
    text = '"""A kernel."""\nfrom __future__ import annotations\nfrom task import input_t\n'
    assert add_shim(operator, text).splitlines() == [
        '"""A kernel."""',
        "from __future__ import annotations",
        "BEFORE = 1",
        "from task import input_t",
        "",
        "SHIM = 1",
    ]
    assert add_shim(operator, "def forward(:").endswith("def forward(:")
