"""Who else works on the device that is measured, and whether that spoils what was timed. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LOST = 0.05
"""Share of its time a copy of ours may lose: alone it was 1 % in 400 looks on an H200, beside others 23 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A process that is not ours and has the device open."""

    pid: int
    mib: int | None
    """Device memory it holds, where the driver tells."""
    busy: int | None
    """Percent of the last seconds in which it computed; None: the driver does not tell."""

    @property
    def works(self) -> bool:
        """One that holds memory and computes nothing disturbs nobody; one of which nothing is known may."""
        return self.busy is None or self.busy > 0

    def __str__(self) -> str:
        held = "" if self.mib is None else f", {self.mib:,} MiB"
        return f"pid {self.pid}{held}" + ("" if self.busy is None else f", busy {self.busy} %")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was seen of others at one moment."""

    is_listed: bool
    """Whether the driver lists our own process: only then it would list the others."""
    others: tuple[Other, ...] = ()
    lost: float = 0.0
    """Share of the time of a copy of ours in which the device did something else."""


def name_other_work(looks: Sequence[Look]) -> str:
    """Who else worked on the device during these looks, in words; empty for nobody."""
    by_pid: dict[int, Other] = {}
    for other in (one for look in looks for one in look.others if one.works):
        known = by_pid.get(other.pid)
        if known is None or (known.busy or 0) < (other.busy or 0):
            by_pid[other.pid] = other
    if by_pid:
        return "; ".join(str(other) for _pid, other in sorted(by_pid.items()))
    hits = [look.lost for look in looks if look.lost > LOST]
    if not hits:
        return ""
    hidden = "its process is listed nowhere" if looks[-1].is_listed else "its process cannot be seen from here"
    return (
        f"{hidden}; copies of Layline's own kernel lost up to {max(hits):.0%} of their time to it in {len(hits)} of "
        f"{len(looks)} looks"
    )


def tell_alone(looks: Sequence[Look]) -> str:
    """How it is known that nobody else worked there."""
    how = (
        "The driver's list of processes"
        if all(look.is_listed for look in looks)
        else "A copy of Layline's own kernel, timed again and again,"
    )
    worst = max((look.lost for look in looks), default=0.0)
    return (
        f"{how} shows no other work on this GPU in {len(looks)} looks; a copy of Layline's own kernel lost at most "
        f"{worst:.0%} of its time."
    )


def name_idle(looks: Sequence[Look]) -> tuple[str, ...]:
    """Processes that only held memory."""
    idle = {str(other) for look in looks for other in look.others if not other.works}
    return tuple(sorted(f"held memory and computed nothing: {one}" for one in idle))
