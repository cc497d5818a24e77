"""CPU time of everything a worker started: by control group where this machine has one for us, else by process tree.

The worker's own clock decides; this one only says whether somebody else worked for it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where the CPU time of a process and all its descendants is read."""

    pid: int
    group: Path | None
    """A control group of its own; None: the process tree is walked."""
    usage: str = ""

    @property
    def kind(self) -> str:
        return f"control group ({self.usage})" if self.group else "process tree in /proc (10 ms steps)"

    def read_ns(self) -> int:
        """CPU nanoseconds so far, of the living and the dead."""
        if self.group is None:
            return read_tree_ns(self.pid)
        try:
            text = (self.group / self.usage).read_text()
        except OSError:
            return 0
        if self.usage == "cpuacct.usage":
            return int(text)
        return 1000 * next(int(line.split()[1]) for line in text.splitlines() if line.startswith("usage_usec"))

    def close(self) -> None:
        """Remove the group; the kernel needs a moment after the last process has died."""
        for _attempt in range(50):
            if self.group is None or not self.group.exists():
                return
            with suppress(OSError):
                self.group.rmdir()
                return
            time.sleep(0.002)


def open_account(pid: int) -> Account:
    """Put a process, before it has children, into a control group of its own where that is allowed."""
    for usage, parent in _find_parents():
        _remove_stale(parent)
        group = parent / f"layline-{os.getpid()}-{pid}"
        try:
            group.mkdir()
            if (group / usage).exists():
                (group / "cgroup.procs").write_text(str(pid))
                return Account(pid=pid, group=group, usage=usage)
        except OSError:
            pass
        with suppress(OSError):
            group.rmdir()
    return Account(pid=pid, group=None)


def _remove_stale(parent: Path) -> None:
    """Groups of runs that were killed before they could remove them; one that is in use cannot be removed."""
    for group in parent.glob("layline-*-*"):
        if not Path("/proc", group.name.split("-")[1]).exists():
            with suppress(OSError):
                group.rmdir()


def _find_parents() -> list[tuple[str, Path]]:
    """Our own groups: version 1 with its accounting controller, then version 2."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            found += [("cpuacct.usage", GROUPS / name / path.lstrip("/")) for name in (controllers, "cpuacct")]
        elif not controllers:
            found += [("cpu.stat", GROUPS / path.lstrip("/")), ("cpu.stat", GROUPS / "unified" / path.lstrip("/"))]
    return [(usage, parent) for usage, parent in found if (parent / "cgroup.procs").exists()]


def read_tree_ns(pid: int) -> int:
    """CPU nanoseconds of a process and its descendants, those already waited for included, in steps of a tick."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        number = int(place.parent.name)
        children.setdefault(int(fields[1]), []).append(number)
        ticks[number] = sum(int(field) for field in fields[11:15])
    found, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        found += ticks.get(one, 0)
        waiting += children.get(one, [])
    return found * _TICK_NS
