"""Which processor this is: its name for people; machines of one name may be compared."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

_DESIGNERS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x56: "Marvell",
    0x61: "Apple",
    0x69: "Intel",
    0x6D: "Microsoft",
    0xC0: "Ampere",
}
_PARTS = {
    (0x41, 0xD03): "Cortex-A53",
    (0x41, 0xD04): "Cortex-A35",
    (0x41, 0xD05): "Cortex-A55",
    (0x41, 0xD07): "Cortex-A57",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD09): "Cortex-A73",
    (0x41, 0xD0A): "Cortex-A75",
    (0x41, 0xD0B): "Cortex-A76",
    (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD0D): "Cortex-A77",
    (0x41, 0xD40): "Neoverse-V1",
    (0x41, 0xD41): "Cortex-A78",
    (0x41, 0xD44): "Cortex-X1",
    (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4A): "Neoverse-E1",
    (0x41, 0xD4F): "Neoverse-V2",
    (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3",
    (0x43, 0x0AF): "ThunderX2",
    (0x46, 0x001): "A64FX",
    (0x48, 0xD01): "Kunpeng-920",
    (0x4E, 0x004): "Carmel",
    (0x61, 0x022): "M1 Icestorm",
    (0x61, 0x023): "M1 Firestorm",
    (0x61, 0x032): "M2 Blizzard",
    (0x61, 0x033): "M2 Avalanche",
    (0x6D, 0xD49): "Azure-Cobalt-100",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1a",
}
"""By implementer and part number, as the architecture's main identification register has them."""


def name_processor() -> str:
    """The processor's name; ARM's kernels tell numbers only, so they are looked up, and the board is asked last."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    return parse_name(lines) or _ask_lscpu() or _read_board() or platform.processor() or platform.machine()


def parse_name(lines: Iterable[str]) -> str:
    """The name in a text like /proc/cpuinfo; different cores of one chip joined by a plus; empty where it tells
    none.
    """
    fields = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in lines)]
    named = next((value for key, value in fields if key == "model name" and value), "")
    if named:
        return named
    designers = [value for key, value in fields if key == "CPU implementer"]
    parts = [value for key, value in fields if key == "CPU part"]
    names = (_name_part(*pair) for pair in zip(designers, parts, strict=False))
    return " + ".join(dict.fromkeys(name for name in names if name))


def _name_part(designer: str, part: str) -> str:
    try:
        numbers = int(designer, 16), int(part, 16)
    except ValueError:
        return ""
    made_by = _DESIGNERS.get(numbers[0], f"implementer {designer}")
    return f"{made_by} {_PARTS.get(numbers, f'part {part}')}"


def _ask_lscpu() -> str:
    program = shutil.which("lscpu")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            (program,),
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    fields = (line.partition(":") for line in done.stdout.splitlines())
    return next((value.strip() for key, _, value in fields if key.strip() == "Model name" and value.strip() != "-"), "")


def _read_board() -> str:
    try:
        return Path("/proc/device-tree/model").read_text("utf-8", "replace").strip("\0\n ")
    except OSError:
        return ""
