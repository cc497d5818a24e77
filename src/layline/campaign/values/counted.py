"""What a profiler counted while a kernel ran."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Events of the kernel's worker while it was called, and what could not be counted."""

    counters: dict[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
