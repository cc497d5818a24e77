"""The compiler's words for this processor."""

from __future__ import annotations

import platform

ARM = ("aarch64", "arm64")


def native_flag(machine: str | None = None) -> str:
    """What makes the compiler use all this processor has: ARM's compilers tune only when the processor is named."""
    return "-mcpu=native" if (machine or platform.machine()) in ARM else "-march=native"
