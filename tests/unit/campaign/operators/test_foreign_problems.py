"""Foreign problems are drawn by a seed from clones and laid out in a folder; those that cannot be read are passed over."""

from __future__ import annotations

import json
from pathlib import Path

from bench.foreign_problems import choose_work, write_list

from histories import History

TENSOR = {"shape": ["M", "K"], "dtype": "float16"}
DEFINITION = {
    "name": "relu",
    "axes": {"M": {"type": "var"}, "K": {"type": "const", "value": 8}},
    "inputs": {"x": TENSOR},
    "outputs": {"y": TENSOR},
    "reference": "def run(x):\n    return x",
}
TASK = "files: []\ntests: [{size: 8, seed: 1}]\n"
REFERENCE = "def ref_kernel(data):\n    return data\n\n\ndef generate_input(size, seed):\n    return make(size)\n"


def test_problems_are_drawn_and_laid_out(tmp_path: Path) -> None:
    problem = "class Model:\n    pass\n"
    whole = History.start(tmp_path / "kernelbench")
    levels = {f"KernelBench/level{level}/{one}_a.py": problem for level in (1, 2, 3) for one in range(12)}
    whole.commit("Start", dict(levels))
    integers = {**DEFINITION, "inputs": {"x": {**TENSOR, "dtype": "int32"}}}
    trace = History.start(tmp_path / "flashinfer")
    trace.commit(
        "Start",
        {
            "flashinfer_trace/definitions/relu/relu.json": json.dumps(DEFINITION),
            "flashinfer_trace/definitions/relu/relu2.json": json.dumps(DEFINITION),
            "flashinfer_trace/definitions/paged/paged.json": json.dumps(integers),
        },
    )
    contest = History.start(tmp_path / "gpumode")
    contest.commit(
        "Start",
        {
            "problems/pmpp_v2/sort_py/task.yml": TASK,
            "problems/pmpp_v2/sort_py/reference.py": REFERENCE,
            "problems/pmpp_v2/sort_py/submission.py": "def custom_kernel(data):\n    return data\n",
            "problems/pmpp_v2/bad_py/task.yml": "multi_gpu: true\n",
            "problems/newest/sort_py/task.yml": TASK,
        },
    )
    folder = tmp_path / "laid"
    write_list([str(one.path) for one in (whole, trace, contest)], folder, 20)
    drawn = sorted(folder.glob("kernelbench/*/*.py"))
    assert (len(drawn), {one.parent.name for one in drawn} <= {"level1", "level2"}) == (10, True)
    assert len(list(folder.glob("flashinfer/*.json"))) == 1
    assert [one.parent.name for one in folder.glob("gpumode/**/task.yml")] == ["sort_py"]
    asked = [what.split()[0] for what, _ask in choose_work(folder)]
    assert asked == ["check"] * 12 + ["cheat"] * 12 + ["better"] * 12
