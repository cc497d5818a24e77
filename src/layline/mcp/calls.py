"""Running a tool for an agent: in a process of its own, with progress, and gone at once when the agent cancels."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

import layline
from layline.errors import Error
from layline.mcp.tool import Session

HEARTBEAT_S = 5.0
"""A tool that says nothing for so long is reported as still at work."""
_GRACE_S = 3.0
"""How long a cancelled tool may tidy up after ^C before it is killed."""
_LONGEST_REPLY = 64 * 1024 * 1024
_MOST_WAITING = 2
_MOST_ANSWERS = 200
"""After so many a worker is replaced: what it keeps in memory goes with it."""


class Report(Protocol):
    """Tells the agent how far a tool is; the first number only ever grows."""

    async def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One question as the worker reads it: plain JSON."""

    ask: str
    """`tool` or `resource`."""
    name: str
    arguments: dict[str, Any]
    offset: int = 0

    def encode(self, session: Session) -> bytes:
        plain = {
            "ask": self.ask,
            "name": self.name,
            "arguments": self.arguments,
            "offset": self.offset,
            "config": str(session.config) if session.config else None,
            "today": session.today.isoformat() if session.today else None,
        }
        return json.dumps(plain).encode() + b"\n"


@dataclass(slots=True, eq=False)
class Worker:
    """A process that answers one question after the other."""

    process: anyio.abc.Process
    pipe: BufferedByteReceiveStream
    answered: int = 0


class Workers:
    """Processes that wait for a question: what they have imported is there for the next one.

    A question takes one for itself; after a cancelled or a failed one nothing is kept.
    """

    def __init__(self) -> None:
        self._waiting: list[Worker] = []

    async def take(self) -> Worker:
        while self._waiting:
            worker = self._waiting.pop()
            if worker.process.returncode is None:
                return worker
            await _end(worker.process, grace_s=0)
        return await _start()

    async def give_back(self, worker: Worker) -> None:
        worker.answered += 1
        if len(self._waiting) < _MOST_WAITING and worker.answered < _MOST_ANSWERS:
            self._waiting.append(worker)
        else:
            await _end(worker.process, grace_s=0)

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            while self._waiting:
                await _end(self._waiting.pop().process, grace_s=0)


async def answer(workers: Workers, session: Session, call: Call, report: Report) -> Any:
    """What the worker answers; the CLI's own sentence and hint where it cannot."""
    worker = await workers.take()
    reply: dict[str, Any] = {}
    try:
        if worker.process.stdin is not None:
            await worker.process.stdin.send(call.encode(session))
            reply = await _listen(_Teller(report, call.name), worker.pipe)
    finally:
        with anyio.CancelScope(shield=True):
            if reply:
                await workers.give_back(worker)
            else:
                await _end(worker.process, grace_s=_GRACE_S)
    if "error" in reply:
        raise Error(reply["error"]["message"], hint=reply["error"]["hint"])
    if "answer" not in reply:
        raise Error(
            "The tool ended without an answer.", hint="If it happens again, run the same command with `layline`."
        )
    return reply["answer"]


async def _start() -> Worker:
    source = str(Path(layline.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "layline.mcp.worker"],  # -P: nothing is imported from the analysed folder
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    if process.stdout is None:
        raise Error("The worker has no pipe.")
    return Worker(process, BufferedByteReceiveStream(process.stdout))


async def _listen(teller: _Teller, pipe: BufferedByteReceiveStream) -> dict[str, Any]:
    """Pass progress on until the reply comes; empty where none does."""
    reply: dict[str, Any] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(teller.beat)
        async for line in _read_lines(pipe):
            plain: dict[str, Any] = json.loads(line)
            if "progress" not in plain:
                reply = plain
                break
            await teller.tell(plain["progress"])
        group.cancel_scope.cancel()
    return reply


async def _read_lines(pipe: BufferedByteReceiveStream) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await pipe.receive_until(b"\n", _LONGEST_REPLY)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.ClosedResourceError):
            return


class _Teller:
    """Counts what was told, so that the number grows whatever the stages of a tool count."""

    def __init__(self, report: Report, name: str) -> None:
        self._report, self._name, self._told, self._silent_since = report, name, 0, anyio.current_time()

    async def tell(self, message: str) -> None:
        self._told += 1
        self._silent_since = anyio.current_time()
        await self._report(self._told, None, message)

    async def beat(self) -> None:
        begun = anyio.current_time()
        while True:
            await anyio.sleep(HEARTBEAT_S)
            if anyio.current_time() - self._silent_since >= HEARTBEAT_S:
                await self.tell(f"{self._name} is still running, {anyio.current_time() - begun:.0f} s")


async def _end(process: anyio.abc.Process, *, grace_s: float) -> None:
    """Nothing of a finished or cancelled tool stays behind: ^C first where it is still at work, then the whole
    group.
    """
    if process.returncode is None and grace_s:
        _signal(process.pid, signal.SIGINT)
        with anyio.move_on_after(grace_s):
            await process.wait()
    _signal(process.pid, signal.SIGKILL)
    await process.wait()
    await process.aclose()


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # all of it is gone already
