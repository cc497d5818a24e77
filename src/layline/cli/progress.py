"""Long work says what it does and how far it is: bars on a terminal, a line now and then in a file or a pipe."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from layline.cli.group import find_talk
from layline.core.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.core.progress import Progress

_PAUSE_S = 5.0
"""Between two lines, and before the first: short work says nothing."""
_BARS = 6
"""How many of a terminal's lines show what is done and what was done last."""


@contextmanager
def show_progress() -> Iterator[Progress]:
    """A `Progress` that writes to standard error while the block runs."""
    talk = find_talk()
    if talk == "quiet":
        yield silent
        return
    if talk == "verbose" or not sys.stderr.isatty():
        report, repeat = write_lines(sys.stderr, time.monotonic, every=talk == "verbose")
        over = threading.Event()
        threading.Thread(target=_beat, args=(repeat, over), daemon=True).start()
        try:
            yield report
        finally:
            over.set()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def report(what: str, done: int, total: int, at: str = "") -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
                for old in list(tasks.values())[:-_BARS]:
                    bars.update(old, visible=False)
            bars.update(tasks[what], completed=done, total=total or None, description=_name(what, at))

        yield report


def _name(what: str, at: str) -> str:
    return f"{what}: {at}" if at else what


def _beat(repeat: Callable[[], None], over: threading.Event) -> None:
    while not over.wait(_PAUSE_S):
        repeat()


def write_lines(
    stream: TextIO, clock: Callable[[], float], *, every: bool = False
) -> tuple[Progress, Callable[[], None]]:
    """A `Progress` for logs: one line at most every few seconds, flushed so that a watcher sees it; and a function that
    says again what is still being done. What was found on the way is told at once, where the work is long.

    `every`: also one line at once for each new thing that is done.
    """
    last = begun = clock()
    told = ""
    now_doing: tuple[str, int, int, str] | None = None

    def report(what: str, done: int, total: int, at: str = "") -> None:
        nonlocal last, told, now_doing
        now = clock()
        now_doing = (what, done, total, at)
        is_result = done > total and what != told
        if now - (begun if is_result else last) < _PAUSE_S and not (every and what != told):
            return
        last, told = now, what
        far = f", {done} of {total}" if total else ""
        stream.write(f"layline: {_name(f'{what}{far}', at)} ({now - begun:.0f} s)\n")
        stream.flush()

    def repeat() -> None:
        if now_doing is not None:
            report(*now_doing)

    return report, repeat
