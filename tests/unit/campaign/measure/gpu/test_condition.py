"""What the accelerator says of itself, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.campaign.devices.gpu_condition import read_accelerator, read_condition


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called nvidia-smi that prints what the test writes into `answer`."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/answer\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path / "answer"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1980 MHz, 3201 MHz, 374.40 W, 50, 0x0000000000000000\n", "throttled by: none"),
        ("1965 MHz, 3201 MHz, 699.10 W, 61, 0x0000000000000004\n", "throttled by: power cap"),
        (
            "1200 MHz, 3201 MHz, 500.00 W, 88, 0x0000000000000060\n",
            "throttled by: thermal, software, thermal, hardware",
        ),
    ],
)
def test_throttle_reasons_are_named(smi: Path, answer: str, expected: str) -> None:
    smi.write_text(answer)
    assert read_condition("pair 0").endswith(expected)


def test_nothing_readable_is_said_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_condition("pair 0") == "pair 0: clocks not readable here"
    assert read_accelerator({"torch": "2.11"}) == "no accelerator named; torch 2.11"


@pytest.mark.parametrize(("visible", "expected"), [(None, "0"), ("1", "1"), ("3,1", "3")])
def test_the_accelerator_in_use_is_asked_and_not_the_first(
    smi: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, expected: str
) -> None:
    (smi.parent / "nvidia-smi").write_text(
        '#!/bin/sh\nfor word; do case $word in --id=*) echo "${word#--id=}";; esac; done\n'
    )
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert read_accelerator({}) == expected
