"""The hand-off names what is there, what is missing and what contradicts; nothing is guessed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign_project import inside, now
from histories import History
from layline.app.campaign_handoff import campaign_handoff
from layline.campaign.environment import read_package_name
from layline.campaign.handoff_request import Request, recommend_mode
from layline.campaign.told.handoff import read_earlier_draft
from layline.campaign.values.bench_csv import parse_bench_csv
from layline.campaign.values.manifest import parse_manifest, shape_list
from layline.cli.main import layline
from layline.errors import ConfigError

FILES: dict[str, str | bytes | None] = {
    "pyproject.toml": '[project]\nname = "no-such-package-installed"\n',
    "turbo/triton/gemm/gemm_fp8_kernel.py": "",
    "turbo/triton/gemm/gemm_kernel.py": "",
    "csrc/kernels/gemm/gemm_fp8_gfx942.hip": "",
    "tests/ops/test_gemm_fp8.py": "",
    "benchmark/bench_gemm_turbo.py": "",
}


def ask(tmp_path: Path, **options: str | None) -> dict[str, object]:
    history = History.start(tmp_path / "project")
    history.commit("Start", FILES)
    request = Request(operator="gemm_fp8_blockwise", backend="TRITON", gpu="gfx950", options=options)
    with inside(history.path):
        return dict(campaign_handoff(request, now=now).data)


def values(data: dict[str, object]) -> dict[str, str | None]:
    rows = data["prerequisites"]
    assert isinstance(rows, list)
    return {row["name"]: row["value"] for row in rows}


def test_what_the_tree_shows_without_doubt_is_found(tmp_path: Path) -> None:
    found = values(ask(tmp_path))
    assert found["Kernel source file path"] == "turbo/triton/gemm/gemm_fp8_kernel.py"
    assert found["Focused test command"] == "pytest tests/ops/test_gemm_fp8.py -v"
    assert found["execution_mode"] == "repo"


def test_what_is_missing_is_named_and_marked_in_the_draft(tmp_path: Path) -> None:
    data = ask(tmp_path)
    assert data["missing"] == [
        "Focused benchmark command",
        "Quick validation harness",
        "Target shapes",
        "Package installed editable",
    ]
    draft = str(data["draft"])
    assert "quick_command: null  # MISSING" in draft
    with pytest.raises(ConfigError):
        parse_manifest(draft, where="draft")


BENCH = """\
import argparse

from config import CASES, clock


def profile_gemm(M, N, K, granularity):
    ms = clock(M, N, K)
    return ms, M / ms, 2 * ms, M / ms, K != 7


def main(granularity_name, output=None):
    for M, N, K in CASES:
        fwd_ms, fwd_tflops, bwd_ms, bwd_tflops, correct = profile_gemm(M, N, K, granularity_name)
        print({
            "Check": "PASS" if correct else "FAIL",
            "Forward Time (ms)": f"{fwd_ms:.2f}",
            "Forward TFLOPS": f"{fwd_tflops:.2f}",
            "Backward Time (ms)": f"{bwd_ms:.2f}",
            "Backward TFLOPS": f"{bwd_tflops:.2f}",
        })


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--granularity", default="rowwise")
    parser.add_argument("--dtype")
    args = parser.parse_args()
    main(granularity_name=args.granularity)
"""
CONFIG = """\
import os
import random

CASES = [(4, 2 * n, k) for n in (1, 2) for k in (5, 7)]


def clock(M, N, K):
    assert os.environ["TURBO_GEMM_BACKEND"] == "TRITON"
    return random.random() + M * N * K
"""
SUITE = """\
tasks:
  - {label: other, script: bench_gemm_turbo.py, args: [--dtype, fp8, --granularity, rowwise]}
  - label: mine
    script: bench_gemm_turbo.py
    args: [--dtype, fp8, --granularity, blockwise]
    env: {TURBO_GEMM_BACKEND: TRITON}
"""


def test_the_harness_and_the_shapes_come_from_the_projects_benchmark(tmp_path: Path) -> None:
    """No document shows a command: the suite does. The draft is one that `campaign new` takes, and the harness runs."""
    history = History.start(tmp_path / "project")
    tables = {"benchmark/config.py": CONFIG, "benchmark/suite.yaml": SUITE}
    history.commit("Start", {**FILES, **tables, "benchmark/bench_gemm_turbo.py": BENCH})
    draft = history.path / "campaigns" / "draft.yaml"
    draft.parent.mkdir()
    arguments = ["campaign", "handoff", "--op", "gemm_fp8_blockwise", "--backend", "TRITON", "--gpu", "gfx950"]
    with inside(history.path):
        CliRunner().invoke(layline, [*arguments, "--draft", "campaigns/draft.yaml"], catch_exceptions=False)
    manifest = parse_manifest(draft.read_text(), where="draft")
    command = "TURBO_GEMM_BACKEND=TRITON python benchmark/bench_gemm_turbo.py --dtype fp8 --granularity blockwise"
    assert (manifest.benchmark_command, manifest.primary_metric) == (command, "Combined Step TFLOPS")
    assert [shape["label"] for shape in shape_list(manifest)] == ["M4-N2-K5", "M4-N2-K7", "M4-N4-K5", "M4-N4-K7"]
    quick = "agent/workspace/quick_gemm_fp8_blockwise_triton.py"
    assert manifest.quick_command == f"python {quick}"
    with inside(history.path):
        begun = CliRunner().invoke(layline, ["campaign", "new", "trial", "--from", "campaigns/draft.yaml", "--yes"])
    assert (history.path / "agent/workspace/trial/manifest.yaml").is_file(), begun.output

    shapes = tmp_path / "shapes.json"
    shapes.write_text(json.dumps([dict(shape) for shape in shape_list(manifest)[1:3]]))
    words = [sys.executable, quick, "--summary-csv", str(tmp_path / "out.csv")]
    done = subprocess.run(words, cwd=history.path, env={"LAYLINE_SHAPES": str(shapes)}, check=False)
    table = parse_bench_csv((tmp_path / "out.csv").read_bytes(), where="out.csv")
    assert (done.returncode, table.is_gemm) == (1, True)
    assert [(row.label, row.check) for row in table.rows] == [("M4-N2-K7", "FAIL"), ("M4-N4-K5", "PASS")]
    assert table.rows[1].step_tflops is not None
    assert not list(history.path.rglob("*.csv"))
    harness = history.path / quick
    harness.write_text("# mine\n")
    with inside(history.path):
        CliRunner().invoke(layline, [*arguments, "--draft", "campaigns/draft.yaml"], catch_exceptions=False)
    assert harness.read_text() == "# mine\n"


SKILL = """\
# Develop

| Operator family | Triton (`triton/`) | C++/HIP (`csrc/kernels/`) | Tests | Bench |
|---|---|---|---|---|
| GEMM (bf16/fp16) | `gemm/gemm_kernel.py` | `gemm/` | `ops/test_gemm.py` | `bench_gemm_turbo.py` |
| GEMM FP8 | `gemm/gemm_fp8_kernel.py` | `gemm/ck` | `ops/test_gemm_fp8.py` | `bench_gemm_turbo.py --dtype fp8` |
| Grouped GEMM | `grouped_gemm/` | `grouped_gemm/` | `ops/test_grouped_gemm*.py` | `bench_grouped_gemm_turbo.py` |
| MoE permute / router | — | `moe_permute/`, `deep_ep/` | `ops/test_moe_permute.py` | `bench_deep_ep.py` |

Choose by `TURBO_GEMM_BACKEND` or `TURBO_GROUPED_GEMM_BACKEND`.

```bash
pytest tests/ops/test_gemm_fp8.py -v -k "blockwise and TRITON"   # filter
cd benchmark
TURBO_GEMM_BACKEND=CK python bench_gemm_turbo.py --dtype fp8 --granularity blockwise
python bench_gemm_turbo.py --dtype fp8 --granularity blockwise   # or rowwise
python bench_gemm_turbo.py --dtype fp8 --granularity rowwise
```
"""
MAPPED: dict[str, str | bytes | None] = {
    **FILES,
    "agent/skills/develop/SKILL.md": SKILL,
    "agent/skills/handoff/quick_test_bench.py": "SHAPES = []\n",
    "benchmark/config.py": "",
    "benchmark/bench_grouped_gemm_turbo.py": "",
    "benchmark/bench_deep_ep.py": "",
    "csrc/kernels/moe_permute/moe_permute.cu": "",
    "csrc/kernels/moe_permute/moe_permute.cuh": "",
    "csrc/kernels/deep_ep/layout.cu": "",
    "csrc/pytorch/moe_permute/moe_permute.cpp": "",
    "tests/ops/test_moe_permute.py": "",
    "tests/ops/test_grouped_gemm.py": "",
    "tests/ops/test_grouped_gemm_fp8.py": "",
    "tests/modules/test_grouped_gemm_fp8.py": "",
}
MAPPED_CASES = [
    (
        ("gemm_fp8_blockwise", "TRITON"),
        {
            "Kernel source file path": "turbo/triton/gemm/gemm_fp8_kernel.py",
            "Focused test command": 'pytest tests/ops/test_gemm_fp8.py -v -k "blockwise and TRITON"',
            "Focused benchmark command": "TURBO_GEMM_BACKEND=TRITON python benchmark/bench_gemm_turbo.py --dtype fp8 --granularity "
            "blockwise",
            "Project skill": "agent/skills/develop/SKILL.md",
            "Performance metric columns": "Combined Step TFLOPS",
        },
    ),
    (
        ("moe_permute", "HIP"),
        {
            "Kernel source file path": "csrc/kernels/moe_permute/moe_permute.cu",  # neither its header nor the binding
            "Focused test command": "pytest tests/ops/test_moe_permute.py -v",
            "Focused benchmark command": "python benchmark/bench_deep_ep.py",
            "Performance metric columns": "Forward GB/s",
        },
    ),
    (
        ("grouped_gemm_fp8", "TRITON"),
        {
            "Focused test command": "pytest tests/ops/test_grouped_gemm_fp8.py -v",
            "Focused benchmark command": None,  # nothing says how it is told to use fp8
            "Kernel source file path": None,
        },
    ),
]


def test_a_variable_that_a_command_sets_is_preferred(tmp_path: Path) -> None:
    """A page named a constant of the code, whose name is shorter."""
    history = History.start(tmp_path / "project")
    page = "See `ENV_GEMM_BACKEND`.\n\n`TURBO_GEMM_BACKEND=CK python benchmark/other.py`\n"
    history.commit("Start", {**FILES, "docs/a.md": page})
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator="gemm", backend="CK", gpu="gfx950"), now=now).data)
    assert values(data)["Focused benchmark command"] == "TURBO_GEMM_BACKEND=CK python benchmark/bench_gemm_turbo.py"


def test_a_variable_that_no_code_reads_chooses_no_backend(tmp_path: Path) -> None:
    """The page's name is another than the code's: with it the benchmark would measure whatever is chosen by default."""
    history = History.start(tmp_path / "project")
    page = "`TURBO_GEMM_BACKEND=CK python benchmark/other.py`\n"
    code = 'import os\n\nKIND = os.environ.get("TURBO_MATMUL_BACKEND")\n'
    history.commit("Start", {**FILES, "docs/a.md": page, "turbo/kinds.py": code})
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator="gemm", backend="CK", gpu="gfx950"), now=now).data)
    assert values(data)["Focused benchmark command"] is None
    told = next(row["found"] for row in data["prerequisites"] if row["name"] == "Focused benchmark command")
    assert "no code reads TURBO_GEMM_BACKEND; the code has TURBO_MATMUL_BACKEND (turbo/kinds.py:3)" in told


def test_shapes_that_hang_on_the_machine_are_said_to(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    asked = (
        CONFIG
        + '\n\nif os.environ.get("LARGE"):\n    CASES.append((8, 8, 8))\nif os.environ.get("LOUD"):\n    print(CASES)\n'
    )
    tables = {"benchmark/config.py": asked, "benchmark/suite.yaml": SUITE}
    history.commit("Start", {**FILES, **tables, "benchmark/bench_gemm_turbo.py": BENCH})
    with inside(history.path):
        request = Request(operator="gemm_fp8_blockwise", backend="TRITON", gpu="gfx950")
        data = dict(campaign_handoff(request, now=now).data)
    told = next(row["found"] for row in data["prerequisites"] if row["name"] == "Target shapes")
    line = asked.splitlines().index('if os.environ.get("LARGE"):') + 1
    assert f"decides `os.environ.get('LARGE')` (benchmark/config.py:{line}), and here it counts as false" in told
    assert "LOUD" not in told


def test_an_operator_that_the_tree_does_not_name_is_asked_for(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", FILES)
    with inside(history.path):
        found = values(
            dict(campaign_handoff(Request(operator="gemm_odd", backend="TRITON", gpu="gfx950"), now=now).data)
        )
    assert found["Kernel source file path"] is None
    assert found["Focused test command"] is None


PRECISE = [
    ("gemm_mxfp8", "pytest tests/ops/test_gemm_fp8.py -v"),  # the only one that names it
    ("gemm_bf16", "pytest tests/ops/test_gemm.py -v"),
    ("gemm_int4", None),
]


@pytest.mark.parametrize(("operator", "command"), PRECISE)
def test_a_test_of_another_precision_is_not_taken(tmp_path: Path, operator: str, command: str | None) -> None:
    """The beginning of the name led to test_gemm.py whatever the number format."""
    history = History.start(tmp_path / "project")
    texts = {"tests/ops/test_gemm.py": "dtype = torch.bfloat16\n", "tests/ops/test_gemm_fp8.py": "MXFP8 = 1\n"}
    history.commit("Start", {**FILES, **texts})
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator=operator, backend="TURBO", gpu="gfx950"), now=now).data)
    assert values(data)["Focused test command"] == command


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("from turbo import ops\n\nops.deep_ep_dispatch(1)\n", None),  # it measures something else
        ("from turbo import ops\n\nops.moe_permute(1)\n", "python benchmark/bench_deep_ep.py"),
        ("def broken(:\n", "python benchmark/bench_deep_ep.py"),  # what cannot be read is not held against it
    ],
)
def test_a_benchmark_that_never_names_the_operator_is_asked_for(
    tmp_path: Path, source: str, command: str | None
) -> None:
    """A project's map named the benchmark of another part of the family."""
    history = History.start(tmp_path / "project")
    history.commit("Start", {**MAPPED, "benchmark/bench_deep_ep.py": source})
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator="moe_permute", backend="HIP", gpu="gfx950"), now=now).data)
    assert values(data)["Focused benchmark command"] == command
    told = next(row["found"] for row in data["prerequisites"] if row["name"] == "Focused benchmark command")
    assert ("never names moe_permute" in told) == (command is None)


@pytest.mark.parametrize(("asked", "expected"), MAPPED_CASES)
def test_the_projects_own_skill_is_read(
    tmp_path: Path, asked: tuple[str, str], expected: dict[str, str | None]
) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", MAPPED)
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator=asked[0], backend=asked[1], gpu="gfx950"), now=now).data)
    found = values(data)
    assert {name: found[name] for name in expected} == expected
    told = {row["name"]: row["found"] for row in data["prerequisites"]}
    assert "copy agent/skills/handoff/quick_test_bench.py" in told["Quick validation harness"]
    assert "benchmark/config.py has the benchmark's own" in told["Target shapes"]
    assert "target_shapes: null  # MISSING" in str(data["draft"])
    assert "nvcc" not in told["Performance metric columns"] + str(data["environment"])


def test_a_reinstall_command_is_given(tmp_path: Path) -> None:
    environment = ask(tmp_path)["environment"]
    assert isinstance(environment, list)
    assert "GPU_ARCHS=gfx950 pip install --no-build-isolation -e . -v" in environment[0]["found"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lang": "HIP"}, "TRITON is written in TRITON, --lang says HIP"),
        ({"metric": "speed"}, "'speed' is not one of"),
        ({"mode": "workspace"}, "but repo is recommended"),
    ],
)
def test_contradictions_are_named(tmp_path: Path, options: dict[str, str], said: str) -> None:
    found = ask(tmp_path, **options)["contradictions"]
    assert isinstance(found, list)
    assert any(said in item for item in found)


def test_a_backend_that_the_project_never_names_contradicts_it(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", FILES)
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator="gemm_fp8", backend="TRITONN", gpu="gfx950"), now=now).data)
    assert data["contradictions"] == ["nothing in the project mentions TRITONN: no document, benchmark or file name"]


def test_a_kernel_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    data = ask(tmp_path, kernel="nope.py")
    missing = data["missing"]
    assert isinstance(missing, list)
    assert missing[0] == "Kernel source file path"


def test_changes_and_notes_of_earlier_work_are_told(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", {**FILES, "agent/gfx950/gemm_fp8_blockwise/tips.md": "Tried tiles of 64.\n"})
    (history.path / "new.py").write_text("")
    with inside(history.path):
        request = Request(operator="gemm_fp8_blockwise", backend="TRITON", gpu="gfx950")
        data = dict(campaign_handoff(request, now=now).data)
    assert values(data)["Notes of earlier work"] == "agent/gfx950/gemm_fp8_blockwise/tips.md"
    assert data["environment"][-1] == {
        "name": "Work tree",
        "value": None,
        "found": "missing: not committed: new.py; `campaign new` needs a clean work tree",
    }


MODES = [
    ("TRITON", False, "repo", None),
    ("CK", False, "repo", "GPU_ARCHS=gfx942 pip install --no-build-isolation -e . -v"),
    ("HIPBLASLT", False, "repo", "GPU_ARCHS=gfx942 pip install --no-build-isolation -e . -v"),
    ("CK", True, "workspace", None),
]


@pytest.mark.parametrize(("backend", "new_kernel", "mode", "rebuild"), MODES)
def test_the_mode_table(backend: str, new_kernel: bool, mode: str, rebuild: str | None) -> None:
    found = recommend_mode(backend, "gfx942", new_kernel=new_kernel)
    assert (found.execution_mode, found.rebuild) == (mode, rebuild)


def test_a_benchmark_of_a_family_is_named_but_not_guessed(tmp_path: Path) -> None:
    rows = ask(tmp_path)["prerequisites"]
    assert isinstance(rows, list)
    found = next(row for row in rows if row["name"] == "Focused benchmark command")
    assert found["value"] is None
    assert "which options of benchmark/bench_gemm_turbo.py measure gemm_fp8_blockwise" in found["found"]


SETUPS = [
    ('setup(name="turbo")\n', "turbo"),
    ('NAME = "turbo"\nExtension(name="kernels")\nsetuptools.setup(name=NAME, ext_modules=[])\n', "turbo"),
    ("setup(name=compute())\n", None),
    ("not python(", None),
]


@pytest.mark.parametrize(("text", "name"), SETUPS)
def test_the_package_name_is_read_not_run(tmp_path: Path, text: str, name: str | None) -> None:
    (tmp_path / "setup.py").write_text(text)
    assert read_package_name(tmp_path) == name


def test_a_shipped_operator_needs_no_commands(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", {"gemm.c": "int forward(void);\n"})
    request = Request(operator="gemm", backend="C", gpu="cpu", options={"kernel": "gemm.c"})
    with inside(history.path):
        answer = campaign_handoff(request, now=now)
    assert not answer.needs_person
    manifest = parse_manifest(answer.data["draft"], where="draft")
    assert (manifest.measuring, manifest.operator) == ("trusted", "gemm")
    environment = {row["name"]: row["value"] for row in answer.data["environment"]}
    if not shutil.which("nvidia-smi") and not shutil.which("rocm-smi"):  # one that is there is told
        assert environment["GPU and architecture"] == "not needed"
    assert "nvcc" not in environment["Compiler"].lower()


def hand_off(project: Path, *more: str) -> int:
    arguments = ["campaign", "handoff", "--op", "gemm", "--backend", "C", "--gpu", "cpu", "--draft", "manifest.yaml"]
    with inside(project):
        return CliRunner().invoke(layline, [*arguments, *more], standalone_mode=False).return_value or 0


def test_the_next_hand_off_replaces_the_draft_and_keeps_what_a_person_wrote(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", {"gemm.c": "int forward(void);\n"})
    draft = history.path / "manifest.yaml"
    hand_off(history.path)
    draft.write_text(draft.read_text().replace("max_iterations: null", "max_iterations: 7") + "weight_share: 0.1\n")
    hand_off(history.path, "--kernel", "gemm.c", "--target", ">= +20 %")
    manifest = parse_manifest(draft.read_text(), where="draft")
    assert (manifest.kernel_source, manifest.performance_target) == ("gemm.c", ">= +20 %")
    assert (manifest.max_iterations, manifest.weight_share) == (7, 0.1)


@pytest.mark.parametrize("foreign", ["name: mine\n", "", b"\xff\xfe"])
def test_a_file_that_is_no_draft_of_ours_is_refused(tmp_path: Path, foreign: str | bytes) -> None:
    place = tmp_path / "manifest.yaml"
    place.write_bytes(foreign if isinstance(foreign, bytes) else foreign.encode())
    with pytest.raises(ConfigError, match="is not a draft of Layline"):
        read_earlier_draft(place)
