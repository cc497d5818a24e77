"""How long work says where it is: a function that anyone may pass in, and that does nothing by default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Called as work goes on; `total` may be 0 where it is not known, `at` names what is looked at just now."""

    def __call__(self, what: str, done: int, total: int, at: str = "") -> None: ...


def silent(what: str, done: int, total: int, at: str = "") -> None:
    """Nobody watches."""


def tell_result(progress: Progress, text: str) -> None:
    """What long work has found so far: one thing done, of no number."""
    progress(text, 1, 0)


def within(progress: Progress, part: str) -> Progress:
    """What is said of a part of the work, with its name before it: `2 of 5, at the tip: comparing targets`."""

    def tell(what: str, done: int, total: int, at: str = "") -> None:
        progress(f"{part}: {what}", done, total, at)

    return tell


class Parts:
    """A `Progress` for work in parts: what is said has the part before it, `part 2 of 3, our patches: reading files`."""

    def __init__(self, progress: Progress, names: tuple[str, ...]) -> None:
        self._names, self._progress, self._number = names, progress, 0

    def begin(self) -> None:
        """The next part."""
        self._number += 1

    def __call__(self, what: str, done: int, total: int, at: str = "") -> None:
        name = f"part {self._number} of {len(self._names)}, {self._names[self._number - 1]}"
        self._progress(f"{name}: {what}" if self._number else what, done, total, at)


def count(
    items: Iterable[T], what: str, total: int, progress: Progress, name: Callable[[T], str] = lambda _: ""
) -> Iterator[T]:
    """The same items; how many have come, and what this one is called, is told with each."""
    for number, item in enumerate(items, 1):
        progress(what, number, total, name(item))
        yield item
