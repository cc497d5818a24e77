"""Starts `layline` commands for the tests from a process that has imported it already.

Each command still is a process of its own, with its own folder, environment, pipes and exit code; it is forked from
here instead of being started anew, because importing costs more than most commands do. One request is one message on
the socket: a JSON object, with the write ends of stdout and stderr and a socket for the answer attached. The answer is
the command's process id, then its exit status as `os.waitpid` gives it, one line each.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import socket
import sys
import threading
import time
from typing import NoReturn

from layline.cli import progress
from layline.cli.forked import import_commands


def wait_for_requests(requests: socket.socket) -> dict[str, object] | None:
    """The request that this process, a child by then, has to carry out; None in the server when nobody asks more."""
    while True:
        message, files, _, _ = socket.recv_fds(requests, 1 << 20, 3)
        _reap(os.WNOHANG if message else 0)
        if not message:
            return None
        if os.fork() == 0:
            requests.close()
            command = os.fork()
            if command == 0:
                _take_over(files)
                return dict(json.loads(message))
            _answer(socket.socket(fileno=files[2]), command)
        for one in files:
            os.close(one)


def _reap(flags: int) -> None:
    """Wait for the go-betweens that have ended, so that their processor time is counted as the tests'."""
    try:
        while os.waitpid(-1, flags)[0]:
            pass
    except ChildProcessError:
        return


def _take_over(files: list[int]) -> None:
    """Write to the caller's pipes; keep nothing else of the caller's open; lead a session, so that all can be killed."""
    os.setsid()
    os.dup2(files[0], 1)
    os.dup2(files[1], 2)
    for one in files:
        os.close(one)


def _answer(answers: socket.socket, command: int) -> None:
    answers.sendall(f"{command}\n".encode())
    answers.sendall(f"{os.waitpid(command, 0)[1]}\n".encode())
    os._exit(0)


def run(request: dict[str, object]) -> None:
    """Be `python -m layline WORDS` in the caller's folder and environment, or `python SCRIPT`."""
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update({str(name): str(value) for name, value in dict(request["env"]).items()})  # type: ignore[call-overload]
    time.tzset()
    sys.path[0] = str(request["cwd"])
    sys.argv = ["layline", *map(str, list(request["words"]))]  # type: ignore[call-overload]
    try:
        if request.get("script"):
            runpy.run_path(str(request["script"]), run_name="__main__")
        else:
            runpy.run_module("layline", run_name="__main__", alter_sys=True)
    except SystemExit as left:
        if not isinstance(left.code, int | None):
            raise
        _end(left.code or 0)


def _end(code: int) -> NoReturn:
    """End as an interpreter does, but leave the memory to the system: taking a thousand modules apart, each page copied
    for it, costs as much as a short command."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads as the interpreter does, and has no other name
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # nobody reads any more, or it was closed: the interpreter ends with 120 then
        code = code or 120
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    progress._PAUSE_S = 3600  # or other work that slows a command down makes it say more
    import_commands()
    gc.freeze()  # or each command would look at every object of ours when it ends
    asked = wait_for_requests(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        run(asked)
