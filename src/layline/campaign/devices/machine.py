"""Read what machine this is and how busy it is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from layline.campaign.devices.sandbox import STRONG
from layline.campaign.values.measurement import Environment
from layline.executors.processor import name_processor


def read_environment() -> Environment:
    """The machine now; what the sandbox lacks is added once a worker has tried."""
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    return Environment(
        cpu=name_processor(),
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


def _read_line(path: Path) -> str | None:
    try:
        return path.read_text("utf-8").strip()
    except OSError:
        return None
