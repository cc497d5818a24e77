"""A process that has imported torch and nothing else, from which workers are forked: importing takes seconds, a fork
does not.

It is copied and run with `-I`, as the workers are, with what to import as its words. No kernel is ever in it. Every
message is a length and JSON, with file descriptors beside it: `script`, `environment`, `folder` and the numbers the
descriptors shall have begin a worker and are answered with its number; `wait` is answered with how a worker ended. It
ends when its parent does.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import json
import os
import socket
import sys
import types
from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
ASIDE = 300
"""Numbers of descriptors from here on are nobody's."""
MOST = 1 << 16
STANDARD = 3


def main() -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # no worker of the same user may write into what others are forked from
    for name in sys.argv[2:]:
        importlib.import_module(name)
    line = socket.socket(fileno=int(sys.argv[1]))
    line.sendall(b"{}")
    while True:
        data, fds, _flags, _address = socket.recv_fds(line, MOST, 16)
        if not data:
            os._exit(0)
        message = json.loads(data)
        if "wait" in message:
            told: dict[str, Any] = {"code": os.waitstatus_to_exitcode(os.waitpid(message["wait"], 0)[1])}
        else:
            pid = os.fork()
            if pid == 0:
                libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
                line.close()
                become(message, fds)
            told = {"pid": pid}
        for fd in fds:
            os.close(fd)
        line.sendall(json.dumps({**told, "asked": message["asked"]}).encode())


def become(message: dict[str, Any], fds: list[int]) -> None:
    """The script, as if it had been started with its own environment, folder and descriptors."""
    try:
        os.setsid()
        os.chdir(message["folder"])
        aside = [fcntl.fcntl(fd, fcntl.F_DUPFD, ASIDE) for fd in fds]
        for fd in fds:
            os.close(fd)
        for fd, wanted in zip(aside, message["numbers"], strict=True):
            os.dup2(fd, wanted, inheritable=wanted < STANDARD)
            os.close(fd)
        os.dup2(1, 2)
        os.environ.clear()
        os.environ.update(message["environment"])
        sys.argv = message["script"]
        module = types.ModuleType("__main__")
        module.__file__ = sys.argv[0]
        sys.modules["__main__"] = module
        with open(sys.argv[0], encoding="utf-8") as text:  # noqa: PTH123
            code = compile(text.read(), sys.argv[0], "exec")
        exec(code, module.__dict__)  # noqa: S102  our own script
    except SystemExit as ended:
        leave(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    except BaseException:  # noqa: BLE001  it must never go on as a second nursery
        sys.excepthook(*sys.exc_info())
        leave(1)
    leave(0)


def leave(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
