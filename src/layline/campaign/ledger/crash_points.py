"""Where tests kill the process: a campaign must survive `kill -9` at any instant."""

from __future__ import annotations

import os
import signal

VARIABLE = "LAYLINE_TEST_KILL_AT"
"""Set by fault-injection tests alone: the process kills itself at the n-th step that passes here."""
_passed = 0


def crash_point() -> None:
    """A step between two durable writes; does nothing outside fault-injection tests."""
    global _passed  # noqa: PLW0603  one counter per process is the point
    chosen = os.environ.get(VARIABLE)
    if chosen is None:
        return
    _passed += 1
    if _passed == int(chosen):
        os.kill(os.getpid(), signal.SIGKILL)
