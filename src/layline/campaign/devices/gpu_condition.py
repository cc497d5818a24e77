"""What the accelerator says of itself: product, driver, clocks, power, temperature, throttle reasons."""

from __future__ import annotations

import os
import shutil
import subprocess

from layline.campaign.devices.gpu_lock import VISIBLE, name_first

_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "clocks_event_reasons.active")
_REASONS = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal, software",
    0x40: "thermal, hardware",
    0x80: "power brake",
    0x100: "display clocks",
}


def read_condition(where: str) -> str:
    """One line: clocks, power, temperature and throttle reasons now."""
    answer = _query(_FIELDS)
    if answer is None:
        return f"{where}: clocks not readable here"
    words = [word.strip() for word in answer.split(",")]
    try:
        mask = int(words[4], 16)
    except (IndexError, ValueError):
        return f"{where}: {answer}"
    reasons = [name for bit, name in _REASONS.items() if mask & bit] or ["none"]
    return f"{where}: SM {words[0]}, memory {words[1]}, {words[2]}, {words[3]} °C, throttled by: {', '.join(reasons)}"


def read_accelerator(versions: dict[str, str]) -> str:
    """Product, driver and libraries, in one line."""
    answer = _query(("name", "driver_version", "memory.total")) or "no accelerator named"
    return "; ".join([answer, *(f"{name} {version}" for name, version in sorted(versions.items()))])


def _query(fields: tuple[str, ...]) -> str | None:
    """What the driver says of the accelerator that this process uses, which need not be the machine's first."""
    which = name_first(os.environ.get(VISIBLE)) if shutil.which("nvidia-smi") is not None else None
    if which is None:
        return None
    command = ("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader", f"--id={which}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None
