"""Looks for other work on the accelerator: the driver's list of processes and what they compute, and a copy of ours.

A container may hide the processes of others. Then a copy of known work, timed by the device's own events, tells: who
shares the device with others waits for them in the middle of it.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from layline.campaign.devices.gpu_memory import flush_cache
from layline.campaign.values.company import Look, Other
from layline.campaign.values.statistics import quantile

LIBRARY = "libnvidia-ml.so.1"
OWN: set[int] = set()
"""Every worker this process started. Its children's children are not in it: no kernel may compute in
another process.
"""
SINCE_S = 2.0
"""How far back a look asks what processes computed: the driver takes about one sample a second."""
COPIES = 48
"""About six milliseconds on today's devices, longer than the slice of time a device gives to one process."""
LEAD = 1_000_000
"""Turns of the device's empty loop in which all copies are launched."""
_FULL = 7
_MOST = 256


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class _Sample(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("at_us", ctypes.c_ulonglong),
        ("computing", ctypes.c_uint),
        ("copying", ctypes.c_uint),
        ("encoding", ctypes.c_uint),
        ("decoding", ctypes.c_uint),
    )


class Driver:
    """The driver's own library, asked for one device."""

    def __init__(self, library: str, uuid: str) -> None:
        """Raises OSError where there is none, or it does not know the device."""
        self._library = ctypes.CDLL(library)
        self._device = ctypes.c_void_p()
        if self._library.nvmlInit_v2():
            raise OSError(f"{library} cannot be used")
        name = uuid.encode()
        if self._library.nvmlDeviceGetHandleByUUID(name, ctypes.byref(self._device)):
            raise OSError(f"{library} does not know {uuid}")

    def list_processes(self) -> dict[int, int | None] | None:
        """Every process that computes there, by the MiB it holds; None where the driver does not tell."""
        found, count = (_Process * _MOST)(), ctypes.c_uint(_MOST)
        try:
            failed = self._library.nvmlDeviceGetComputeRunningProcesses_v3(self._device, ctypes.byref(count), found)
        except AttributeError:  # an old driver
            return None
        if failed and failed != _FULL:
            return None
        unknown = (1 << 64) - 1
        listed = found[: min(count.value, _MOST)]
        return {one.pid: None if one.memory == unknown else one.memory >> 20 for one in listed}

    def read_busy(self, since_us: int) -> dict[int, int] | None:
        """Most percent of the device each process had in samples since then; None where the driver does not tell."""
        found, count = (_Sample * _MOST)(), ctypes.c_uint(_MOST)
        moment = ctypes.c_ulonglong(since_us)
        failed = self._library.nvmlDeviceGetProcessUtilization(self._device, found, ctypes.byref(count), moment)
        nothing = 6
        if failed == nothing:
            return {}
        if failed:
            return None
        busy: dict[int, int] = {}
        for one in found[: min(count.value, _MOST)]:
            if one.at_us > since_us:
                busy[one.pid] = max(busy.get(one.pid, 0), one.computing)
        return busy


def find_others(
    processes: Mapping[int, int | None] | None, busy: Mapping[int, int] | None, own: Collection[int]
) -> tuple[Other, ...]:
    """Who is there and not ours, from the driver's two answers."""
    listed = dict(processes or {})
    for pid, percent in (busy or {}).items():
        if percent:
            listed.setdefault(pid, None)  # one that worked and has gone
    return tuple(
        Other(pid=pid, mib=mib, busy=None if busy is None else busy.get(pid, 0))
        for pid, mib in sorted(listed.items())
        if pid not in own
    )


def look_around(device: str, since_s: float = SINCE_S) -> Look:
    """Who else is on the device now, and what a copy of ours loses to them."""
    lost = time_copies(device)
    driver = _open_driver(device)
    processes = driver.list_processes() if driver else None
    if driver is None or processes is None or os.getpid() not in processes:
        return Look(is_listed=False, lost=lost)
    busy = driver.read_busy(int((time.time() - since_s) * 1e6))
    return Look(is_listed=True, others=find_others(processes, busy, {os.getpid(), *OWN}), lost=lost)


def time_copies(device: str) -> float:
    """Share of the time of a row of equal copies in which the device did something else."""
    import torch

    marks = [torch.cuda.Event(enable_timing=True) for _ in range(COPIES + 1)]
    torch.cuda._sleep(LEAD)
    marks[0].record()
    for mark in marks[1:]:
        flush_cache(device)
        mark.record()
    torch.cuda.synchronize(device)
    times = sorted(float(before.elapsed_time(after)) for before, after in pairwise(marks))
    return max(0.0, 1.0 - len(times) * quantile(times, 0.1) / sum(times))


@cache
def _open_driver(device: str) -> Driver | None:
    import torch

    named: Any = torch.cuda.get_device_properties(device)
    try:
        return Driver(LIBRARY, f"GPU-{str(named.uuid).removeprefix('GPU-')}")
    except (OSError, AttributeError):
        return None
