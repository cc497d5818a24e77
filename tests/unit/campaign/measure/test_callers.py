"""The program that calls a kernel as others would."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from layline.campaign.measure.caller_program import write_caller
from layline.campaign.measure.callers import LEFT, MANNERS
from layline.campaign.operators import load_operator

KERNEL = "static __thread char room[{kib} << 10];\nint {symbol}() {{ room[0] = 1; return !room[0]; }}\n"


def _call(folder: Path, kernel: str, name: str) -> tuple[int, int]:
    """What the program says of one call of the first pass, made in that manner: status, and what was left behind."""
    operator = load_operator("softmax")
    (folder / "calling.c").write_text(write_caller(operator))
    (folder / "kernel.c").write_text(kernel)
    build = ["cc", "-O1", "-w", "-o", "calling", "calling.c", "kernel.c", "-lpthread", "-lm"]
    subprocess.run(build, cwd=folder, check=True, timeout=60)
    manner, sizes = [one for one, _told in MANNERS].index(name), len(operator.shapes[0].sizes)
    (folder / "calls").write_bytes(struct.pack(f"<{6 + sizes}q", 0, 0, sizes, 0, manner, -1, *[1] * sizes))
    subprocess.run(["./calling"], cwd=folder, check=True, timeout=60)
    status, left = struct.unpack("<2q", (folder / "answers").read_bytes()[:16])
    return status, left


@pytest.mark.parametrize("kib", [1, 608])
def test_variables_of_a_thread_do_not_count_as_its_stack(tmp_path: Path, kib: int) -> None:
    symbols = [one.symbol for one in load_operator("softmax").passes]
    kernel = "".join(KERNEL.format(kib=kib, symbol=symbol) for symbol in symbols)
    assert _call(tmp_path, kernel, "thread")[0] == 0


REGISTERS = {
    "aarch64": ("fmov d9, xzr", "fmov d15, xzr", "mov x27, #5"),
    "x86_64": ("mov $7, %r12", "mov $7, %r15", "std"),
}
LEFT_BEHIND = [
    ("", 0),
    ("free(malloc(100 << 20)); rand_r(&(unsigned){3});", 0),
    ("feclearexcept(FE_ALL_EXCEPT);", 8),
    ("fenv_t all; fegetenv(&all); fesetenv(FE_DFL_ENV);", 8),
    ("srand(1);", 16),
    ("srand48(1);", 16),
    (
        "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 128 << 10); pthread_setattr_default_np(&a);",
        128,
    ),
    ("rand();", 16),
    ("mallopt(M_MMAP_MAX, 0);", 32),
    ("mallopt(M_MMAP_THRESHOLD, 1 << 30);", 32),
    ('chdir("/");', 64),
    *((f'__asm__ volatile("{one}");', 4) for one in REGISTERS.get(os.uname().machine, ())),
]


@pytest.mark.parametrize(("text", "left"), LEFT_BEHIND)
def test_what_belongs_to_the_caller_is_as_it_was(tmp_path: Path, text: str, left: int) -> None:
    includes = "#define _GNU_SOURCE\n" + "".join(
        f"#include <{name}.h>\n" for name in ("fenv", "malloc", "pthread", "stdlib", "unistd")
    )
    kernel = "".join(f"int {one.symbol}() {{ {text} return 0; }}\n" for one in load_operator("softmax").passes)
    assert _call(tmp_path, includes + kernel, "line") == (0, left)
    assert left == 0 or left in LEFT
