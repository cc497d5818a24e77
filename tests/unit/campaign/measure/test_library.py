"""What a library does to the program it is loaded into."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layline.campaign.measure.library import find_library_faults, read_functions, read_system_names

KERNEL = "int forward(float *x, long n) { return 0; }\n"
CASES = [
    ("", []),
    ("static float expf(float x) { return x; }\nfloat use(float x) { return expf(x); }\n", []),
    ("float vexpf(float x) { return x; }\n", []),
    ('__attribute__((visibility("hidden"))) float expf(float x) { return x; }\n', []),
    ("float expf(float x) { return x; }\n", ["The library defines expf for the whole program"]),
    ("void *malloc(unsigned long n) { return 0; }\n", ["The library defines malloc for the whole program"]),
    (
        (
            "int each(int n, void (*f)(int)) { f(n); return n; }\n"
            "int nested(int n) { volatile int seen = 0; void note(int i) { seen += i; } each(n, note); return seen; }\n"
        ),
        ["Loading the library makes the stacks of the whole program executable"],
    ),
]


@pytest.mark.parametrize(("more", "told"), CASES)
def test_names_and_stacks_of_the_whole_program(tmp_path: Path, more: str, told: list[str]) -> None:
    (tmp_path / "kernel.c").write_text(KERNEL + more)
    build = ["cc", "-O0", "-fno-builtin", "-w", "-shared", "-fPIC", "-o", "kernel.so", "kernel.c"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=60)
    found = [fault.reason for fault in find_library_faults(tmp_path / "kernel.so")]
    assert [reason.split(":")[0].rstrip(".") for reason in found] == told
    assert "forward" in read_functions((tmp_path / "kernel.so").read_bytes())


def test_the_names_of_the_system_are_known() -> None:
    assert {"malloc", "free", "expf"} <= read_system_names()


@pytest.mark.parametrize("data", [b"", b"MZ", b"\x7fELF\x02\x01" + bytes(10), b"\x7fELF\x02\x01" + b"\xff" * 80])
def test_what_is_no_library_is_passed_over(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "kernel.so").write_bytes(data)
    assert list(find_library_faults(tmp_path / "kernel.so")) == []
