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


def describe_live(name: str, number: int, live: Live, now: float) -> str:
    """A few lines: the campaign, what is done just now, and the gain so far with its interval."""
    lines = [
        f"Campaign {name}: round {number}, {max(0.0, now - live.since):.0f} s (process {live.pid})",
        f"now: {live.said or 'begins'}",
        f"gain: {live.gain or 'nothing to tell yet'}",
    ]
    return "\n".join(lines)
