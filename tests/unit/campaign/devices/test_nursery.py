"""Workers forked from a process that has imported what takes long: as if each had been started by itself."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from layline.campaign.devices.nursery import Forked, Nursery, kill

TELL = """\
import json, os, sys
told = {"argv": sys.argv, "home": os.environ.get("HOME"), "path": os.environ.get("PATH"), "folder": os.getcwd(),
        "imported": "decimal" in sys.modules, "session": os.getsid(0) == os.getpid(),
        "fds": sorted(int(one) for one in os.listdir("/proc/self/fd"))[:8]}
os.write(int(sys.argv[1]), json.dumps(told).encode())
print("said")
"""
TURNS = {
    "ends": ("import sys; sys.exit(3)", 3),
    "raises": ("raise ValueError('no')", 1),
    "is killed": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
}


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    one = Nursery({"PATH": os.environ["PATH"]}, imports=("decimal",))
    yield one
    one.close()


def _fork(nursery: Nursery, folder: Path, text: str, fd: int) -> Forked:
    script = folder / "s.py"
    script.write_text(text)
    with (folder / "said").open("wb") as output, Path(os.devnull).open("rb") as nothing:
        numbers = {nothing.fileno(): 0, output.fileno(): 1, fd: fd}
        return nursery.fork((str(script), str(fd)), {"HOME": str(folder), "LC_ALL": "C.UTF-8"}, folder, numbers)


def test_a_worker_has_its_own_surroundings_and_the_nurserys_imports(nursery: Nursery, tmp_path: Path) -> None:
    read, write = os.pipe()
    worker = _fork(nursery, tmp_path, TELL, write)
    told = json.loads(os.read(read, 4096))
    assert worker.wait(20) == 0
    assert told["imported"]
    assert (told["argv"], told["folder"]) == ([str(tmp_path / "s.py"), str(write)], str(tmp_path))
    assert (told["home"], told["path"], told["session"]) == (str(tmp_path), None, True)
    assert len(set(told["fds"]) - {0, 1, 2, write}) == 1  # what lists them, and no line to the nursery
    assert (tmp_path / "said").read_text() == "said\n"


@pytest.mark.parametrize("turn", TURNS)
def test_how_a_worker_ended_is_told(nursery: Nursery, tmp_path: Path, turn: str) -> None:
    text, code = TURNS[turn]
    read, write = os.pipe()
    worker = _fork(nursery, tmp_path, text, write)
    assert worker.wait(20) == worker.poll() == code
    assert ("ValueError: no" in (tmp_path / "said").read_text()) is (turn == "raises")
    os.close(read)
    os.close(write)


def test_one_that_still_runs_is_waited_for_and_can_be_ended(nursery: Nursery, tmp_path: Path) -> None:
    worker = _fork(nursery, tmp_path, "import time; time.sleep(60)", 2)
    assert worker.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(0.05)
    os.killpg(worker.pid, signal.SIGKILL)
    assert worker.wait(20) == -signal.SIGKILL


def test_one_that_has_no_session_of_its_own_yet_is_ended(nursery: Nursery, tmp_path: Path) -> None:
    """Between the fork and the first line of a worker: a run that ended then waited for it for ever."""
    with subprocess.Popen((sys.executable, "-c", "import time; time.sleep(60)")) as early:
        kill(early)
        assert early.wait(20) == -signal.SIGKILL
    for _time in range(20):
        worker = _fork(nursery, tmp_path, "import time; time.sleep(60)", 2)
        kill(worker)
        assert worker.wait(20) == -signal.SIGKILL


def test_nothing_is_left_when_its_parent_is_killed(tmp_path: Path) -> None:
    """Also the workers' own end is the nursery's end, as `serve_torch.confine` asks for."""
    text = (
        "import os, signal, sys\n"
        "from layline.campaign.devices.nursery import Nursery\n"
        "one = Nursery({}, imports=('decimal',))\none._await_ready()\nprint(one._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run((sys.executable, "-c", text), capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([fd], [], [], 20)[0]
