"""CPU time of whole process trees: what a child uses is seen, with a control group and without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from layline.campaign.devices.accounting import Account, open_account, read_tree_ns

BUSY = """
import os, sys, time
sys.stdin.readline()
if os.fork() == 0:
    while time.process_time() < 0.3:
        pass
    print("done", flush=True)
    time.sleep(30)
else:
    time.sleep(30)
"""


def test_a_childs_time_is_seen_by_group_and_by_tree() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, "-c", BUSY), stdin=pipe, stdout=pipe, start_new_session=True) as process:
        account = open_account(process.pid)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"\n")  # only now may it have a child, as a worker may
            process.stdin.flush()
            assert process.stdout.readline() == b"done\n"
            own = time.clock_gettime_ns((~process.pid << 3) | 2)
            assert account.read_ns() - own > 150_000_000
            assert Account(pid=process.pid, group=None).read_ns() - own > 150_000_000
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    account.close()
    assert account.group is None or not account.group.exists()


def test_a_process_that_is_gone_has_used_nothing() -> None:
    assert read_tree_ns(2**22 + 1) == 0
