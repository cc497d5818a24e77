"""The floating-point mode is read as each processor's C library keeps it; flags that merely stick are no mode."""

from __future__ import annotations

import pytest

from layline.campaign.values.describe import describe_mode
from layline.campaign.worker.serve import unpack_mode

# `fegetenv` of glibc on aarch64, read from a program under qemu: FPCR, then FPSR
ARM = [
    ("0000000000000000", "another mode"),
    ("0000000100000000", "flush-to-zero on"),
    ("0000400000000000", "rounding up"),
    ("0000c00000000000", "rounding towards zero"),
    ("0000000018000000", "another mode"),  # a denormal result: flags alone
]


@pytest.mark.parametrize(("state", "told"), ARM)
def test_a_mode_of_aarch64_is_seen(state: str, told: str) -> None:
    untouched = unpack_mode(bytes.fromhex(ARM[0][0]), "aarch64")
    mode = unpack_mode(bytes.fromhex(state), "aarch64")
    assert (mode != untouched) is (told != "another mode")
    assert describe_mode(untouched, mode, "aarch64") == told


def test_flags_of_x86_are_no_mode() -> None:
    quiet = bytes.fromhex("7f03ffff00000000ffffffff00000000000000000000000000000000801f0000")
    sticky = bytes.fromhex("7f03ffff20000000ffffffff00000000000000000000000000000000a01f0000")
    flushing = bytes.fromhex("7f03ffff00000000ffffffff00000000000000000000000000000000809f0000")
    assert unpack_mode(quiet, "x86_64") == unpack_mode(sticky, "x86_64")
    assert describe_mode(unpack_mode(quiet, "x86_64"), unpack_mode(flushing, "x86_64"), "x86_64") == "flush-to-zero on"
