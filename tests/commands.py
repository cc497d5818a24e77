"""Runs whole commands as a user does: a process of its own, a real exit code."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import layline as package
from published import check_published

_SOURCE = str(Path(package.__file__).resolve().parent.parent)
"""The same layline that the tests import, wherever the command runs."""

_READ_AT_START = ("PYTHON", "LC_", "LANG", "HOME")
"""Variables an interpreter reads when it starts: a command that is given one starts anew."""

_TIMEOUT_S = 300


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        answer = json.loads(self.out)
        check_published(answer)
        return answer


def layline(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Result:
    """Run `layline …` in `cwd`; its output is a pipe, where nothing is wrapped."""
    given = env or {}
    surroundings = {**os.environ, "PYTHONPATH": _SOURCE, "COLUMNS": "", **given}
    if any(name.startswith(_READ_AT_START) for name in given):
        return _start_anew(arguments, cwd, surroundings)
    return _fork(arguments, cwd, surroundings)


def _start_anew(arguments: tuple[str, ...], cwd: Path, env: dict[str, str]) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "layline", *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_script(script: Path, *arguments: str, cwd: Path, env: dict[str, str]) -> Result:
    """Run a script that uses layline as a library."""
    return _fork(arguments, cwd, {**os.environ, "PYTHONPATH": _SOURCE, **env}, script)


def _fork(arguments: tuple[str, ...], cwd: Path, env: dict[str, str], script: Path | None = None) -> Result:
    """The same, from a process that has imported layline already (`command_server.py`)."""
    with Running(arguments, cwd, env, script) as running:
        too_late = threading.Timer(_TIMEOUT_S, running.kill)
        too_late.start()
        result = running.wait()
        too_late.cancel()
        return result


class Running:
    """A command that was forked, the leader of a session of its own, as one that a terminal starts."""

    def __init__(
        self, arguments: tuple[str, ...], cwd: Path, env: dict[str, str] | None = None, script: Path | None = None
    ) -> None:
        surroundings = env if env is not None else {**os.environ, "PYTHONPATH": _SOURCE}
        asked = {"words": arguments, "cwd": str(cwd), "env": surroundings, "script": script and str(script)}
        request = json.dumps(asked).encode()
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        self._answers, answers_end = socket.socketpair()
        socket.send_fds(_start_server(), [request], [out_end, err_end, answers_end.fileno()])
        for end in (out_end, err_end):
            os.close(end)
        answers_end.close()
        self.pid = self._read_number()
        self._readers = [_Reader(os.fdopen(out, "rb")), _Reader(os.fdopen(err, "rb"))]

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()

    def has_ended(self, within_s: float) -> bool:
        """Wait so long at most."""
        return bool(select.select([self._answers], [], [], within_s)[0])

    def kill(self) -> None:
        """It, and whatever it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> Result:
        status = os.waitstatus_to_exitcode(self._read_number())
        out, err = (reader.wait() for reader in self._readers)
        return Result(status, out, err)

    def _read_number(self) -> int:
        """One line, and nothing of the next: `has_ended` looks at what is still to be read."""
        line = b""
        while not line.endswith(b"\n"):
            line += self._answers.recv(1)
        return int(line)


class _Reader(threading.Thread):
    """Reads one pipe while the caller reads another."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(daemon=True)
        self._file, self._read = file, b""
        self.start()

    def run(self) -> None:
        with self._file:
            self._read = self._file.read()

    def wait(self) -> str:
        self.join()
        return self._read.decode()


@functools.cache
def _start_server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, str(Path(__file__).with_name("command_server.py")), str(theirs.fileno())]
    null = subprocess.DEVNULL
    env = {**os.environ, "PYTHONPATH": _SOURCE}
    server = subprocess.Popen(command, stdin=null, stdout=null, stderr=null, env=env, pass_fds=(theirs.fileno(),))
    theirs.close()
    atexit.register(server.wait)
    atexit.register(ours.close)  # first: nobody asks more, and the server ends
    return ours
