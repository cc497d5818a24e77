"""The processor's name, the compiler's words for it, and a roof that a kernel cannot be above."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from layline.campaign.devices import roof as ceilings
from layline.campaign.devices.processor import native_flag
from layline.campaign.devices.roof import measure_ceilings, say_share
from layline.campaign.ledger.state import State
from layline.campaign.operators import load_operator
from layline.campaign.proposers import bounds
from layline.campaign.proposers.bounds import BottleneckKind, classify, find_bounds
from layline.executors.processor import name_processor, parse_name

GRAVITON = "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n"
NAMES = [
    ("model name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\n", "Intel(R) Xeon(R) Processor @ 2.50GHz"),
    (GRAVITON * 2, "ARM Neoverse-N1"),
    (
        "CPU implementer : 0x61\nCPU part : 0x022\nCPU implementer : 0x61\nCPU part : 0x023\n",
        "Apple M1 Icestorm + Apple M1 Firestorm",
    ),
    ("CPU implementer : 0x41\nCPU part : 0xfff\n", "ARM part 0xfff"),
    ("CPU implementer : 0x99\nCPU part : 0x001\n", "implementer 0x99 part 0x001"),
    ("processor : 0\n", ""),
]


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_a_processor_is_named(text: str, name: str) -> None:
    assert parse_name(text.splitlines()) == name


def test_this_processor_has_a_name() -> None:
    assert name_processor() not in ("", "aarch64", "x86_64")


@pytest.mark.parametrize(("machine", "flag"), [("x86_64", "-march=native"), ("aarch64", "-mcpu=native")])
def test_the_compiler_is_told_to_use_all_of_it(machine: str, flag: str) -> None:
    assert native_flag(machine) == flag


def test_the_roof_is_measured() -> None:
    found = measure_ceilings()
    assert found is not None
    assert found.flops_per_s > 1e9
    assert found.bytes_per_s > 1e8


def test_a_share_above_the_roof_is_no_percentage() -> None:
    assert say_share(0.8) == "80%"
    assert say_share(1.001, 1) == "100.1%"
    assert "roof is wrong" in say_share(2.68)
    assert "%" not in say_share(2.68)


def test_a_kernel_above_the_roof_shows_that_the_roof_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = load_operator("gemm")
    label = operator.shapes[0].label
    monkeypatch.setattr(bounds, "_best_times", lambda _state: ({label: 0.01}, 0.0))
    state = cast("State", SimpleNamespace(analysis={"flops_per_s": 1e9, "bytes_per_s": 1e9}))
    (bound,) = find_bounds(state, operator)
    assert bound.roof_share is None
    assert bound.kind is not BottleneckKind.ROOF
    assert "the roof is wrong" in bound.reading
    assert any("the measured roof is wrong" in said for said in classify(state, operator, (bound,)).evidence)


@pytest.mark.skipif(shutil.which("aarch64-linux-gnu-gcc") is None, reason="no compiler for aarch64 here")
def test_the_roof_of_aarch64_is_arithmetic_alone(tmp_path: Path) -> None:
    """Every accumulator has a register: between two multiply-adds nothing is moved, loaded or stored."""
    (tmp_path / "roof.c").write_text(ceilings.SOURCE)
    command = [
        "aarch64-linux-gnu-gcc",
        "-O2",
        "-mcpu=neoverse-n1",
        "-S",
        "-o",
        str(tmp_path / "roof.s"),
        str(tmp_path / "roof.c"),
    ]
    subprocess.run(command, check=True, timeout=60)
    lines = [line.split()[0] for line in (tmp_path / "roof.s").read_text().splitlines() if line.startswith("\t")]
    first = lines.index("fmla")
    assert lines[first : first + 24] == ["fmla"] * 24
