"""Tests and benchmarks of a hand-off lead to the kernel that is to be edited; where none does, that is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from campaign_project import inside, now
from histories import History
from layline.app.campaign_handoff import campaign_handoff
from layline.campaign.handoff_request import Request
from layline.campaign.ledger.state import Phase
from layline.campaign.loop.finish import choose_suite
from layline.campaign.values.manifest import parse_manifest, render_manifest

if TYPE_CHECKING:
    from layline.campaign.ledger.state import State

SKILL = """\
| Operator family | Triton (`triton/`) | Tests | Bench |
|---|---|---|---|
| Attention | `attention/attention_kernel.py` | `ops/test_attention.py` | `bench_attention.py` |
| MoE permute / router | `moe/` | `ops/test_moe_permute.py`, `ops/test_moe_router.py` | — |

Choose by `TURBO_ATTENTION_BACKEND`. Acceptance: `pytest tests/ -v`; `pytest tests/ --dist-only`, `pytest tests/ -k a`.
"""
OPS = """\
import os

from turbo.triton.attention.attention_kernel import launch
from turbo.triton.moe.route import route


def wide(x):
    return other(os.environ.get("TURBO_ATTN_BACKEND"))


def narrow(x):
    return launch(x)


def moe_router(x):
    return route(x)
"""
TESTS = """\
from turbo import ops


def test_attention_16bit():
    ops.wide(1)


def test_attention_fp8():
    ops.narrow(1)
"""
BENCH = """\
import argparse

from turbo import ops
from somewhere import clock


def profile_attention(batch, length, use_fp8):
    if use_fp8:
        run = lambda: ops.narrow(batch)
    else:
        run = lambda: ops.wide(batch)
    ms, correct = clock(run)
    return ms, batch / ms, correct


def main(fp8):
    for batch in (1, 2):
        ms, rate, correct = profile_attention(batch, 64, fp8)
        print({"Check": "PASS" if correct else "FAIL", "Forward Time (ms)": ms, "Forward TFLOPS": rate})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fp8", action="store_true")
    main(parser.parse_args().fp8)
"""
FILES: dict[str, str | bytes | None] = {
    "agent/SKILL.md": SKILL,
    "turbo/__init__.py": "",
    "turbo/ops.py": OPS,
    "turbo/triton/attention/attention_kernel.py": "def launch(x):\n    return x\n",
    "turbo/triton/moe/permute_tokens.py": "def permute(x):\n    return x\n",
    "turbo/triton/moe/route.py": "def route(x):\n    return x\n",
    "tests/ops/test_attention.py": TESTS,
    "tests/ops/test_moe_permute.py": "import torch\n\n\ndef test_it():\n    torch.ops.compiled.permute(1)\n",
    "tests/ops/test_moe_router.py": "from turbo import ops\n\n\ndef test_it():\n    ops.moe_router(1)\n",
    "benchmark/bench_attention.py": BENCH,
    "benchmark/suite.yaml": "tasks:\n  - {script: bench_attention.py}\n  - {script: bench_attention.py, args: [--fp8]}\n",
}


def ask(tmp_path: Path, operator: str) -> tuple[dict[str, str | None], dict[str, str], list[str]]:
    history = History.start(tmp_path / "project")
    history.commit("Start", FILES)
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator=operator, backend="TRITON", gpu="gfx950"), now=now).data)
    rows = data["prerequisites"]
    return (
        {row["name"]: row["value"] for row in rows},
        {row["name"]: row["found"] for row in rows},
        data["contradictions"],
    )


def test_tests_and_options_that_lead_to_the_kernel_are_chosen(tmp_path: Path) -> None:
    """By its default the benchmark measures another kernel, and the skill's variable is one that no code reads."""
    values, told, _contradictions = ask(tmp_path, "attention")
    assert values["Focused test command"] == 'pytest tests/ops/test_attention.py -v -k "fp8"'
    assert values["Focused benchmark command"] == "python benchmark/bench_attention.py --fp8"
    assert (
        "the only documented command for it that leads to turbo/triton/attention/attention_kernel.py"
        in told["Focused benchmark command"]
    )
    assert "no code that it runs reads the variable of a backend" in told["Focused benchmark command"]
    assert values["Target shapes"] == "2 shapes"
    assert values["Acceptance suite"] == "pytest tests/ -v"


def test_an_operator_whose_tests_lead_to_no_kernel_of_the_backend_contradicts_it(tmp_path: Path) -> None:
    values, told, contradictions = ask(tmp_path, "moe_permute")
    assert (values["Kernel source file path"], values["Focused test command"]) == (None, None)
    assert "tests/ops/test_moe_permute.py leads to none of them" in told["Kernel source file path"]
    assert contradictions == [
        "the backend is TRITON, but tests/ops/test_moe_permute.py leads to no TRITON kernel: moe_permute may have none"
    ]


def test_of_several_files_in_the_map_the_one_that_the_tests_lead_to_is_the_kernel(tmp_path: Path) -> None:
    values, _told, contradictions = ask(tmp_path, "moe_router")
    assert values["Kernel source file path"] == "turbo/triton/moe/route.py"
    assert values["Focused test command"] == "pytest tests/ops/test_moe_router.py -v"
    assert contradictions == []


def test_the_suite_of_the_draft_is_what_accept_runs(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", FILES)
    request = Request(operator="attention", backend="TRITON", gpu="gfx950")
    with inside(history.path):
        manifest = parse_manifest(campaign_handoff(request, now=now).data["draft"], where="draft")
    assert manifest.suite_command == "pytest tests/ -v"
    assert "suite_command" in render_manifest(manifest)
    assert "suite_command" not in render_manifest(replace(manifest, suite_command=None))
    state = SimpleNamespace(manifest=manifest, phase=Phase.REPORTED, acceptance={})
    assert choose_suite(None, cast("State", state), no_suite=False) == "pytest tests/ -v"


NAMED = """\
import re

import torch


def find_sizes():
    name = torch.cuda.get_device_name(0)
    found = re.search(r"(MI\\d+X)", name)
    return {"MI350X": [1, 2, 8], "MI355X": [1, 2, 8], "MI300X": [1, 4, 5, 6]}.get(found.group(1) if found else "", [1, 2])
"""


@pytest.mark.parametrize(
    ("gpu", "count", "said"),
    [
        ("gfx950", "3 shapes", "as on MI350X (docs/a.md:1);"),
        ("gfx942", "4 shapes", "as on MI300X (docs/a.md:1); on MI325X it measures others"),
        ("gfx90a", "2 shapes", ""),  # no page says which device that is: the name stays unknown
    ],
)
def test_shapes_are_those_of_the_device_that_a_document_names(tmp_path: Path, gpu: str, count: str, said: str) -> None:
    history = History.start(tmp_path / "project")
    page = "Build for `gfx942` (MI300X/MI325X) or `gfx950` (MI350X / MI355X).\n"
    bench = BENCH.replace("(1, 2)", "find_sizes()").replace(
        "from somewhere", "from sizes import find_sizes\nfrom somewhere"
    )
    history.commit(
        "Start", {**FILES, "docs/a.md": page, "benchmark/bench_attention.py": bench, "benchmark/sizes.py": NAMED}
    )
    with inside(history.path):
        data = dict(campaign_handoff(Request(operator="attention", backend="TRITON", gpu=gpu), now=now).data)
    row = next(one for one in data["prerequisites"] if one["name"] == "Target shapes")
    assert (row["value"], said in row["found"]) == (count, True)


def test_the_suite_is_found_where_several_tests_may_be_the_operators(tmp_path: Path) -> None:
    values, _told, _contradictions = ask(tmp_path, "moe_dispatch")
    assert (values["Focused test command"], values["Acceptance suite"]) == (None, "pytest tests/ -v")
