"""The parent's end of a worker on an accelerator: ask for calls, hold the wall clock, freeze it whenever none is
due.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from layline.campaign.devices.device import Filled, Reply
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.devices.gpu_company import OWN
from layline.campaign.devices.gpu_memory import DeviceArena, DeviceMemory
from layline.campaign.devices.nursery import Process, find_nursery, give_up_nursery, kill
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Operator
from layline.files import has_input

_WORKER = Path(__file__).parent.parent / "worker"
_REPLY = struct.Struct("<QqdI")
_LENGTH = struct.Struct("<Q")
_KEPT = ("PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_HOME", "ROCM_PATH", "CC")
_CACHES = ("TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR")
QUEUE_S = 1.0
"""How long queued calls may take to be launched: a call that waits for the device would wait for ever."""
START_S = 120.0
"""Importing torch and opening the device, with many neighbours doing the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a worker is to load, and where it may keep what it compiles."""

    path: Path
    operator: Operator
    cache: Path
    timeout_s: float = 60.0
    is_profiled: bool = False
    """Whether a profiler is made ready before the kernel is loaded, which takes seconds."""
    is_stale: bool = False
    """Whether memory that is allocated there was used before."""


class Worker:
    """A process with torch in it that holds one kernel; it runs only while something is asked of it."""

    def __init__(self, source: Source, shop: Path, script_name: str, fds: tuple[int, ...] = ()) -> None:
        self.source = source
        self.weaker: tuple[str, ...] = ()
        self.versions: dict[str, str] = {}
        self.queues = False
        """Whether calls can be queued there until their inputs are brought."""
        self._frozen = False
        self._is_closed = False
        self._is_ready = False
        self._load_ns = 0
        folder = Path(tempfile.mkdtemp(dir=shop))
        script = folder / f"{secrets.token_hex(4)}.py"
        shutil.copyfile(_WORKER / script_name, script)
        self._said = folder / "said"
        request_in, self._request = os.pipe()
        self._reply, reply_out = os.pipe()
        command = (str(script), str(request_in), str(reply_out))
        with self._said.open("wb") as output:
            begun = Begun(command, describe_environment(source.cache, folder), folder, output.fileno())
            self._process = begin(begun, (request_in, reply_out, *fds))
        OWN.add(self._process.pid)
        os.close(request_in)
        os.close(reply_out)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_ready(self) -> None:
        """Until torch is imported and the memory is open; the kernel is not in it yet."""
        if self._is_ready:
            return
        self._is_ready = True
        try:
            told = self._receive_json("start", START_S)
        except Fault as fault:  # no kernel is in it yet
            said = "".join(f" {one[-300:]}" for one in fault.evidence)
            raise Disturbed(f"A process that kernels run in could not start: {fault.reason}{said}") from None
        self.weaker, self.versions = tuple(told["weaker"]), told["versions"]
        self.queues = bool(told.get("queues"))

    def load(self) -> int:
        """Load the kernel, once; wall nanoseconds it took."""
        if not self._load_ns:
            began = time.perf_counter_ns()
            self._send({"load": True})
            told = self._receive_json("loading the kernel", self.source.timeout_s)
            if "failed" in told:
                raise Fault("loads", f"The kernel could not be loaded: {told['failed']}")
            self._freeze()
            self._load_ns = time.perf_counter_ns() - began
        return self._load_ns

    def resident_bytes(self) -> int:
        """Memory of its own that the process has on the host."""
        _size, resident, shared, *_rest = Path(f"/proc/{self._process.pid}/statm").read_text("ascii").split()
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """End it and whatever it left."""
        if self._is_closed:
            return
        self._is_closed = True
        kill(self._process)
        self._process.wait()
        os.close(self._request)
        os.close(self._reply)

    def _send(self, what: object) -> None:
        data = json.dumps(what).encode()
        self._write(_LENGTH.pack(len(data)) + data)

    def _write(self, data: bytes) -> None:
        try:
            os.write(self._request, data)
        except BrokenPipeError:
            raise self._death("a request") from None

    def _receive_json(self, where: str, limit_s: float) -> Any:
        (length,) = _LENGTH.unpack(self._receive(_LENGTH.size, where, limit_s))
        if length > 1 << 20:
            raise Fault("forged-reply", f"The worker's answer during {where} cannot be read.")
        return json.loads(self._receive(length, where, limit_s))

    def _receive(self, count: int, where: str, limit_s: float) -> bytes:
        data = b""
        deadline = time.monotonic() + limit_s
        while len(data) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not has_input(self._reply, left):
                raise Fault("answers-in-time", f"No answer within {limit_s:g} s during {where}.")
            more = os.read(self._reply, count - len(data))
            if not more:
                raise self._death(where)
            data += more
        return data

    def _death(self, where: str) -> Fault:
        code = self._process.wait(timeout=20)
        said = self._said.read_text(errors="replace").strip()[-1200:]
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Fault(
            "survives", f"The worker died during {where}: {name}.", *((f"it printed: {said}",) if said else ())
        )

    def _thaw(self) -> None:
        if self._frozen:
            os.kill(self._process.pid, signal.SIGCONT)
            self._frozen = False

    def _freeze(self) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGSTOP)
            self._frozen = True


class TorchWorker(Worker):
    """Answers calls of a kernel's passes on memory it shares with the parent."""

    stood_still = 0

    def __init__(self, source: Source, memory: DeviceMemory, shop: Path) -> None:
        arena = memory.arena
        super().__init__(source, shop, "serve_torch.py", (arena.fd,) if arena.fd >= 0 else ())
        self._memory = memory
        self._seq = int.from_bytes(os.urandom(4), "little")
        self.replies = 0
        self.lead = 0
        """Turns of the device's empty loop before the calls of a request, outside the device's own clock."""
        self._send(_configuration(source, arena))

    def call(self, calls: tuple[Filled, ...], *, spin: int = 0) -> Reply:
        """Have calls of one pass made; the worker is thawed for exactly that long.

        Queued calls are launched first; the clock begins when their inputs are brought.
        """
        where = self._name(calls[0])
        self._seq += 1
        is_queued = calls[0].is_queued
        message = {
            **self._describe(calls),
            "seq": self._seq,
            "spin": spin,
            "lead": self.lead,
            "resets": True,
            **({"word": self._memory.next_word()} if is_queued else {}),
        }
        data = json.dumps(message, separators=(",", ":")).encode()
        self._thaw()
        began = time.perf_counter_ns()
        self._write(_LENGTH.pack(len(data)) + data)
        launched = 0
        if is_queued:
            launched = self._wait_launched(where, began)
            stolen = self._memory.bring(calls)
            began = time.perf_counter_ns() - stolen
            if not launched:
                self._hear_launched(where, self.source.timeout_s)
        answer = self._receive(_REPLY.size, where, self.source.timeout_s)
        took = time.perf_counter_ns() - began
        seq, status, device_ms, length = _REPLY.unpack(answer)
        text = self._receive(length, where, 5.0).decode(errors="replace") if length else ""
        self._freeze()
        self.replies += 1
        if seq != self._seq or has_input(self._reply, 0):
            told = (
                f"The answer during {where} is not the worker's: something else wrote it, or the kernel overwrote it."
            )
            raise Fault("forged-reply", told, f"sequence {seq}")
        return Reply(wall_ns=took, own_ns=device_ms * 1e6, status=status, said=text, launched_ns=launched)

    def _wait_launched(self, where: str, began: int) -> int:
        """How long queued calls took to be launched; 0 where one of them waits for the device, which waits for us."""
        if not has_input(self._reply, QUEUE_S):
            return 0
        self._hear_launched(where, 5.0)
        return time.perf_counter_ns() - began

    def _hear_launched(self, where: str, limit_s: float) -> None:
        if self._receive_json(where, limit_s) != {"launched": True}:
            raise Fault("forged-reply", f"The worker's answer during {where} cannot be read.")

    def _describe(self, calls: tuple[Filled, ...]) -> dict[str, Any]:
        entry = self.source.operator.passes.index(calls[0].step)
        return {"entry": entry, "calls": [self._memory.describe(one) for one in calls]}

    def _name(self, call: Filled) -> str:
        return f"{call.step.name} on {describe_shape(call.shape)}"

    def count_holdings(self) -> dict[str, int]:
        """Memory in use on the device by anybody but us, and by the worker on the host: what we draw and compare is ours."""
        import torch

        on_device = 0
        if self._memory.arena.device != "cpu":
            free, whole = torch.cuda.mem_get_info()
            on_device = int(whole - free) - int(torch.cuda.memory_reserved())
        return {"KiB of device and host": (on_device + self.resident_bytes()) >> 10}

    def inspect(self) -> dict[str, Any]:
        """What the trusted part of the worker says was changed in it."""
        self._thaw()
        self._send({"inspect": True})
        found: dict[str, Any] = self._receive_json("an inspection", self.source.timeout_s)
        self._freeze()
        return found

    def settle(self, seconds: float) -> int:
        """Let it run without a request: whatever it left going goes on. Processor time is not what counts here: 0."""
        self._thaw()
        time.sleep(seconds)
        self._freeze()
        if has_input(self._reply, 0):
            raise Fault("forged-reply", "The worker answered although nothing was asked.")
        return 0

    def order(self, call: Filled, moves: tuple[list[Any], list[Any]]) -> float:
        """One call whose inputs arrive on the caller's stream just before it, and whose outputs are taken on it after; the
        share of all that time after which the call had returned.
        """
        where = self._name(call)
        began = time.perf_counter_ns()
        told = self._ask_more({**self._describe((call,)), "before": moves[0], "after": moves[1]}, where)
        launched = time.perf_counter_ns() - began
        if "launched" not in told:
            raise Fault("forged-reply", f"The worker's answer during {where} cannot be read.")
        self._hear_more(where)
        return launched / (time.perf_counter_ns() - began)

    def spread(self, calls: tuple[Filled, ...]) -> None:
        """Calls on streams of their own, all of them at once."""
        self._ask_more({**self._describe(calls), "spread": True}, self._name(calls[0]))

    def watch(self, calls: tuple[Filled, ...]) -> dict[str, float]:
        """Have calls made under the profiler: device microseconds by the name of what ran there."""
        told = self._ask_more({**self._describe(calls), "watch": True}, self._name(calls[0]))
        return {str(name): float(took) for name, took in told["seen"].items()}

    def _ask_more(self, message: dict[str, Any], where: str) -> Any:
        self._thaw()
        self._send(message)
        return self._hear_more(where)

    def _hear_more(self, where: str) -> Any:
        told = self._receive_json(where, self.source.timeout_s)
        if "launched" not in told:  # there is more to come
            self._freeze()
        if "failed" in told:
            raise Fault("supports-shape", f"The kernel raised an error during {where}: {told['failed']}")
        return told


@dataclass(frozen=True, slots=True)
class Begun:
    """A worker's command and surroundings."""

    command: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    output: int


def begin(what: Begun, fds: tuple[int, ...]) -> Process:
    """Fork it from a process that has imported torch; where that cannot be, start it."""
    nursery = find_nursery(keep_environment())
    if nursery is not None:
        with Path(os.devnull).open("rb") as nothing:
            numbers = {nothing.fileno(): 0, what.output: 1, **{fd: fd for fd in fds}}
            try:
                return nursery.fork(what.command, what.environment, what.folder, numbers)
            except OSError:
                give_up_nursery()
    return subprocess.Popen(
        (sys.executable, "-I", *what.command),
        stdin=subprocess.DEVNULL,
        stdout=what.output,
        stderr=subprocess.STDOUT,
        pass_fds=fds,
        env=what.environment,
        cwd=what.folder,
        start_new_session=True,
    )


def keep_environment() -> dict[str, str]:
    """What of ours is in every worker's environment."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}


def describe_environment(cache: Path, folder: Path) -> dict[str, str]:
    """The same for every leg; nothing in it tells that a benchmark runs. What one process compiles the arm's next ones
    find: extensions in CUDA take a minute each.
    """
    ours = {"HOME": str(folder), **dict.fromkeys(_CACHES, str(cache))}
    return {**keep_environment(), **ours, **({"TRITON_INTERPRET": "1"} if os.environ.get("TRITON_INTERPRET") else {})}


def _configuration(source: Source, arena: DeviceArena) -> dict[str, Any]:
    operator = source.operator
    return {
        "device": arena.device,
        "arena": arena.share(),
        "dtypes": sorted({buffer.dtype for buffer in operator.buffers}),
        "kernel": str(source.path),
        "profiled": source.is_profiled,
        "stale": source.is_stale,
        "symbols": [step.symbol for step in operator.passes],
        "returned": [len(step.outputs) if operator.returns else 0 for step in operator.passes],
    }
