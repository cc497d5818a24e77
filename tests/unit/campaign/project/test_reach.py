"""Names lead from tests and benchmarks to kernels, through packages, imports and registrations; nothing is run."""

from __future__ import annotations

import ast

import pytest

from layline.campaign.project.leads import choose_words
from layline.campaign.project.reach import Reach

TREE = {
    "lib/__init__.py": "from lib import ops\n",
    "lib/ops/__init__.py": "from .gemm import *\nfrom .norm import norm\n",
    "lib/ops/gemm.py": (
        "from lib.kernels.table import TABLE\nimport torch\n\n\ndef gemm(x):\n    return TABLE['a'](x)\n\n\n"
        "def narrow(x):\n    from lib.triton.narrow import launch\n    return launch(x)\n\n\n"
        "def given(x):\n    return torch.ops.lib.wide(x)\n"
    ),
    "lib/ops/norm.py": "import torch\n\n\ndef norm(x):\n    return torch.ops.compiled.norm(x)\n",
    "lib/kernels/table.py": "from ..triton.gemm import launch as run\n\nTABLE = {'a': run}\n",
    "lib/kernels/given.py": "from lib.triton.wide import launch\n\n\n@triton_op('lib::wide')\ndef wide(x):\n    return launch(x)\n",
    "lib/triton/gemm.py": "def launch(x):\n    return x\n",
    "lib/triton/narrow.py": "def launch(x):\n    return x\n",
    "lib/triton/wide.py": "def launch(x):\n    return x\n",
    "lib/round.py": "from lib.about import *\n",
    "lib/about.py": "from lib.round import *\n",
    "lib/broken.py": "def launch(x):\n    return '::\0'\n",
    "lib/long.py": f"from lib.triton.wide import launch\n\n\ndef many(x):\n    return launch(x){' + x' * 1500}\n",
}


def reach(text: str) -> set[str]:
    tree = {**TREE, "tests/test.py": text}
    found = Reach(tree, tree.get).find_files("tests/test.py", ast.parse(text).body)
    return {one.removeprefix("lib/triton/") for one in found if "triton" in one}


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        # the package binds the function `gemm`, which hides the module of that name
        ("import lib as l\nl.ops.gemm(1)", {"gemm.py"}),
        ("from lib.ops import gemm\ngemm(1)", {"gemm.py"}),
        ("from lib.ops.gemm import narrow\nnarrow(1)", {"narrow.py"}),
        ("from lib.ops.gemm import given\ngiven(1)", {"wide.py"}),
        ("import lib\nlib.ops.norm(1)", set()),
        ("from lib.ops import gemm", set()),  # imported, not used
        ("from lib.round import nothing\nnothing()", set()),
        ("from lib.broken import launch\nlaunch()", set()),  # no Python: it is as if it were not there
        ("from lib.long import many\nmany()", {"wide.py"}),
        ("def f():\n    from lib.triton.wide import launch as go\n    return go", {"wide.py"}),
    ],
)
def test_names_lead_to_the_files_that_define_them(text: str, kernels: set[str]) -> None:
    assert reach(text) == kernels


@pytest.mark.parametrize(
    ("wanted", "others", "selection"),
    [
        (["test_a_fp8", "test_a_fp8_b"], ["test_a_16bit"], "fp8"),
        (["test_a", "test_b"], ["test_c_sparse", "test_sparse"], "not sparse"),
        (["test_a", "test_b"], ["test_c", "test_d"], "test_a or test_b"),
        (["test_a", "test_b", "test_c", "test_e"], ["test_d", "test_f"], ""),
    ],
)
def test_tests_are_selected_by_a_word_or_a_few_names(wanted: list[str], others: list[str], selection: str) -> None:
    assert choose_words(wanted, others, "tests/test_op.py") == selection
