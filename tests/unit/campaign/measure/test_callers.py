"""The program that calls a kernel as others would."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from layline.campaign.measure.callers import MANNERS, write_caller
from layline.campaign.operators import load_operator

KERNEL = "static __thread char room[{kib} << 10];\nint {symbol}() {{ room[0] = 1; return !room[0]; }}\n"


@pytest.mark.parametrize("kib", [1, 608])
def test_variables_of_a_thread_do_not_count_as_its_stack(tmp_path: Path, kib: int) -> None:
    operator = load_operator("softmax")
    (tmp_path / "calling.c").write_text(write_caller(operator))
    (tmp_path / "kernel.c").write_text("".join(KERNEL.format(kib=kib, symbol=one.symbol) for one in operator.passes))
    build = ["cc", "-w", "-o", "calling", "calling.c", "kernel.c", "-lpthread", "-lm"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=60)
    manner, sizes = [name for name, _told in MANNERS].index("thread"), len(operator.shapes[0].sizes)
    call = struct.pack(f"<{6 + sizes}q", 0, 0, sizes, 0, manner, -1, *[1] * sizes)
    (tmp_path / "calls").write_bytes(call)
    subprocess.run(["./calling"], cwd=tmp_path, check=True, timeout=60)
    assert struct.unpack("<q", (tmp_path / "answers").read_bytes()[:8]) == (0,)
