"""`layline campaign status --live`: what a campaign that is being measured says of itself, seen from another terminal."""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.prose import count
from layline.source.cache import cache_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAUSE_S = 0.5
GAIN = "so far: "
"""How a measuring run begins to tell of the gain it has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The last that was said."""

    pid: int
    since: float
    said: str = ""
    gain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a run of many rounds may still do."""

    pid: int
    until: float | None = None
    """Seconds since the epoch."""
    last_round: int | None = None


def find_place(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
    return cache_directory() / "live" / f"{name}.json"


@contextmanager
def tell_live(
    folder: Path, progress: Callable[[str], None], *, clock: Callable[[], float] = time.time
) -> Iterator[Callable[[str], None]]:
    """A progress that is also written down for whoever looks; gone when the work is over."""
    place = find_place(folder)
    live = Live(pid=os.getpid(), since=clock())

    def tell(said: str) -> None:
        nonlocal live
        progress(said)
        live = replace(live, gain=said.removeprefix(GAIN)) if said.startswith(GAIN) else replace(live, said=said)
        with suppress(OSError):  # a full or read-only disk does not end a measurement
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(asdict(live)), "utf-8")
            part.replace(place)

    try:
        yield tell
    finally:
        with suppress(OSError):
            place.unlink(missing_ok=True)


def read_live(folder: Path) -> Live | None:
    """What is going on there; None where nothing is, or whoever did it is gone."""
    try:
        live = Live(**json.loads(find_place(folder).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return live if Path(f"/proc/{live.pid}").exists() else None


@contextmanager
def tell_allowed(folder: Path, *, budget_s: float | None, last_round: int | None) -> Iterator[None]:
    """For whoever watches: how long, and up to which round, a run goes on; gone when it is over."""
    place = find_place(folder).with_suffix(".allowed")
    until = None if budget_s is None else time.time() + budget_s
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(asdict(Allowed(pid=os.getpid(), until=until, last_round=last_round))), "utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            place.unlink(missing_ok=True)


def read_allowed(folder: Path) -> Allowed | None:
    """The limits of the run that goes on there; None where there is none, or whoever began it is gone."""
    try:
        allowed = Allowed(**json.loads(find_place(folder).with_suffix(".allowed").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return allowed if Path(f"/proc/{allowed.pid}").exists() else None


def describe_left(number: int, allowed: Allowed, now: float) -> str:
    """What is left of a run's time and rounds; empty where it was given no limit."""
    left = []
    if allowed.until is not None:
        left.append(f"{max(0.0, allowed.until - now):.0f} s of the budget")
    if allowed.last_round is not None:
        left.append(f"{count(max(0, allowed.last_round - number), 'round')} after this one")
    return f"left: {', '.join(left)}" if left else ""


def describe_live(name: str, number: int, live: Live, now: float, allowed: Allowed | None = None) -> str:
    """A few lines: the campaign, what is done just now, the gain so far with its interval, and what is left of the
    budget.
    """
    lines = [
        f"Campaign {name}: round {number}, {max(0.0, now - live.since):.0f} s (process {live.pid})",
        f"now: {live.said or 'begins'}",
        f"gain: {live.gain or 'no figures yet'}",
    ]
    left = describe_left(number, allowed, now) if allowed is not None else ""
    return "\n".join([*lines, *([left] if left else [])])
