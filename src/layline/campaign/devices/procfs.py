"""What the system tells of a worker from outside: its state, its clocks, its memory, its files, its children."""

from __future__ import annotations

import os
from pathlib import Path

_SIGNALS = {"signals blocked": "SigBlk", "signals ignored": "SigIgn", "signals caught": "SigCgt"}
_OF_THREADS = 3 << 31
"""Signals 32 and 33, which the C library catches when the first thread begins."""


def read_state(pid: int) -> str:
    """One letter as in proc(5): `T` stopped, `S` waiting, `Z` dead; empty where there is no such process."""
    try:
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=1)[0].decode()
    except OSError:
        return ""


def read_main_thread_ns(pid: int) -> int:
    """CPU nanoseconds of the thread that serves the calls; others may wait busily."""
    return _read_schedule(pid, pid)[0]


def read_kept_waiting_ns(pid: int) -> int:
    """Nanoseconds the process was ready to run and got no core: of the thread that had to wait longest."""
    return max((_read_schedule(pid, task)[1] for task in list_tasks(pid)), default=0)


def _read_schedule(pid: int, task: int) -> tuple[int, int]:
    """Of one thread: nanoseconds on a core, nanoseconds in the queue for one."""
    try:
        ran, queued, _turns = _read(f"/proc/{pid}/task/{task}/schedstat").split()
    except (OSError, ValueError):
        return 0, 0
    return int(ran), int(queued)


def _read(place: str) -> bytes:
    """A short file of /proc, which comes in one piece: asked several times with every call, so without a file object."""
    file = os.open(place, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def list_tasks(pid: int) -> list[int]:
    """Its threads."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208  hot path
    except FileNotFoundError:
        return []


def count_children(pid: int) -> int:
    """Processes it started that still live."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(len((task / "children").read_text().split()) for task in tasks)
    except OSError:
        return 0


def read_resident_bytes(pid: int) -> int:
    """Memory of its own it occupies now; what it shares is not counted."""
    try:  # counted page by page; the sums in statm lag behind by some hundred KiB
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Anonymous:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    try:
        _size, resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[:3]
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def count_holdings(pid: int) -> dict[str, int]:
    """What it has taken from the system: memory, its parts, threads, files."""
    try:
        files = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208  only the number counts
    except OSError:
        files = 0
    try:
        parts = Path(f"/proc/{pid}/maps").read_bytes().count(b"\n")
    except OSError:
        parts = 0
    return {
        "KiB of memory": read_resident_bytes(pid) >> 10,
        "threads": len(list_tasks(pid)),
        "open files": files,
        "mapped areas": parts,
    }


def read_settings(pid: int) -> dict[str, str]:
    """What a process has set for itself and all that runs in it, as the system tells it; nothing where there is none."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        limits = Path(f"/proc/{pid}/limits").read_text()
        nice = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[16]
        cores = sorted(os.sched_getaffinity(pid))
    except OSError:
        return {}
    told = dict(line.split(":", maxsplit=1) for line in lines if ":" in line)
    signals = {what: int(told[name], 16) & ~_OF_THREADS for what, name in _SIGNALS.items() if name in told}
    return {
        **{what: f"{mask:x}" for what, mask in signals.items()},
        "mask for new files": told.get("Umask", "").strip(),
        "limits": limits,
        "priority": nice,
        "cores": str(cores),
    }


def read_mapped_files(pid: int) -> frozenset[str]:
    """Files whose code is in it."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return frozenset()
    fields = (line.split(maxsplit=5) for line in lines)
    return frozenset(field[5] for field in fields if len(field) == 6 and "x" in field[1])


def find_child(pid: int) -> int | None:
    """The only child of a process, None where both are gone already; kernels without `children` in /proc are
    searched.
    """
    try:
        told = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        told = []
    if told:
        return int(told[0])
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == str(pid):
            return int(place.parent.name)
    return None
