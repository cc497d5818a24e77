"""Command measuring: what a crash left running is found by its mark and ended, and nothing else is."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess

from layline.campaign.command.run import RUN_VARIABLE, end_leftovers


def sleep(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["sh", "-c", "sleep 60 & wait"], env={**os.environ, RUN_VARIABLE: mark}, start_new_session=True
    )


def test_only_the_campaigns_own_leftovers_are_ended() -> None:
    mark = secrets.token_hex(8)  # another run of this test on the same machine has its own
    ours, others = sleep(mark), sleep(secrets.token_hex(8))
    try:
        ended = 0
        while not ended:  # a mark is there as soon as the program has started
            ended = end_leftovers(mark)
        ours.wait(timeout=60)  # by the signal, or by itself when its child had gone first
        assert others.poll() is None
        assert end_leftovers(mark) == 0
    finally:
        os.killpg(others.pid, signal.SIGKILL)
        others.wait()
