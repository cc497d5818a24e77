"""Reading ahead: what worker processes can do while this process reads something else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def begin(read: Callable[[], T]) -> Callable[[], T]:
    """Start to read, in a thread; what comes back waits for the answer, or raises what reading raised.

    Python runs one thread at a time, so this is for work that other processes do. The thread does not outlive an
    interrupted command.
    """
    answers: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(read())
        except BaseException as error:  # noqa: BLE001  raised again where the answer is asked for
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait() -> T:
        thread.join()
        if errors:
            raise errors[0]
        return answers[0]

    return wait
