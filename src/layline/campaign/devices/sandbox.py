"""Start a confined worker process: what it gets, what it must not get, what this machine cannot keep from it."""

from __future__ import annotations

import importlib.util
import marshal
import os
import secrets
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SCRIPTS = Path(__file__).parent.parent / "worker"
_PYTHON = str(getattr(sys, "_base_executable", sys.executable))

STRONG = (
    "own user, process, network, mount and IPC namespaces: no network, no other process visible",
    "file system of system folders and the kernel itself, read-only; private /tmp and /dev/shm",
    "no capabilities, no new privileges, limits on memory, file size and open files",
    "system call filter: starting a process or program, ptrace and the like end the worker",
    "environment of four harmless variables; no file of the campaign or its history can be opened",
)
MEMORY_BYTES = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A launched worker, before the kernel is in it."""

    process: subprocess.Popen[bytes]
    request: int
    reply: int
    confine: str
    root: str
    said: Path
    """What it prints; read for evidence only."""


def confine(shop: Path, folder: Path, *command: str) -> tuple[str, ...]:
    """How to run `command`, the compiler or a program of the folder, with nothing but the folder to write to."""
    place = Path(tempfile.mkdtemp(dir=shop))
    script, root = place / "c.pyc", place / "root"
    script.write_bytes(_compile("confine"))
    root.mkdir()
    return (_PYTHON, "-I", "-S", str(script), str(root), str(folder), *command)


@cache
def _compile(name: str) -> bytes:
    """A script of the worker as Python runs it: dozens are started in a run, and each would compile it anew."""
    code = compile((_SCRIPTS / f"{name}.py").read_text("utf-8"), "main", "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def start_process(shop: Path, arena_fd: int, *, threads: int) -> Started:
    """Launch the worker's scripts, copied under meaningless names, with two pipes and one memory file."""
    folder = Path(tempfile.mkdtemp(dir=shop))
    script, confinement = (folder / f"{secrets.token_hex(4)}.pyc" for _ in range(2))
    script.write_bytes(_compile("serve"))
    confinement.write_bytes(_compile("confine"))
    request_in, request_out = os.pipe()
    reply_in, reply_out = os.pipe()
    said = folder / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(
            (
                *(_PYTHON, "-I", "-S", str(script)),
                *(str(fd) for fd in (request_in, reply_out, arena_fd)),
            ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(request_in, reply_out, arena_fd),
            env=_environment(threads),
            cwd=folder,
            start_new_session=True,
        )
    os.close(request_in)
    os.close(reply_out)
    return Started(
        process=process,
        request=request_out,
        reply=reply_in,
        confine=str(confinement),
        root=tempfile.mkdtemp(dir=shop),
        said=said,
    )


def _environment(threads: int) -> dict[str, str]:
    """The same for every leg but for its size, which moves the stack; nothing in it tells that a benchmark runs."""
    return {
        "LS_COLORS": "x" * secrets.randbelow(4096),
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "passive",  # idle threads must not burn the time that is charged to their kernel
    }
