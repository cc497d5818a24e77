"""The sanitizer's run: reads outside a buffer are refused with the line, everything else is let through or said to be
weaker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.sanitize import probe_memory_use
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape
from layline.campaign.values.measurement import Plan

SOFTMAX = load_operator("softmax")
START = SOFTMAX.start("naive")


def run(folder: Path, source: str) -> str:
    stage = set_stage(SOFTMAX, (shape("small-3x40", 3, 40),), Plan(), folder, b"7")
    return probe_memory_use(stage, wrap(SOFTMAX, source))


def test_a_right_kernel_passes(tmp_path: Path) -> None:
    assert run(tmp_path, START) == ""


def test_a_read_past_the_end_is_refused_with_its_line(tmp_path: Path) -> None:
    source = START.replace("return 0;", "volatile float surplus = x[R * C]; (void)surplus; return 0;")
    with pytest.raises(Fault) as refused:
        run(tmp_path, source)
    assert refused.value.property == "memory-safe"
    assert "touches memory outside a buffer, 0 bytes after x or y" in refused.value.reason
    assert "in forward at kernel.c:" in refused.value.reason
    assert "READ of size 4" in refused.value.evidence[0]


def test_an_input_that_is_written_and_put_right_again_is_refused(tmp_path: Path) -> None:
    source = START.replace("return 0;", "volatile float *lent = (float *)x; if (R * C) *lent = *lent; return 0;")
    with pytest.raises(Fault) as refused:
        run(tmp_path, source)
    assert refused.value.property == "input-modified"


def test_a_kernel_the_sanitizer_cannot_build_is_said_to_be_unchecked(tmp_path: Path) -> None:
    assert run(tmp_path, "this is not C").startswith("no sanitizer run")


def test_the_driver_knows_buffers_that_are_input_and_output(tmp_path: Path) -> None:
    step = replace(SOFTMAX.passes[0], outputs=("x",))
    assert step.buffers == ("x",)


def test_what_shows_only_when_a_buffer_is_freed_names_the_kernel_and_not_our_program(tmp_path: Path) -> None:
    source = START.replace(
        "return 0;", "for (int at = 1; at <= 4; at++) { volatile long *head = (long *)y - at; *head = 0; } return 0;"
    )
    source = source.replace("int forward(", "__attribute__((no_sanitize_address)) int forward(")
    with pytest.raises(Fault) as refused:
        run(tmp_path, source)
    assert "overwrites the allocator's notes beside a buffer" in refused.value.reason
    assert "layline_driver" not in " ".join((refused.value.reason, *refused.value.evidence))
