"""What /proc tells about a worker, also about one that has gone."""

from __future__ import annotations

import subprocess
import sys

from layline.campaign.devices.procfs import find_child


def test_the_only_child_is_found_and_a_gone_process_has_none() -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
    outer = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert outer.stdout is not None
    child = int(outer.stdout.readline())
    try:
        assert find_child(outer.pid) == child
    finally:
        subprocess.run(["kill", str(child)], check=False)
        outer.communicate()
    assert find_child(outer.pid) is None
