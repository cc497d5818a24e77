"""Read what machine this is and how busy it is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from layline.campaign.model import Environment
from layline.campaign.sandbox import STRONG


def read_environment() -> Environment:
    """The machine now; what the sandbox lacks is added once a worker has tried."""
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    return Environment(
        cpu=_read_cpu(),
        cores=cores,
        governor=_read_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        load_before=load,
        load_after=load,
        kernel=platform.release(),
        python=platform.python_version(),
        sandbox=STRONG,
        weaker=(),
        is_contended=load > cores / 2,
    )


def _read_cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _read_line(path: Path) -> str | None:
    try:
        return path.read_text("utf-8").strip()
    except OSError:
        return None
