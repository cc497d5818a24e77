"""What ncu says, read and explained."""

from __future__ import annotations

import pytest

from layline.campaign.measure.gpu.counters import METRICS, explain, parse_ncu

HEAD = '"ID","Process ID","Process Name","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n'


def _line(identity: int, metric: str, value: str) -> str:
    return f'"{identity}","77","python3","_forward","Command line profiler metrics","{metric}","x","{value}"\n'


def test_kernels_of_a_pass_are_added_up() -> None:
    time, _read, _written, dram, *_shares, registers = METRICS
    text = (
        "==PROF== Connected to process 77\n"
        + HEAD
        + "".join(
            _line(*row)
            for row in (
                (0, time, "3,000"),
                (0, dram, "90"),
                (0, registers, "64"),
                (1, time, "1,000"),
                (1, dram, "50"),
                (1, registers, "32"),
                (1, "unknown.metric", "7"),
                (1, "dram__bytes_read.sum", "n/a"),
            )
        )
    )
    assert parse_ncu(text) == {"kernels": 2.0, "ns": 4000.0, "dram_percent": 80.0, "registers": 64.0}


@pytest.mark.parametrize("text", ["", "==ERROR== ERR_NVGPUCTRPERM\n", HEAD])
def test_nothing_counted_is_nothing(text: str) -> None:
    assert parse_ncu(text) == {}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission",
            "this user may not read the device's counters (ERR_NVGPUCTRPERM)",
        ),
        ("Traceback\n==ERROR== Failed to find metric x\nbye", "==ERROR== Failed to find metric x"),
        ("", "ncu said nothing"),
    ],
)
def test_why_there_are_no_counters(said: str, expected: str) -> None:
    assert explain(said) == expected
