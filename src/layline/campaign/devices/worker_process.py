"""The parent's end of a worker: ask for calls, hold the clocks, freeze it whenever no call is due."""

from __future__ import annotations

import marshal
import os
import platform
import signal
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from layline.campaign.devices import procfs
from layline.campaign.devices.accounting import open_account
from layline.campaign.devices.device import Filled, Reply
from layline.campaign.devices.exit_words import describe_ending, is_signal
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.devices.kernel import Kernel, describe_worker
from layline.campaign.devices.sandbox import Started, start_process
from layline.campaign.devices.shared_memory import Arena
from layline.campaign.values.describe import describe_mode, describe_shape
from layline.errors import BenchError
from layline.files import has_input

_HEAD = struct.Struct("<QIIQ")
_REPLY = struct.Struct("<Qqq")
_FAILED = 2
LATE_WORK_NS = 2_000_000
"""CPU time that a worker which only has to stop itself never needs."""
UNSTOPPED, UNSTOPPED_SHARE = 5, 0.25
"""A loop that was replaced stops after no reply, so after this many and this share of them it is called that. Somebody
else
may continue a stopped worker, too: that gains a kernel nothing, and says nothing about it."""
PATIENCE = 30
"""Times the limit, on the wall clock, after which even a worker that is kept from the cores is given up."""


STARTING = "start"
BOOKING_TRIES = 25
START_LIMIT_S = 120.0
"""For a process of our own to start, on whatever machine."""


class Worker:
    """A process that runs one kernel. It only ever runs while a call is due; all its CPU time is charged."""

    def __init__(self, kernel: Kernel, arena: Arena, shop: Path) -> None:
        self.kernel = kernel
        self.arena = arena
        self.weaker: tuple[str, ...] = ()
        self._started: Started = start_process(shop, arena.fd, threads=kernel.threads)
        self.account = open_account(self._started.process.pid)
        self._foreign_ns = 0
        self._unstopped = self._replies = 0
        self._is_closed = self._is_told = False
        self._seq = int.from_bytes(os.urandom(4), "little")
        self._pid = 0
        self._clock = 0
        self._charged_ns = 0
        self._at_load: dict[str, int] = {}
        self._set_before: dict[str, str] = {}
        self.pause_ns: tuple[int, ...] = ()
        """After so many nanoseconds of a request it is stopped for so many."""
        self.was_paused = False
        """Whether that was in the middle of its work."""
        self.stood_still = 0
        """Requests during which the clock of processor time did not advance."""
        self.queues = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_ready(self) -> None:
        """It is told what to be; meanwhile others are, and all of them start up at once."""
        if not self._is_told:
            self._is_told = True
            config = marshal.dumps(describe_worker(self.kernel, self.arena, self._started))
            self._send(struct.pack("<Q", len(config)) + config)

    def load(self) -> int:
        """When the process is confined, load the kernel in it; wall nanoseconds from load to ready."""
        self.wait_ready()
        (first,) = struct.unpack("<q", self._receive(8, STARTING))
        _kind, length = struct.unpack("<II", self._receive(8, STARTING))
        self.weaker = tuple(self._receive(length, STARTING).decode().splitlines())
        self._pid = procfs.find_child(first) or 0  # one that could not load the kernel may be gone: it has told why
        self._clock = (~self._pid << 3) | 2  # the POSIX CPU-time clock of that process
        self._at_load = (
            procfs.count_holdings(self._pid) if self._pid else {}
        )  # what a constructor takes is the kernel's
        self._set_before = procfs.read_settings(self._pid)
        began = time.perf_counter_ns()
        self._send(b"g")
        kind, told = struct.unpack("<II", self._receive(8, "loading the kernel"))
        took = time.perf_counter_ns() - began
        if kind == _FAILED:
            said = self._receive(told, "loading the kernel").decode(errors="replace")
            raise Fault("loads", f"The kernel could not be loaded: {said}")
        if not self._pid:
            raise BenchError(f"The worker of process {first} cannot be found in /proc.")
        if self.kernel.mode is not None and told != self.kernel.mode:
            changed = describe_mode(self.kernel.mode, told, platform.machine())
            raise Fault(
                "floating-point-mode", f"Loading the kernel changes the floating-point mode of the process ({changed})."
            )
        self._freeze()
        self._charged_ns = self._cpu_ns()
        self._foreign_ns = self.account.read_ns() - self._charged_ns
        return took

    def call(self, calls: tuple[Filled, ...], *, spin: int = 0) -> Reply:
        """Have calls of one pass made; the worker is thawed for exactly that long."""
        step = calls[0].step
        entry = self.kernel.operator.passes.index(step)
        is_python = self.kernel.operator.language == "python"
        numbers = [number for filled in calls for number in self.arena.numbers(filled, with_lengths=is_python)]
        self._seq += 1
        message = _HEAD.pack(self._seq, entry, len(calls), spin) + struct.pack(f"<{len(numbers)}q", *numbers)
        where = f"{step.name} on {describe_shape(calls[0].shape)}"
        self._signal(signal.SIGCONT)
        began = time.perf_counter_ns()
        self._send(message)
        if self.pause_ns:
            self._pause()
        answer = self._receive(_REPLY.size, where)
        took = time.perf_counter_ns() - began
        at_reply = self._cpu_ns()
        self._freeze()
        took += self._cpu_ns() - at_reply  # whoever answers early and works on gains nothing by the wall clock either
        seq, status, mode = _REPLY.unpack(answer)
        if seq != self._seq or self._has_reply(0):
            told = (
                f"The answer during {where} is not the worker's: something else wrote it, or the kernel overwrote it."
            )
            raise Fault("forged-reply", told, f"sequence {seq}")
        return Reply(wall_ns=took, own_ns=self._charge_call(took), status=status, mode=mode)

    def _pause(self) -> None:
        """Stop it in the middle of its work, as a busy or suspended machine would; not if it has answered meanwhile."""
        before, length = self.pause_ns
        time.sleep(before / 1e9)
        self._signal(signal.SIGSTOP)
        if not self._has_reply(0):
            time.sleep(length / 1e9)
        self.was_paused = not self._has_reply(0)
        if self.was_paused:
            self._signal(signal.SIGCONT)

    def settle(self, seconds: float) -> int:
        """Let it run without a request: CPU nanoseconds it used meanwhile (an idle worker uses none)."""
        self._signal(signal.SIGCONT)
        time.sleep(seconds)
        self._signal(signal.SIGSTOP)
        if self._has_reply(0):
            raise Fault("forged-reply", "The worker answered although nothing was asked.")
        return self._charge()

    def pin(self, cores: set[int]) -> None:
        """Keep the worker, with every thread it has, on these cores."""
        for task in procfs.list_tasks(self._pid):
            try:
                os.sched_setaffinity(task, cores)
            except ProcessLookupError:
                continue  # it ended meanwhile
        if self._set_before:
            self._set_before["cores"] = str(sorted(self.cores))

    def uses_threads(self) -> bool:
        """Whether threads other than the first did a noticeable part of the work so far."""
        return self._cpu_ns() - procfs.read_main_thread_ns(self._pid) > 500_000

    @contextmanager
    def on_every_core(self) -> Iterator[None]:
        """Let the worker use whatever core this machine gives us, for a while."""
        kept = self.cores
        self.pin(set(range(os.cpu_count() or 1)))
        try:
            yield
        finally:
            self.pin(kept)

    @property
    def replies(self) -> int:
        """Requests it has answered."""
        return self._replies

    @property
    def pid(self) -> int:
        """The process the kernel runs in."""
        return self._pid

    @property
    def cores(self) -> set[int]:
        """Where it may run."""
        return os.sched_getaffinity(self._pid)

    def children(self) -> int:
        """Processes the kernel started that still live (the filter forbids it; where there is no filter this sees
        it).
        """
        return procfs.count_children(self._pid)

    @property
    def charged_ns(self) -> int:
        """CPU nanoseconds of the worker so far."""
        return self._charged_ns

    def uncharged_ns(self) -> int:
        """CPU nanoseconds that processes other than the worker used for it since the kernel was loaded."""
        return self.account.read_ns() - self._cpu_ns() - self._foreign_ns

    def count_holdings(self) -> dict[str, int]:
        """What the worker has taken from the system by now, since it was loaded; memory it shares with us is not
        counted.
        """
        now = procfs.count_holdings(self._pid)
        return {what: now[what] - self._at_load.get(what, 0) for what in now}

    def inspect(self) -> dict[str, list[str]]:
        """What the system tells of the process, beside what it was before the kernel was loaded; cores: where we put it."""
        now = procfs.read_settings(self._pid)
        changed = [name for name, value in now.items() if value != self._set_before.get(name, value)]
        return {"changed": sorted(changed), "looked": sorted(now)}

    def mapped_files(self) -> frozenset[str]:
        """Files whose code is in the worker."""
        return procfs.read_mapped_files(self._pid)

    def close(self) -> None:
        """End it and whatever it left, once."""
        if self._is_closed:
            return
        self._is_closed = True
        for pid in (self._pid, self._started.process.pid):
            if pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self._started.process.wait()
        for fd in (self._started.request, self._started.reply):
            os.close(fd)
        self.account.close()
        self._pid = 0

    def _send(self, message: bytes) -> None:
        try:
            os.write(self._started.request, message)
        except BrokenPipeError:
            raise self._death("before a call") from None

    def _receive(self, count: int, where: str) -> bytes:
        data = b""
        limit_s = START_LIMIT_S if where == STARTING else self.kernel.timeout_s
        began, kept_waiting = time.monotonic(), None
        while len(data) < count:
            left = limit_s - (time.monotonic() - began)
            if left <= 0:
                self._lose_patience(where, limit_s, began, kept_waiting or 0)
            if not self._has_reply(min(max(left, 0.0), 0.2)):
                if kept_waiting is None:  # hardly any request takes so long; until now it may have waited all the time
                    kept_waiting = procfs.read_kept_waiting_ns(self._pid) - int((time.monotonic() - began) * 1e9)
                # It stopped itself twice (only one we had to stop does). A reply lies in the pipe before its writer
                # stops,
                # so look there once more: to continue one that has just replied would let it run with nothing to do.
                if self._pid and self._state() in "Tt" and not self._has_reply(0):
                    self._signal(signal.SIGCONT)
                continue
            more = os.read(self._started.reply, count - len(data))
            if not more:
                raise self._death(where)
            data += more
        return data

    def _has_reply(self, seconds: float) -> bool:
        return has_input(self._started.reply, seconds)

    def _lose_patience(self, where: str, limit_s: float, began: float, kept_waiting: int) -> None:
        """The limit is over: the kernel's fault only as far as it was not waiting for a core meanwhile."""
        if where == STARTING:  # nothing of the kernel has run: it is not to blame
            raise BenchError(
                f"The worker did not start within {limit_s:g} s.", hint="Try again when the machine is less busy."
            )
        spent = time.monotonic() - began
        queued = (procfs.read_kept_waiting_ns(self._pid) - kept_waiting) / 1e9 if self._pid else 0.0
        if spent - queued > limit_s:
            told = f"{spent:.0f} s on the wall clock, {queued:.1f} s of them waiting for a core"
            raise Fault("answers-in-time", f"No answer within {limit_s:g} s during {where}.", told)
        if spent > PATIENCE * limit_s:
            raise Disturbed(
                f"A call was not finished after {spent:.0f} s, because the cores were busy with other work."
            )
        time.sleep(0.05)

    def _death(self, where: str) -> Fault:
        code = self._started.process.wait(timeout=10)
        said = self._started.said.read_text(errors="replace").strip()[-600:]
        evidence = (f"it printed: {said}",) if said else ()
        if is_signal(code, signal.SIGSYS):
            return Fault(
                "forbidden-call",
                f"The sandbox ended the worker during {where}: the kernel tried to start a process or program, "
                "or to touch another process.",
                *evidence,
            )
        return Fault("survives", f"The worker died during {where}: {describe_ending(code)}.", *evidence)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            raise self._death("a pause between calls") from None

    def _freeze(self) -> None:
        """Wait until the worker has stopped itself, as it does right after each reply; stop it if it does not."""
        self._replies += 1
        for attempt in range(20):
            if self._state() in "Tt":
                return
            time.sleep(0.00005 if attempt else 0)
        own, whole = procfs.read_main_thread_ns(self._pid), self._cpu_ns()
        for attempt in range(200):
            state = self._state()
            if state in "Tt":
                return
            time.sleep(0.001)
            is_working = procfs.read_main_thread_ns(self._pid) - own > LATE_WORK_NS
            is_waiting = state == "S" and attempt >= 30 and self._cpu_ns() == whole  # for a request, not for a core
            if is_working or is_waiting:
                self._unstopped += 1
                break
        self._signal(signal.SIGSTOP)
        if self._unstopped >= max(UNSTOPPED, UNSTOPPED_SHARE * self._replies):
            raise Fault(
                "late-work",
                f"The worker did not stop after {self._unstopped} of its {self._replies} replies: "
                "something has taken over the loop that serves the calls.",
                "it used CPU time, or waited for the next request, when it should have been stopped",
            )

    def _state(self) -> str:
        """One letter as in proc(5), `T` for stopped."""
        state = procfs.read_state(self._pid)
        if state in ("", "Z", "X"):
            raise self._death("a pause between calls")
        return state

    def _cpu_ns(self) -> int:
        try:
            return time.clock_gettime_ns(self._clock)
        except OSError:
            raise self._death("a pause between calls") from None

    def _charge_call(self, wall_ns: int) -> int:
        """What a call used. A process counts as stopped a moment before it leaves its core, and only then is its time
        booked.

        A virtual machine whose host took the core away subtracts that, from whoever runs next: a short call may then
        have used no time at all. It is charged by the wall clock instead, which never says less, and counted.
        """
        for _ in range(BOOKING_TRIES):
            used = self._charge()
            if used > 0:
                return used
            time.sleep(0.0002)
        self.stood_still += 1
        return wall_ns

    def _charge(self) -> int:
        now = self._cpu_ns()
        used, self._charged_ns = now - self._charged_ns, now
        return used
