"""Long work says what it does and how far it is: bars on a terminal, a line now and then in a file or a pipe."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.core.progress import Progress

_PAUSE_S = 5.0
"""Between two lines, and before the first: short work says nothing."""


@contextmanager
def show_progress() -> Iterator[Progress]:
    """A `Progress` that writes to standard error while the block runs."""
    if not sys.stderr.isatty():
        yield write_lines(sys.stderr, time.monotonic)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report


def write_lines(stream: TextIO, clock: Callable[[], float]) -> Progress:
    """A `Progress` for logs: one line at most every few seconds, flushed so that a watcher sees it."""
    last = begun = clock()

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if now - last < _PAUSE_S:
            return
        last = now
        far = f", {done} of {total}" if total else ""
        stream.write(f"layline: {what}{far} ({now - begun:.0f} s)\n")
        stream.flush()

    return report
