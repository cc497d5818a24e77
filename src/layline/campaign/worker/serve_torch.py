"""Answer call requests with a torch or Triton kernel. Runs as a script: `python -I SCRIPT REQUEST_FD REPLY_FD`.

Standard library, torch and triton of the machine alone. The first message is the configuration, the second one says
"load", all others ask for calls or for an inspection. Every message is a length and JSON; a reply to calls is
`seq, status, device milliseconds, length of text`. The parent believes none of it: it holds its own clock beside the
device time told here, reads the outputs itself, and owns inputs, reference and verdict.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib.util
import json
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

REPLY = struct.Struct("<QqdI")
LENGTH = struct.Struct("<Q")
LEAD = 40_000_000
"""Turns of the device's empty loop that keep a stream busy, some twenty milliseconds."""
STREAMS = 8
STALE = (1 << 8, 1 << 18, 1 << 21, 1 << 26)
"""Numbers in blocks that are filled and given back: of every pool of torch's allocator."""
QUEUE_WORD = 0
"""Where in the shared memory the word lies that calls are queued behind, in words of four bytes."""
EQUAL = 1
"""CU_STREAM_WAIT_VALUE_EQ"""
PERSISTING_L2 = 6
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE"""
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38


def _read(fd: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.read(fd, count - len(data))
        if not more:
            os._exit(0)  # the parent is gone or done
        data += more
    return data


def _receive(fd: int) -> Any:
    (length,) = LENGTH.unpack(_read(fd, LENGTH.size))
    return json.loads(_read(fd, length))


def _tell(fd: int, what: object) -> None:
    data = json.dumps(what).encode()
    os.write(fd, LENGTH.pack(len(data)) + data)


def confine() -> list[str]:
    """Give up what can be given up here; what stays is told by name."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    weaker = [
        "the worker sees this machine's files: torch, the driver and Triton's compiler need them",
        "the worker may start programs: Triton's compiler does",
    ]
    if libc.unshare(CLONE_NEWNET) != 0:
        weaker.append(f"the network is not closed to it: {os.strerror(ctypes.get_errno())}")
    return weaker


class Device:
    """Clock, quiescence and memory of the device, by functions taken before the kernel is loaded."""

    def __init__(self, torch: Any, config: dict[str, Any]) -> None:
        self.is_cuda = config["device"] != "cpu"
        self._torch = torch
        self._arena = _open_arena(torch, config)
        self._typed = {name: self._arena.view(getattr(torch, name)) for name in config["dtypes"]}
        self._clock = time.perf_counter_ns
        if self.is_cuda:
            torch.cuda.init()
            self._stream = torch.cuda.default_stream()
            self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            base = torch._C._CudaEventBase
            self._record, self._elapsed, self._wait = base.record, base.elapsed_time, torch._C._cuda_synchronize
            self._sleep = torch._C._cuda_sleep
            self._sleep(1)  # what is loaded at its first use cannot be loaded while calls are queued
            self._profile = torch.profiler.profile
            self._activities = [torch.profiler.ProfilerActivity.CUDA]
            self._driver = _open_driver()
            self._wait_for_word = _find_wait(self._driver, torch, self._arena.data_ptr() + 4 * QUEUE_WORD)
            self._callers = torch.cuda.Stream()
            self._several = [torch.cuda.Stream() for _ in range(STREAMS)]
            self._on = torch.cuda.stream
            if config.get("stale"):  # blocks that were given back are handed out again with what was in them
                for count in STALE:
                    torch.full((count,), 7.0, device=config["device"])
            if config.get("profiled"):  # its first start takes seconds, which need not pass while a probe waits
                self.watch(lambda: None)
        self._names = list(_find_watched(torch, is_cuda=self.is_cuda))
        self._before = self._look()

    def view(self, described: list[Any]) -> Any:
        """One argument of a call: `[dtype, offset in elements, extents, strides or nothing]`."""
        dtype, offset, extents, *given = described
        strides, step = [], 1
        for extent in reversed(extents):
            strides.append(step)
            step *= max(1, extent)
        return self._typed[dtype].as_strided(extents, given[0] if given else strides[::-1], offset)

    def time(self, work: Callable[[], None], spin: int, lead: int) -> float:
        """Milliseconds between two device events around the work, then wait for everything the device was given."""
        if not self.is_cuda:
            began = self._clock()
            work()
            for _ in range(spin):
                pass
            return (self._clock() - began) / 1e6
        if lead:  # the work is launched while this runs, so that launching it is not in the time
            self._sleep(lead)
        self._record(self._start, self._stream)
        work()
        if spin:
            self._sleep(spin)
        self._record(self._end, self._stream)
        self._wait()
        return float(self._elapsed(self._start, self._end))

    def queue(self, work: Callable[[], None], word: int, spin: int, launched: Callable[[], None]) -> float:
        """As `time`, but the device begins when the parent writes that word: the work has been launched by then, and its
        inputs lie there only from then on.
        """
        if not self.is_cuda:
            launched()
            words = self._arena.view(self._torch.int32)
            while int(words[QUEUE_WORD]) != word:
                time.sleep(0)
            return self.time(work, spin, 0)
        if self._wait_for_word is None:
            raise RuntimeError("calls cannot be queued here")
        self._wait_for_word(word)
        self._record(self._start, self._stream)
        try:
            work()
            if spin:
                self._sleep(spin)
            self._record(self._end, self._stream)
        finally:
            launched()
        self._wait()
        return float(self._elapsed(self._start, self._end))

    @property
    def can_queue(self) -> bool:
        """Whether the device can wait for a word in memory; on the host it is rehearsed."""
        return not self.is_cuda or self._wait_for_word is not None

    def order(
        self, work: Callable[[], None], before: list[Any], after: list[Any], launched: Callable[[], None]
    ) -> None:
        """Inputs arrive on the caller's stream just before the work, outputs are taken on it right after: nobody else
        waits; when the work has returned is told at once.

        What does not keep the stream's order reads inputs that are not there yet, or has not written when it is read.
        """
        if not self.is_cuda:
            self._move(before)
            work()
            launched()
            self._move(after)
            return
        with self._on(self._callers):
            self._sleep(LEAD)
            self._move(before)
            work()
            launched()
            self._move(after)
        self._wait()

    def spread(self, works: list[Callable[[], None]]) -> None:
        """Every work on a stream of its own, all of them at once."""
        if not self.is_cuda:
            for work in works:
                work()
            return
        for at, work in enumerate(works):
            with self._on(self._several[at % STREAMS]):
                if at < STREAMS:
                    self._sleep(LEAD)
                work()
        self._wait()

    def run_apart(self, work: Callable[[], None]) -> None:
        """In a thread that has just begun, as backward passes are; what it raises is raised here."""
        raised: list[Exception] = []

        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  whoever waits raises it
                raised.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if raised:
            raise raised[0]

    def _move(self, pairs: list[Any]) -> None:
        for target, source in pairs:
            self.view(target).copy_(self.view(source))

    def watch(self, work: Callable[[], None]) -> dict[str, float]:
        """Microseconds by the name of every kernel, copy and fill the device ran for the work."""
        if not self.is_cuda:
            work()
            return {}
        self._wait()
        with self._profile(activities=self._activities) as profile:
            work()
            self._wait()
        seen: dict[str, float] = {}
        for event in profile.events():
            if event.device_type == self._torch.autograd.DeviceType.CUDA:
                seen[event.name] = seen.get(event.name, 0.0) + float(event.time_range.elapsed_us())
        return seen

    def inspect(self) -> dict[str, Any]:
        """What a kernel has no business changing, and whether it did."""
        now = self._look()
        changed = sorted(name for name, value in now.items() if value != self._before[name])
        return {"changed": changed, "looked": sorted(now), "threads": len(os.listdir("/proc/self/task"))}  # noqa: PTH208  no pathlib needed

    def _look(self) -> dict[str, Any]:
        torch = self._torch
        seen: dict[str, Any] = {}
        for name, owner, attribute in self._names:
            value = getattr(owner, attribute)
            seen[name] = (id(value), id(getattr(value, "__code__", None)))
        for name, owner, attributes in (
            ("matmul flags", torch.backends.cuda.matmul, _PRODUCTS),
            ("convolution flags", torch.backends.cudnn, ("allow_tf32", "deterministic", "benchmark", "enabled")),
        ):
            seen[name] = [_ask(owner, attribute) for attribute in attributes]
        seen["float32 precision"] = torch.get_float32_matmul_precision()
        seen["autograd"] = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled())
        seen["garbage collector"] = (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())
        seen["turns of threads"] = sys.getswitchinterval()
        depth = sys.getrecursionlimit()
        seen["depth of calls"] = 0 if DEPTH <= depth <= 10 * DEPTH else depth
        seen["working folder"] = os.getcwd()  # noqa: PTH109  no pathlib needed
        seen["default type"] = str(torch.get_default_dtype())
        seen["deterministic algorithms"] = torch.are_deterministic_algorithms_enabled()
        seen["threads of torch"] = (torch.get_num_threads(), torch.get_num_interop_threads())
        seen["random generator"] = _digest(torch.get_rng_state())
        if self.is_cuda and self._driver is not None:
            size = ctypes.c_size_t()
            self._driver.cuCtxGetLimit(ctypes.byref(size), PERSISTING_L2)
            seen["persisting L2 limit"] = size.value
            seen["current stream"] = torch.cuda.current_stream().cuda_stream
            seen["random generator of the device"] = _digest(torch.cuda.get_rng_state())
        return seen

    def reset_cache(self) -> None:
        """Lines a kernel asked the L2 cache to keep lose that mark."""
        if self.is_cuda and self._driver is not None:
            self._driver.cuCtxResetPersistingL2Cache()


DEPTH = sys.getrecursionlimit()
"""As Python has it. Compilers raise it a little (torch.compile to 2,000); with much more a runaway recursion ends the process
instead of raising, with less others fail."""
_PRODUCTS = ("allow_tf32", "allow_bf16_reduced_precision_reduction", "allow_fp16_reduced_precision_reduction")


def _ask(owner: Any, attribute: str) -> str:
    """A flag; newer and older ways of setting one may contradict each other, and then reading it is refused."""
    try:
        return repr(getattr(owner, attribute))
    except (AttributeError, RuntimeError) as error:
        return type(error).__name__


def _digest(state: Any) -> str:
    return hashlib.sha256(bytes(state.tolist())).hexdigest()


def _find_watched(torch: Any, *, is_cuda: bool) -> list[tuple[str, Any, str]]:
    """Timers and waits: (name, owner, attribute)."""
    watched = [("time.perf_counter", time, "perf_counter"), ("time.perf_counter_ns", time, "perf_counter_ns")]
    watched += [("time.time", time, "time"), ("time.monotonic", time, "monotonic")]
    if is_cuda:
        event, stream = torch.cuda.Event, torch.cuda.Stream
        watched += [(f"torch.cuda.Event.{name}", event, name) for name in ("record", "elapsed_time", "synchronize")]
        watched += [("torch.cuda.Stream.synchronize", stream, "synchronize")]
        watched += [("torch.cuda.synchronize", torch.cuda, "synchronize"), ("torch.cuda.Event", torch.cuda, "Event")]
    return watched


def _open_arena(torch: Any, config: dict[str, Any]) -> Any:
    shared = config["arena"]
    if config["device"] == "cpu":
        memory = mmap.mmap(shared["fd"], shared["bytes"])
        return torch.frombuffer(memory, dtype=torch.uint8)
    words = [bytes.fromhex(word["hex"]) if isinstance(word, dict) else word for word in shared["handle"]]
    torch.cuda.init()
    storage = torch.UntypedStorage._new_shared_cuda(*words)
    whole = torch.empty(0, dtype=torch.uint8, device=config["device"]).set_(storage)
    return whole[shared["start"] : shared["start"] + shared["bytes"]]


def _open_driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def _find_wait(driver: Any, torch: Any, address: int) -> Callable[[int], None] | None:
    """Have the default stream wait for a word at that address; nothing where the driver or the device cannot."""
    wait = getattr(driver, "cuStreamWaitValue32_v2", None)
    stream, equal, place, number = ctypes.c_void_p(0), ctypes.c_uint(EQUAL), ctypes.c_uint64, ctypes.c_uint32
    nought = torch.zeros(1, dtype=torch.int32, device="cuda")
    if wait is None or wait(stream, place(nought.data_ptr()), number(0), equal):
        return None
    torch.cuda.synchronize()

    def wait_for(word: int) -> None:
        if failed := wait(stream, place(address), number(word), equal):
            raise RuntimeError(f"cuStreamWaitValue32: {failed}")

    return wait_for


def _load(path: str, symbols: list[str]) -> list[Callable[..., Any]]:
    spec = importlib.util.spec_from_file_location("kernel", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = module
    spec.loader.exec_module(module)
    return [getattr(module, symbol) for symbol in symbols]


def take_returned(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A kernel that returns its outputs: they are copied where they belong, after it and within its time."""

    def call(*given: Any) -> None:
        found = function(*given[:-count])
        for place, one in zip(given[-count:], found if isinstance(found, (tuple, list)) else (found,), strict=True):
            place.copy_(one)

    return call if count else function


def serve(functions: list[Callable[..., Any]], device: Device, request: int, reply: int) -> None:
    """Calls and inspections until the parent closes the pipe."""
    pack, write, receive, tell = REPLY.pack, os.write, _receive, _tell
    while True:
        message = receive(request)
        if "inspect" in message:
            tell(reply, device.inspect())
            continue
        function = functions[message["entry"]]
        status, text, took = 0, b"", 0.0

        # arguments are made inside the timed work: the next call's while the device is busy with this one
        def work(function: Callable[..., Any] = function, calls: Any = message["calls"]) -> None:
            for call in calls:
                function(*[device.view(one) for one in call])

        if "watch" in message:
            tell(reply, _watch(device, work))
            continue
        if "before" in message:
            tell(reply, _order(device, work, message, reply))
            continue
        if "spread" in message:
            tell(reply, _spread(device, function, message))
            continue
        if message["resets"]:
            device.reset_cache()
        try:
            if "word" in message:
                took = device.queue(work, message["word"], message["spin"], lambda: tell(reply, {"launched": True}))
            else:
                took = device.time(work, message["spin"], message["lead"])
        except Exception as error:  # noqa: BLE001  whatever the kernel raised is told to the parent
            status = 2 if type(error).__name__ == "OutOfMemoryError" else 1
            text = f"{type(error).__name__}: {error}".encode()[:2000]
        write(reply, pack(message["seq"], status, took, len(text)) + text)


def _watch(device: Device, work: Callable[[], None]) -> dict[str, Any]:
    try:
        return {"seen": device.watch(work)}
    except Exception as error:  # noqa: BLE001  as above
        return {"failed": f"{type(error).__name__}: {error}"[:2000]}


def _order(device: Device, work: Callable[[], None], message: Any, reply: int) -> dict[str, Any]:
    try:
        device.order(work, message["before"], message["after"], lambda: _tell(reply, {"launched": True}))
    except Exception as error:  # noqa: BLE001  as above
        return {"failed": f"{type(error).__name__}: {error}"[:2000]}
    return {"done": True}


def _spread(device: Device, function: Callable[..., Any], message: Any) -> dict[str, Any]:
    def prepare(call: Any) -> Callable[[], None]:
        arguments = [device.view(one) for one in call]
        return lambda: function(*arguments)

    try:
        works = [prepare(call) for call in message["calls"]]
        device.run_apart(lambda: device.spread(works))
    except Exception as error:  # noqa: BLE001  as above
        return {"failed": f"{type(error).__name__}: {error}"[:2000]}
    return {"done": True}


def main() -> None:
    request, reply = (int(word) for word in sys.argv[1:])
    config = _receive(request)
    weaker = confine()
    import torch

    device = Device(torch, config)
    versions = {"torch": torch.__version__}
    _tell(reply, {"weaker": weaker, "versions": versions, "queues": device.can_queue})
    _receive(request)  # "load": from here on nothing in this process is trusted
    try:
        loaded = _load(config["kernel"], config["symbols"])
        functions = [take_returned(one, count) for one, count in zip(loaded, config["returned"], strict=True)]
    except Exception as error:  # noqa: BLE001  a kernel that cannot be loaded is an answer
        _tell(reply, {"failed": f"{type(error).__name__}: {error}"[:4000]})
        os._exit(3)
    _tell(reply, {"loaded": True})
    serve(functions, device, request, reply)


if __name__ == "__main__":
    main()
