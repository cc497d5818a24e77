"""Hardware counters of a kernel on an accelerator, by `ncu` where it is installed and may count; decides nothing."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.gpu_worker_process import describe_environment
from layline.campaign.measure.build import NotBuilt, build_kernel, workshop
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.counted import Counted

if TYPE_CHECKING:
    from layline.campaign.values.operator import Operator, Pass, Shape, Snapshot

METRICS = {
    "gpu__time_duration.sum": "ns",
    "dram__bytes_read.sum": "read_bytes",
    "dram__bytes_write.sum": "written_bytes",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_percent",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "l2_percent",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_percent",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps_percent",
    "launch__registers_per_thread": "registers",
}
"""What is asked of ncu, and what it is called in the ledger."""
SUMMED = ("ns", "read_bytes", "written_bytes")
LIMIT_S = 75.0
_SCRIPT = Path(__file__).parents[2] / "worker" / "count_torch.py"


def count_kernel(operator: Operator, snapshot: Snapshot, shape: Shape) -> Counted:
    """Counters of one call of every pass; keys are `pass.counter`."""
    if shutil.which("ncu") is None:
        also = "; rocprofv3 is, but Layline does not run it" if shutil.which("rocprofv3") else ""
        return Counted(missing=(f"no counters: ncu is not installed{also}",))
    counters: dict[str, float] = {}
    with workshop() as shop:
        built = build_kernel(snapshot, operator, shop)
        if isinstance(built, NotBuilt):
            return Counted(missing=("no counters: the kernel does not compile now",))
        for step in operator.passes:
            text, said = _run(shop, built.path, operator, step, shape)
            found = parse_ncu(text)
            if not found:
                return Counted(counters=counters, missing=(f"no counters of {step.name}: {explain(said + text)}",))
            counters |= {f"{step.name}.{name}": value for name, value in found.items()}
    return Counted(counters=counters)


def _run(shop: Path, kernel: Path, operator: Operator, step: Pass, shape: Shape) -> tuple[str, str]:
    """What ncu wrote, and what it and the kernel printed."""
    folder = shop / f"count-{step.name}"
    folder.mkdir()
    config, log = folder / "configuration.json", folder / "ncu.csv"
    arguments = [_describe(operator, name, shape) for name in (*step.inputs, *step.outputs)]
    config.write_text(
        json.dumps({"device": find_device(), "kernel": str(kernel), "symbol": step.symbol, "arguments": arguments})
    )
    words = [
        "ncu",
        "--csv",
        "--log-file",
        str(log),
        "--print-units",
        "base",
        "--clock-control",
        "none",
        "--profile-from-start",
        "off",
        "--metrics",
        ",".join(METRICS),
        sys.executable,
        "-I",
        str(_SCRIPT),
        str(config),
    ]
    running = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**describe_environment(folder, folder), "TMPDIR": str(folder)},
        start_new_session=True,
    )
    try:
        said = running.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        said = f"ncu took more than {LIMIT_S:g} s"
    return log.read_text("utf-8", "replace") if log.is_file() else "", said


def _describe(operator: Operator, name: str, shape: Shape) -> list[Any]:
    buffer = operator.buffer(name)
    values = list(shape.groups) if buffer.dtype == "int64" else None
    return [buffer.dtype, list(buffer.extent(shape)), values]


def parse_ncu(text: str) -> dict[str, float]:
    """One line per kernel and metric: times and bytes add up over kernels, shares are weighed by time, registers the
    most.
    """
    kernels: dict[str, dict[str, float]] = {}
    for identity, name, value in _rows(text):
        kernels.setdefault(identity, {})[name] = value
    whole = [one for one in kernels.values() if one.get("ns")]
    total = sum(one["ns"] for one in whole)
    found: dict[str, float] = {"kernels": float(len(whole))} if whole else {}
    for name in METRICS.values():
        having = [one for one in whole if name in one]
        if not having:
            continue
        if name in SUMMED:
            found[name] = sum(one[name] for one in having)
        elif name == "registers":
            found[name] = max(one[name] for one in having)
        else:
            found[name] = sum(one[name] * one["ns"] for one in having) / total
    return found


def _rows(text: str) -> Iterator[tuple[str, str, float]]:
    lines = text.splitlines()
    begin = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        return
    for row in csv.DictReader(lines[begin:]):
        name, value = METRICS.get(row.get("Metric Name") or ""), (row.get("Metric Value") or "").replace(",", "")
        try:
            number = float(value)
        except ValueError:
            continue
        if name is not None:
            yield str(row.get("ID")), name, number


def explain(said: str) -> str:
    """Why ncu gave no figures, in one sentence."""
    if "ERR_NVGPUCTRPERM" in said:
        return "this user may not read the device's counters (ERR_NVGPUCTRPERM)"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("==ERROR==")]
    return (errors or lines or ["ncu said nothing"])[-1][:300]
