"""Hardware counters of a kernel, where this machine has a profiler that may count them; what is missing is said."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.build import NotBuilt, build_kernel, workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.crew import open_arm
from layline.campaign.measure.gpu.counters import count_kernel
from layline.campaign.measure.inputs import draw
from layline.campaign.values.counted import Counted
from layline.campaign.values.measurement import Arm, Plan

if TYPE_CHECKING:
    from layline.campaign.values.operator import Operator, Shape, Snapshot

EVENTS = ("cycles", "instructions", "cache-misses", "branch-misses")
SECONDS = 0.5


def measure_counters(operator: Operator, snapshot: Snapshot, shape: Shape) -> Counted:
    """Counters over half a second of calls on one shape; on an accelerator those of one call, by its own profiler."""
    if operator.is_on_device:
        return count_kernel(operator, snapshot, shape)
    if shutil.which("perf") is None:
        return Counted(missing=("no counters: `perf` is not installed",))
    with workshop() as shop:
        built = build_kernel(snapshot, operator, shop)
        if isinstance(built, NotBuilt):
            return Counted(missing=("no counters: the kernel does not compile now",))
        stage = set_stage(operator, (shape,), Plan(), shop, secrets.token_bytes(16))
        try:
            with open_arm(stage, Arm.BEST, built).loaded() as arm:
                given = draw(stage, shape, count=2)
                with tempfile.NamedTemporaryFile() as out:
                    counting = _start_counting(arm.worker.pid, out.name)
                    end = time.monotonic() + SECONDS
                    while time.monotonic() < end:
                        for step in operator.passes:
                            arm.run(step, given)
                    _stop_counting(counting)
                    text = Path(out.name).read_text("utf-8", "replace")
        except Fault as fault:
            return Counted(missing=(f"no counters: {fault.reason}",))
    return parse_counters(text)


def parse_counters(text: str) -> Counted:
    """The output of `perf stat -x,`: value, unit, event."""
    counters: dict[str, float] = {}
    for line in text.splitlines():
        words = line.split(",")
        if len(words) > 2 and words[0].replace(".", "", 1).isdigit():
            counters[words[2].removesuffix(":u")] = float(words[0])
    absent = [event for event in EVENTS if event not in counters]
    if not absent:
        return Counted(counters=counters)
    why = (
        "the processor's counters are not available on this machine"
        if "<not supported>" in text
        else "perf is not allowed to count here"
    )
    return Counted(counters=counters, missing=(f"no {', '.join(absent)}: {why}",))


def _start_counting(pid: int, out: str) -> subprocess.Popen[bytes]:
    words = ["perf", "stat", "-x,", "-o", out, "-e", ",".join(EVENTS), "-p", str(pid)]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.1)  # attaching takes a moment
    return process


def _stop_counting(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)  # perf writes its figures when it is interrupted
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
