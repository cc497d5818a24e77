"""The parent's end of the process that workers with torch are forked from; without it each is started by itself."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from layline.files import has_input

_SCRIPT = Path(__file__).parent.parent / "worker" / "nursery.py"
IMPORTS = ("torch", "torch.profiler")
START_S = 120.0
ANSWER_S = 60.0
_BY_PROCESS: dict[int, Nursery | None] = {}
"""The one of this process, which may itself be a fork; None where it could not be had."""


class Process(Protocol):
    """What a worker's process is asked, whoever its parent is."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class Nursery:
    """A process with torch in it and no kernel."""

    def __init__(self, environment: Mapping[str, str], imports: Sequence[str] = IMPORTS) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._folder = tempfile.mkdtemp(prefix="k")
        script = shutil.copyfile(_SCRIPT, Path(self._folder) / "n.py")
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, "-I", str(script), str(theirs.fileno()), *imports),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=dict(environment),
                cwd=self._folder,
                start_new_session=True,
            )
        self._parent = os.getpid()
        self._is_ready = False
        self._asked = 0
        self._lock = threading.Lock()
        atexit.register(self.close)

    def fork(
        self, script: Sequence[str], environment: Mapping[str, str], folder: Path, fds: Mapping[int, int]
    ) -> Forked:
        """A worker; `fds` are the numbers that descriptors of ours shall have there."""
        message = {
            "script": list(script),
            "environment": dict(environment),
            "folder": str(folder),
            "numbers": list(fds.values()),
        }
        self._await_ready()
        return Forked(nursery=self, pid=int(self._ask(message, list(fds))["pid"]))

    def wait(self, pid: int) -> int:
        return int(self._ask({"wait": pid}, [])["code"])

    def close(self) -> None:
        if self._process.poll() is None and os.getpid() == self._parent:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _await_ready(self) -> None:
        with self._lock:
            if not self._is_ready:
                self._receive(START_S)
                self._is_ready = True

    def _ask(self, message: dict[str, Any], fds: list[int]) -> Any:
        with self._lock:  # probes beside one another begin and end workers at the same time
            self._asked += 1
            socket.send_fds(self._line, [json.dumps({**message, "asked": self._asked}).encode()], fds)
            while (told := self._receive(ANSWER_S))["asked"] != self._asked:
                continue  # to a question that was interrupted
            return told

    def _receive(self, limit_s: float) -> Any:
        if not has_input(self._line.fileno(), limit_s):
            raise OSError("the process that workers are forked from does not answer")
        data = self._line.recv(1 << 16)
        if not data:
            raise OSError("the process that workers are forked from has ended")
        return json.loads(data)


@dataclass(slots=True)
class Forked:
    """A worker whose parent is the nursery: it stays there, dead, until it is asked for."""

    nursery: Nursery
    pid: int
    _code: int | None = None

    def poll(self) -> int | None:
        if self._code is None and _is_over(self.pid, 0):
            self._code = self.nursery.wait(self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None and not _is_over(self.pid, timeout):
            raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        code = self.poll()
        assert code is not None  # noqa: S101  it is over
        return code


def kill(process: Process) -> None:
    """With its whole session. One that was forked a moment ago has none of its own yet, and would be waited for for
    ever.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)


def _is_over(pid: int, limit_s: float | None) -> bool:
    fd = os.pidfd_open(pid)
    try:
        return has_input(fd, limit_s)
    finally:
        os.close(fd)


def find_nursery(environment: Mapping[str, str]) -> Nursery | None:
    """The one of this process, begun when it is first asked for; None where it failed."""
    me = os.getpid()
    if me not in _BY_PROCESS:
        _BY_PROCESS[me] = Nursery(environment)
    return _BY_PROCESS[me]


def give_up_nursery() -> None:
    """From now on every worker is started by itself."""
    nursery = _BY_PROCESS.get(os.getpid())
    if nursery is not None:
        nursery.close()
    _BY_PROCESS[os.getpid()] = None
