"""What is said of a bug of ours: what went wrong, and at which line of the project it did, so that a reader can report it
or take that line out of the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.evidence import Location

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SUFFIX = ".py"


def say_bug(error: BaseException) -> str:
    """One line: the error, and the place in the project that was being read."""
    place = find_place(error)
    where = f", while reading {place} of the project" if place else ""
    return f"layline has a bug: {type(error).__name__}: {error}{where}"


def find_place(error: BaseException) -> str | None:
    """The innermost place that the functions under way were given: a line of a file, else a file; None if none was."""
    frames = list(_find_frames(error))
    for frame in frames:
        for value in frame.f_locals.values():
            place = next((one for one in _find_places(value) if isinstance(one, Location)), None)
            if place is not None:
                return str(place)
    named = (frame.f_locals.get("path") for frame in frames)
    return next((path for path in named if isinstance(path, str) and path.endswith(_SUFFIX)), None)


def _find_frames(error: BaseException) -> Iterator[FrameType]:
    """Innermost first."""
    frames: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return reversed(frames)


def _find_places(value: object) -> Iterator[object]:
    """The value, and what values of ours call their place."""
    yield value
    if type(value).__module__.startswith("layline."):
        yield from (getattr(value, name, None) for name in ("at", "location"))
