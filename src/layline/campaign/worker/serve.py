"""Answer call requests with a loaded kernel. Runs as a script: `python -I -S SCRIPT REQUEST_FD REPLY_FD ARENA_FD`.

The first request is the configuration, marshalled: kernel path, entry points, folders. The second, one byte, is to load the
kernel. The others are calls:
`seq, entry, count, spin` and per call the buffer offsets and the sizes. The reply is `seq, status, floating-point
mode`;
nobody believes it beyond "the call is over": outputs, clocks and the verdict belong to the parent.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # a run starts dozens of workers: what is imported here is paid for in each
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

HEAD = struct.Struct("<QIIQ")
REPLY = struct.Struct("<Qqq")
M_PERTURB = -6
"""Option of glibc's allocator: fill what is handed out and what is given back."""
READY, FAILED = 1, 2
SIGSTOP = 19
"""On x86-64 and aarch64 alike."""
_MAGIC = 16
"""Bytes of a compiled file before its code."""


def _load_script(path: str) -> ModuleType:
    """A script of ours, compiled."""
    with open(path, "rb") as file:  # noqa: PTH123
        code = marshal.loads(file.read()[_MAGIC:])  # noqa: S302
    module = type(sys)("script")
    exec(code, module.__dict__)  # noqa: S102
    return module


def _import(path: str) -> ModuleType:
    """A kernel in Python."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("kernel", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _read(fd: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.read(fd, count - len(data))
        if not more:
            os._exit(0)  # the parent is gone or done
        data += more
    return data


def _load_c(config: dict[str, Any]) -> list[Callable[..., Any]]:
    library = ctypes.CDLL(config["kernel"])
    functions = []
    for entry in config["entries"]:
        function = _find(library, entry["symbol"])
        function.argtypes = [ctypes.c_void_p] * entry["buffers"] + [ctypes.c_int64] * entry["sizes"]
        function.restype = ctypes.c_int
        functions.append(function)
    return functions


def _find(kernel: Any, name: str) -> Any:
    function = getattr(kernel, name, None)
    if function is None:
        raise AttributeError(f"it has no function `{name}`.")
    return function


def _load_python(config: dict[str, Any], arena: mmap.mmap) -> list[Callable[..., Any]]:
    module = _import(config["kernel"])
    view = memoryview(arena)
    return [_adapt(_find(module, entry["symbol"]), entry, view) for entry in config["entries"]]


def _adapt(function: Callable[..., Any], entry: dict[str, Any], view: memoryview) -> Callable[..., Any]:
    """Offsets and sizes to typed memory views and sizes; the return value must be None or 0."""
    formats, count = entry["formats"], entry["buffers"]

    def call(*numbers: int) -> int:
        offsets, lengths, sizes = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
        views = [view[o : o + n].cast("B").cast(f) for o, n, f in zip(offsets, lengths, formats, strict=True)]
        answer = function(*views, *sizes)
        return 0 if answer is None else int(answer)

    return call


def unpack_mode(state: bytes, machine: str) -> int:
    """The mode in a `fenv_t` as this processor's C library has it; sticky exception flags are not a mode."""
    if machine in ("aarch64", "arm64"):
        (control,) = struct.unpack_from("<I", state)  # FPCR; the status register behind it holds the flags
        return int(control & 0x07FF9F07)
    control, mxcsr = struct.unpack_from("<H26xI", state)  # x86-64: x87 control word at 0, MXCSR at 28
    return int((mxcsr & 0xFFC0) << 16 | control & 0xFFF)


class FloatingPoint:
    """The floating-point mode: rounding, flush-to-zero. Set to the default before, told after each call."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libm.so.6")
        self._state = ctypes.create_string_buffer(64)
        self._default = ctypes.c_void_p(-1)
        self._machine = os.uname().machine

    def reset(self) -> None:
        self._library.fesetenv(self._default)

    def read(self) -> int:
        self._library.fegetenv(self._state)
        return unpack_mode(self._state.raw, self._machine)


def serve(config: dict[str, Any], functions: list[Callable[..., Any]], base: int, fds: tuple[int, int]) -> None:
    request, reply = fds
    state = FloatingPoint()
    me = os.getpid()
    while True:
        seq, entry, count, spin = HEAD.unpack(_read(request, HEAD.size))
        described = config["entries"][entry]
        buffers = described["buffers"]
        width = described["numbers"]
        numbers = struct.unpack(f"<{count * width}q", _read(request, 8 * count * width))
        calls = [numbers[at : at + width] for at in range(0, len(numbers), width)]
        calls = [(*(base + offset for offset in call[:buffers]), *call[buffers:]) for call in calls]
        function = functions[entry]
        status = 0
        state.reset()
        for call in calls:
            status |= function(*call)
        mode = state.read()
        for _ in range(spin):
            pass
        os.write(reply, REPLY.pack(seq, status, mode))
        os.kill(me, SIGSTOP)  # nothing of this process runs on after the reply; the parent thaws it


def _confine(config: dict[str, Any], reply: int) -> list[str]:
    """Enter the sandbox; what is weaker than wanted."""
    confine = _load_script(config["confine"])
    confine.die_with_parent()
    weaker: list[str] = []
    if config["is_confined"]:
        weaker += confine.enter_namespaces()
    confine.fork_inside(reply)  # the outer process passes the end on and never sees the kernel
    if config["is_confined"] and not weaker:
        seen = (*confine.prefixes(), os.path.dirname(config["kernel"]))  # noqa: PTH120
        weaker += confine.build_root(config["root"], seen, (), tuple(config["masked"]))
    confine.limit_resources(config["memory_bytes"])
    weaker += confine.drop_privileges()
    if config["is_confined"]:
        weaker += confine.forbid_system_calls()
    return weaker


def _touch(arena: mmap.mmap) -> None:
    """Map every page now, or the first call on each place would pay for it and a young process look slow beside an old
    one.

    After the fork: the system leaves page tables of shared memory behind.
    """
    arena[:: mmap.PAGESIZE] = bytes(-(-len(arena) // mmap.PAGESIZE))


def _hide(arena: mmap.mmap, count: int) -> None:
    """Nobody may read the last bytes: a call whose input ends before them and that reads on does not survive."""
    library = ctypes.CDLL(None, use_errno=True)
    base = ctypes.addressof(ctypes.c_char.from_buffer(arena))
    if library.mprotect(ctypes.c_void_p(base + len(arena) - count), ctypes.c_size_t(count), 0):
        raise OSError(ctypes.get_errno(), "mprotect")


def main() -> None:
    request, reply, arena_fd = (int(word) for word in sys.argv[1:])
    (length,) = struct.unpack("<Q", _read(request, 8))
    config = marshal.loads(_read(request, length))  # noqa: S302
    arena = mmap.mmap(arena_fd, config["arena_bytes"], flags=mmap.MAP_SHARED)
    os.close(arena_fd)
    told = "\n".join(_confine(config, reply)).encode()
    _touch(arena)
    _hide(arena, config["hidden_bytes"])
    if config["stale"]:
        ctypes.CDLL(None).mallopt(M_PERTURB, config["stale"])
    os.write(reply, struct.pack("<II", READY, len(told)) + told)
    _read(request, 1)  # several start at once, but each loads its kernel when it is told to
    try:
        functions = _load_python(config, arena) if config["language"] == "python" else _load_c(config)
    except (OSError, AttributeError, ImportError, SyntaxError) as error:
        told = str(error).encode()[:4000]
        os.write(reply, struct.pack("<II", FAILED, len(told)) + told)
        os._exit(3)
    base = 0 if config["language"] == "python" else ctypes.addressof(ctypes.c_char.from_buffer(arena))
    os.write(reply, struct.pack("<II", READY, FloatingPoint().read()))  # as loading the kernel left it
    os.kill(os.getpid(), SIGSTOP)
    serve(config, functions, base, (request, reply))


if __name__ == "__main__":
    main()
