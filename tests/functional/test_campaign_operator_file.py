"""A campaign with an operator of the user's own: its bytes are in the ledger, and once it is edited nothing is measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaign_project import begin, inside, now, propose, start_project
from layline.app.campaign import campaign_baseline, campaign_new, campaign_resume, campaign_round, campaign_status
from layline.app.campaign_end import campaign_measure, campaign_verify
from layline.app.campaign_judge import campaign_judge
from layline.campaign import operators
from layline.campaign.bench import Measured, Trial
from layline.campaign.command.run import CommandBench
from layline.campaign.loop.define import define_target, emit_operator
from layline.campaign.operators.find import find_operator
from layline.campaign.rounds import find_thawed
from layline.campaign.session.open import read_campaign
from layline.errors import BenchError, ConfigError
from layline.render.text import render_text

CHOSEN = {"kernels": ("kernel.c",), "shapes": (), "target": None, "branch": "auto", "max_iterations": None}
KERNELBENCH = """import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + self.eps)

batch_size = 112
features = 64
dim1 = 512 * 2

def get_inputs():
    return [torch.rand(batch_size, features, dim1)]

def get_init_inputs():
    return [features]
"""


def test_an_edited_operator_file_is_refused(tmp_path: Path) -> None:
    project = start_project(tmp_path / "project")
    with inside(project.path):
        emit_operator("rope", Path("rope_own.py"))
        text = Path("rope_own.py").read_text()
        Path("kernel.c").write_text("int forward(void) { return 0; }\n")
        project.git("add", ".")
        project.git("commit", "-qm", "An operator of our own")
        manifest = define_target("demo", None, operator="rope_own.py", **CHOSEN)
        assert (manifest.operator, manifest.target_op) == ("rope_own.py", "rope_own")
        campaign_new(manifest, now=now)
        ledger = next(project.path.glob("agent/workspace/demo/*.jsonl")).read_text().splitlines()
        assert json.loads(ledger[0])["data"]["origin"]["operator_files"] == {"rope_own.py": text}
        going = read_campaign(None)
        assert (find_thawed(going), campaign_status().report.alerts) == ([], ())
        Path("rope_own.py").write_text(text.replace("rtol=1e-5", "rtol=1e-1"))
        project.git("commit", "-qam", "A wider tolerance")
        with pytest.raises(BenchError, match=r"operator:rope_own\.py changed since the campaign began"):
            campaign_baseline(now=now)
        with pytest.raises(BenchError, match=r"operator:rope_own\.py changed since the campaign began"):
            campaign_measure()
        assert find_thawed(going) == ["operator:rope_own.py"]  # what was opened before sees it, too
        edited = "operator:rope_own.py was edited since the campaign began"
        assert edited in campaign_status().report.alerts[0].message
        assert edited in campaign_verify().data["deviations"][-1]


OWN = """import numpy as np
from layline.operators import Axis, Tensor, Tolerance
title, language = "Scaled rows", "c"
axes = {"R": Axis(), "C": Axis(low=1)}
tensors = {"x": Tensor("R C"), "w": Tensor("C", role="weight"), "y": Tensor("R C")}
passes = {"forward": "x w -> y"}
shapes = {"small": {"R": 8, "C": 16}, "odd": {"R": 5, "C": 33}}
tolerance = Tolerance(rtol=1e-5, atol=1e-6)
def reference(step, x):
    return {"y": x.x * x.w}
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("x.x * x.w}", "x.x * x.w * np.random.default_rng().random()}", "it is random"),
        ("x.x * x.w}", "x.x * 0}", "It is 0 everywhere"),
        ("x.x * x.w}", "x.x * x.z}", "own.py:10: reference raises AttributeError: z"),
        ("return {", "x.x *= 2; return {", "changes its inputs (x)"),
        ("atol=1e-6", "atol=10.0", "zeros are accepted as y"),
        ("Axis(low=1)", "Axis(multiple=2)", "do not allow the listed shape odd (R=5, C=33)"),
    ],
)
def test_nothing_is_begun_or_judged_by_a_file_that_its_check_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: str
) -> None:
    assert old in OWN
    monkeypatch.setattr("layline.app.campaign_judge.measure_pair", None)
    project = start_project(
        tmp_path / "project", **{"own.py": OWN.replace(old, new), "kernel.c": "int forward(void);\n"}
    )
    with inside(project.path):
        manifest = define_target("demo", None, operator="own.py", **CHOSEN)
        commands: tuple[Callable[[], object], ...] = (
            lambda: campaign_new(manifest, now=now),
            lambda: campaign_judge(Path("kernel.c"), "kernel.c", "own.py"),
        )
        for command in commands:
            with pytest.raises(ConfigError) as caught:
                command()
            assert caught.value.message.startswith("own.py cannot be used to judge kernels: ")
            assert told in caught.value.message
            assert "campaign check-operator own.py" in (caught.value.hint or "")
    assert not (project.path / "agent").exists()


@pytest.mark.parametrize(("factor", "is_wrong"), [("1.001f", True), ("1.0f", False)])
def test_a_kernel_is_not_blamed_alone_where_the_other_is_as_wrong(tmp_path: Path, factor: str, is_wrong: bool) -> None:
    """A stranger's own kernel, held against its own copy, was called wrong without a word about the copy."""
    head = "#include <stdint.h>\nint forward(const float *x, const float *w, float *y, int64_t R, int64_t C) {\n"
    body = "for (int64_t i = 0; i < R * C; i++) y[i] = x[i] * w[i % C] * {};\nreturn 0;\n}}\n"
    for name, text in (("own.py", OWN), ("a.c", head + body.format("1.001f")), ("b.c", head + body.format(factor))):
        (tmp_path / name).write_text(text)
    with inside(tmp_path):
        answer = campaign_judge(Path("a.c"), "b.c", "own.py")
    assert answer.data["verdict"]["outcome"] == "ROLLBACK"
    assert bool(answer.data["against_fault"]) is is_wrong
    assert ("b.c is wrong, too: " in render_text(answer.report)) is is_wrong


def test_a_harness_that_is_edited_while_a_round_runs_gives_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = start_project(tmp_path / "project")
    begin(project.path)
    measure, harness = CommandBench.measure, project.path / "bench.sh"
    text = harness.read_text()

    def measure_and_edit(bench: CommandBench, trial: Trial) -> Measured:
        measured = measure(bench, trial)
        harness.write_text(f"{text}# edited\n")
        return measured

    with inside(project.path):
        campaign_baseline(now=now)
        (project.path / "kernel.sh").write_text("COST=0.80\n")
        monkeypatch.setattr(CommandBench, "measure", measure_and_edit)
        with pytest.raises(BenchError, match="changed since the campaign began"):
            campaign_round(propose("cheaper"), now=now)
        assert campaign_status().data["rounds"][-1]["verdict"] is None
        harness.write_text(text)
        assert campaign_resume(now=now).data["settled"] == "ACCEPTED"


def test_a_shipped_operator_can_be_taken_over(tmp_path: Path) -> None:
    """As it is; that it passes its own check is shown by README's transcript."""
    with inside(tmp_path):
        said = emit_operator("swiglu", Path("own.py"))
        assert "check-operator own.py" in said
        assert Path("own.py").read_bytes() == (Path(operators.__file__).parent / "files" / "swiglu.py").read_bytes()
        assert find_operator("own.py", tmp_path).operator.starts
        with pytest.raises(ConfigError, match=r"own\.py exists"):
            emit_operator("swiglu", Path("own.py"))


def test_a_kernelbench_problem_becomes_an_operator_file_without_being_run(tmp_path: Path) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/36_RMSNorm_.py").write_text(KERNELBENCH)
    with inside(tmp_path):
        emit_operator("kernelbench:level1/36", Path("own.py"))
        text = Path("own.py").read_text()
        compile(text, "own.py", "exec")
        assert "PLACES = {'batch_size': (0, 0), 'features': (0, 1), 'dim1': (0, 2)}" in text
        assert "'dim1': 1024}" in text


DEFINITION = {
    "name": "gemm_n128",
    "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 128}, "K": {"type": "const", "value": 64}},
    "inputs": {"A": {"shape": ["M", "K"], "dtype": "float16"}, "B": {"shape": ["N", "K"], "dtype": "float16"}},
    "outputs": {"C": {"shape": ["M", "N"], "dtype": "float16"}},
    "constraints": ["M % 2 == 0"],
    "reference": "import torch\n\ndef run(A, B):\n    return A @ B.T\n",
}


def test_a_flashinfer_definition_becomes_an_operator_file(tmp_path: Path) -> None:
    (tmp_path / "definitions").mkdir()
    (tmp_path / "definitions/gemm_n128.json").write_text(json.dumps(DEFINITION))
    rows = [{"workload": {"axes": {"M": size}}} for size in (8, 8, 512)]
    (tmp_path / "gemm_n128.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    with inside(tmp_path):
        operator = find_operator("flashinfer:.#gemm_n128").operator
    assert [shape.sizes for shape in operator.shapes] == [(("M", m), ("N", 128), ("K", 64)) for m in (8, 512)]
    assert all(one.size("M") % 2 == 0 for one in operator.neighbours(operator.shapes[1], np.random.default_rng(0)))
    compile(operator.start("reference"), "start", "exec")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"reference": None}, "has no `reference`"),
        ({"inputs": {"A": {"shape": None, "dtype": "float32"}}}, "is a single number"),
        ({"inputs": {"A": {"shape": ["M"], "dtype": "int32"}}}, "how it is drawn is in recorded files"),
    ],
)
def test_a_definition_that_lacks_something_says_what(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    changed = {key: value for key, value in {**DEFINITION, **change}.items() if value is not None}
    (tmp_path / "gemm_n128.json").write_text(json.dumps(changed))
    with inside(tmp_path), pytest.raises(ConfigError) as caught:
        find_operator("flashinfer:gemm_n128.json")
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("def get_init_inputs", "def get_them", "has no get_init_inputs"),
        ("torch.rand(batch_size, features, dim1)", "torch.rand(3, 4)", "no input has a size with a name"),
        ("import torch\n", "import torch(\n", "level1/36_RMSNorm_.py:1"),
    ],
)
def test_a_foreign_problem_that_lacks_something_says_what(tmp_path: Path, old: str, new: str, told: str) -> None:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1/36_RMSNorm_.py").write_text(KERNELBENCH.replace(old, new))
    with inside(tmp_path), pytest.raises(ConfigError) as caught:
        emit_operator("kernelbench:level1/36", Path("own.py"))
    assert told in caught.value.message


def test_a_kernelbench_problem_with_integers_keeps_the_narrow_tolerance(tmp_path: Path) -> None:
    (tmp_path / "1_norm.py").write_text(KERNELBENCH)
    emit_operator(f"kernelbench:{tmp_path}/1_norm.py", tmp_path / "emitted.py")
    text = (tmp_path / "emitted.py").read_text()
    assert 'dtype.startswith(("bfloat16", "float16", "float8"))' in text
    assert "tolerance = Tolerance(rtol=1e-3, atol=1e-3)" in text
