"""What a worker of the processor is told at its start: the kernel, its entry points, the memory, its sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from layline.campaign.devices.sandbox import MEMORY_BYTES, Started
from layline.campaign.devices.shared_memory import HIDDEN, Arena
from layline.campaign.values.operator import Operator

FORMATS = {
    "float32": "f",
    "float64": "d",
    "int64": "q",
    "int32": "i",
    "int16": "h",
    "int8": "b",
    "uint8": "B",
    "bool": "B",
}
"""Element types as Python's memory views name them; a truth value is a byte there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """What a worker is to load."""

    path: Path
    operator: Operator
    threads: int = 1
    timeout_s: float = 20.0
    masked: tuple[str, ...] = ()
    """Files that shall be empty in its sandbox."""
    stale: int = 0
    """What its allocator fills memory with that it hands out; 0: nothing."""
    mode: int | None = None
    """The floating-point mode an untouched worker has; None where it is not known yet."""


def describe_worker(kernel: Kernel, arena: Arena, started: Started) -> dict[str, object]:
    """The worker's first message."""
    operator = kernel.operator
    is_python = operator.language == "python"
    entries = []
    for step in operator.passes:
        names = step.buffers
        sizes = len(operator.shapes[0].sizes)
        width = len(names) * (2 if is_python else 1) + sizes
        formats = [FORMATS[operator.buffer(name).dtype] for name in names]
        entry = {"symbol": step.symbol, "buffers": len(names), "sizes": sizes, "numbers": width, "formats": formats}
        entries.append(entry)
    return {
        "language": operator.language,
        "kernel": str(kernel.path),
        "entries": entries,
        "arena_bytes": arena.size + HIDDEN,
        "hidden_bytes": HIDDEN,
        "confine": started.confine,
        "root": started.root,
        "is_confined": True,
        "masked": list(kernel.masked),
        "stale": kernel.stale,
        "memory_bytes": MEMORY_BYTES + arena.size,
    }
