"""The `local` executor: processes of this machine."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from layline.errors import ConfigError
from layline.executors.calls import ANSWER, HINT, MESSAGE, SAID
from layline.executors.dispatch import Answered, Attempt, Event, Gone, Raised, Tally, collect, dispatch
from layline.executors.machine import Machine, Silent, digest_code, read_machine
from layline.executors.parcels import Parcel
from layline.executors.values import Lost, Plain, Tell, ignore

_COMMAND = (sys.executable, "-P", "-m", "layline.executors.worker")


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[str]
    attempt: int | None = None
    thread: threading.Thread | None = None


class LocalExecutor:
    """So many processes; a killed one costs the attempt it held, and another takes its place."""

    name = "local"

    def __init__(self, count: int, *, command: Sequence[str] = _COMMAND) -> None:
        self.tally = Tally()
        self._command = tuple(command)
        self._count = count
        self._messages: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
        self._workers: list[_Worker] = []

    def machines(self) -> tuple[Machine, ...]:
        return (read_machine(),)

    def look(self) -> tuple[Machine | Silent, ...]:
        return self.machines()

    def send(self, receiver: str, parcels: Sequence[Parcel]) -> int:  # noqa: ARG002  one protocol
        """Nothing: this machine has what it has."""
        return 0

    def map(
        self, name: str, jobs: Sequence[Plain], each: Callable[[int, Plain], None] = lambda *_: None
    ) -> list[Plain]:
        return collect(dispatch(jobs, _Processes(self, name), tally=self.tally), each)

    def screen(
        self, name: str, jobs: Sequence[Plain], kind: str, note: Callable[[Attempt], None] = lambda _: None
    ) -> Generator[tuple[int, Plain]]:
        here = read_machine()
        if not here.count(kind):
            raise ConfigError(f"No machine here is of kind {kind}; this one is of kind {here.kind}.")
        try:
            yield from dispatch(jobs, _Processes(self, name), tally=self.tally, note=note)
        finally:
            self.close()  # an accelerator is held by its process

    def choose(self, kind: str) -> Machine | None:
        here = read_machine()
        return here.only(kind) if here.count(kind) else None

    def measure(self, name: str, job: Plain, on: Machine, limit_s: float, tell: Tell = ignore) -> Plain:
        """At most once, in a process of its own."""
        if not read_machine().count(on.kind):
            raise ConfigError(f"This machine is not of kind {on.kind}.")
        self.tally.attempts += 1
        worker = self._start()
        self._send(worker, 0, name, job, tells=tell is not ignore)
        try:
            return self._await_one(worker, name, limit_s, tell)
        finally:
            self._stop(worker)

    def _await_one(self, worker: _Worker, name: str, limit_s: float, tell: Tell) -> Plain:
        until = time.monotonic() + limit_s
        while True:
            try:
                sender, line = self._messages.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                self.tally.lost += 1
                raise Lost(name, f"no answer within {limit_s:g} s") from None
            if sender is not worker:
                self.tally.late += line is not None
                continue
            match _read(worker, line):
                case str(said):
                    tell(said)
                case Answered(answer=answer):
                    return answer
                case Gone(why=why):
                    self.tally.lost += 1
                    raise Lost(name, why)
                case Raised(message=message, hint=hint):
                    raise ConfigError(message, hint=hint)

    def close(self) -> None:
        for worker in list(self._workers):
            self._stop(worker)

    def _start(self) -> _Worker:
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        worker = _Worker(process)
        assert process.stdout is not None  # noqa: S101  it is a pipe
        try:
            self._check(process.stdout.readline())
        except ConfigError:
            self._stop(worker)
            raise
        worker.thread = threading.Thread(target=self._listen, args=(worker, process.stdout), daemon=True)
        worker.thread.start()
        self._workers.append(worker)
        return worker

    @staticmethod
    def _check(hello: str) -> None:
        if not hello:
            raise ConfigError("A worker process did not start.")
        if json.loads(hello)["machine"]["code"] != digest_code():
            raise ConfigError(
                "A worker runs another version of Layline than this command.", hint="Install the same on both."
            )

    def _listen(self, worker: _Worker, replies: IO[str]) -> None:
        for line in replies:
            self._messages.put((worker, line))
        self._messages.put((worker, None))

    def _send(self, worker: _Worker, attempt: int, name: str, job: Plain, *, tells: bool = False) -> None:
        worker.attempt = attempt
        asked = {"attempt": attempt, "name": name, "job": job, "tells": tells}
        assert worker.process.stdin is not None  # noqa: S101  it is a pipe
        try:
            worker.process.stdin.write(json.dumps(asked) + "\n")
            worker.process.stdin.flush()
        except BrokenPipeError:
            return  # its end is told by what it no longer says

    def _stop(self, worker: _Worker) -> None:
        if worker in self._workers:
            self._workers.remove(worker)
        worker.process.kill()
        worker.process.wait()
        if worker.thread is not None:
            worker.thread.join()
        for pipe in (worker.process.stdin, worker.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


class _Processes:
    """The executor as `dispatch` sees it, for one function."""

    def __init__(self, executor: LocalExecutor, name: str) -> None:
        self._executor = executor
        self._name = name

    def has_room(self) -> bool:
        executor = self._executor
        return len(executor._workers) < executor._count or any(one.attempt is None for one in executor._workers)

    def start(self, attempt: Attempt, job: Plain) -> None:
        executor = self._executor
        free = next((one for one in executor._workers if one.attempt is None), None)
        executor._send(free or executor._start(), attempt.number, self._name, job)

    def wait(self) -> Iterable[Event]:
        worker, line = self._executor._messages.get()
        event = _read(worker, line)
        worker.attempt = None
        if line is None:
            self._executor._stop(worker)
        return () if event is None or isinstance(event, str) else (event,)


def _read(worker: _Worker, line: str | None) -> Event | str | None:
    """What a line says: how an attempt ended, or (a text) how far it is."""
    if line is None:
        held = worker.attempt
        return Gone(held, "its process died") if held is not None else None
    try:
        said = json.loads(line)
    except ValueError:
        return Gone(worker.attempt, "its answer was cut short") if worker.attempt is not None else None
    if SAID in said:
        return str(said[SAID])
    if ANSWER in said:
        return Answered(said["attempt"], said[ANSWER])
    return Raised(said["attempt"], said[MESSAGE], said[HINT])
