"""What /proc tells about a worker, also about one that has gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from layline.campaign.devices.procfs import find_child, read_settings


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


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("signal.signal(signal.SIGPIPE, signal.SIG_DFL)", "signals ignored"),
        ("signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})", "signals blocked"),
        ("signal.signal(signal.SIGUSR2, lambda *_: None)", "signals caught"),
        ("os.umask(0o123)", "mask for new files"),
        ("resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", "limits"),
        ("os.nice(3)", "priority"),
        ("threading.Thread(target=int).start()", ""),
    ],
)
def test_what_a_process_sets_for_itself_is_seen_from_outside(act: str, told: str) -> None:
    code = f"import os, resource, signal, threading\nprint(flush=True); input(); {act}; print(flush=True); input()"
    with subprocess.Popen((sys.executable, "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()
        before = read_settings(child.pid)
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        now = read_settings(child.pid)
        child.kill()
    assert [name for name in now if now[name] != before[name]] == ([told] if told else [])
    assert read_settings(1 << 30) == {}
