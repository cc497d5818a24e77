"""A measuring run that is killed leaves nothing behind that runs or waits."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

RUN = """
import os, signal, sys
from pathlib import Path
import numpy as np
from layline.campaign.devices.shared_memory import Arena
from layline.campaign.measure.build import build_kernel
from layline.campaign.measure.controls import wrap
from layline.campaign.devices.kernel import Kernel
from layline.campaign.devices.worker_process import Worker
from layline.campaign.operators import load_operator

operator, shop = load_operator("softmax"), Path(sys.argv[1])
built = build_kernel(wrap(operator, operator.start("naive")), operator, shop)
worker = Worker(Kernel(path=built.path, operator=operator), Arena(operator, 1 << 20, np.random.default_rng(1)), shop)
worker.load()
print(worker._started.process.pid, worker._pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_leaves_no_worker(tmp_path: Path) -> None:
    done = subprocess.run((sys.executable, "-c", RUN, str(tmp_path)), capture_output=True, text=True, check=False)
    pids = done.stdout.split()
    assert len(pids) == 2, done.stderr
    for _wait in range(1200):
        alive = [pid for pid in pids if Path("/proc", pid).exists()]
        if not alive:
            return
        time.sleep(0.05)
    raise AssertionError(f"still there: {alive}")
