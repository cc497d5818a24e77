"""Compile a snapshot, anew each time, in a folder of its own where nothing else can be read."""

from __future__ import annotations

import ast
import hashlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from layline.campaign.devices.processor import native_flag
from layline.campaign.devices.sandbox import confine
from layline.campaign.values.measurement import Build
from layline.campaign.values.operator import Operator, Snapshot
from layline.errors import BenchError, Ended

SOURCES = {"c": (".c", ".h"), "python": (".py",), "triton": (".py",), "torch": (".py",)}
ALIGNED = ("-falign-functions=64", "-falign-loops=64")
"""Where a loop lies inside a line of the cache no longer depends on what stands before it in the file."""
FLAGS: tuple[str, ...] = (
    "-O2",
    native_flag(),
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-fopenmp",
    "-Wl,--build-id=none",
    *ALIGNED,
    "-Wno-builtin-macro-redefined",
    '-D__TIMESTAMP__="Tue Jan  1 00:00:00 1980"',
)
_NO_CLOCK = {"SOURCE_DATE_EPOCH": "315532800"}
"""`__DATE__` and `__TIME__` are always the same: a kernel that knows when it was built could be fast until a day."""
LIBRARIES = ("-lm", "-lpthread", "-ldl")
IN_MEMORY = "-O0"
"""Of our own programs: what they know is in memory, not in registers that a kernel may spoil; they build in half the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A kernel that can be loaded."""

    build: Build
    path: Path
    """The shared object or the Python module."""
    units: tuple[str, ...] = ()
    """Object files beside it, for linking it again at another place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBuilt:
    """The compiler refused; its words."""

    reason: str

    @property
    def error(self) -> str:
        """The first error among them, in a line; where none is called so, the last line."""
        lines = self.reason.splitlines() or [""]
        return next((text for line in lines if (text := line.partition(" error: ")[2])), lines[-1].strip())


@contextmanager
def workshop() -> Iterator[Path]:
    """A private folder for one measuring run, gone afterwards, also where the process is asked to end."""
    folder = Path(tempfile.mkdtemp(prefix="k"))
    try:
        with _ending_by_exception():
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Being asked to end unwinds what is open, as an interrupt does: workers are ended and folders removed."""
    is_ours = (
        threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if not is_ours:
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(number: int, _frame: object) -> None:
    raise Ended(128 + number)


def build_kernel(snapshot: Snapshot, operator: Operator, shop: Path, *, timeout_s: float = 120) -> Built | NotBuilt:
    """Compile the snapshot's sources; whatever else it holds is dropped, not punished."""
    kept = tuple(
        (name, add_shim(operator, text))
        for name, text in snapshot.files
        if Path(name).suffix in SOURCES[operator.language]
    )
    dropped = tuple(name for name, _text in snapshot.files if name not in dict(kept))
    folder = Path(tempfile.mkdtemp(dir=shop))
    for name, text in kept:
        path = folder / name
        if not path.resolve().is_relative_to(folder):
            return NotBuilt(reason=f"{name} lies outside the kernel's folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if operator.language != "c":
        return _take_python(kept, folder, dropped)
    units = [name for name, _text in kept if name.endswith(".c")]
    if not units:
        return NotBuilt(reason="there is no .c file in the snapshot")
    command = ("cc", *FLAGS, "-o", "kernel.so", *units, *LIBRARIES)
    objects = tuple(f"unit{at}.o" for at in range(len(units)))
    steps = [("cc", *FLAGS, "-c", "-o", made, unit) for made, unit in zip(objects, units, strict=True)]
    failure = compile_confined(chain(*steps, link("kernel.so", objects)), folder, shop, timeout_s)
    if failure:
        return NotBuilt(reason=failure)
    compiler = read_compiler()
    build = Build(
        build_id=_hash(repr((kept, command, compiler)).encode()),
        binary_hash=_hash((folder / "kernel.so").read_bytes()),
        command=command,
        compiler=compiler,
        dropped=dropped,
    )
    return Built(build=build, path=folder / "kernel.so", units=objects)


def dress(snapshot: Snapshot | None, operator: Operator) -> Snapshot | None:
    """Its sources as they are built: two that differ only in what we put behind them are one kernel."""
    return snapshot and Snapshot(files=tuple((name, add_shim(operator, text)) for name, text in snapshot.files))


def add_shim(operator: Operator, text: str) -> str:
    """A kernel in a foreign form gets what turns it into ours; one that has the function already does not."""
    if not operator.shim or f"def {operator.passes[0].symbol}(" in _drop_methods(text):
        return text
    return _put_before(operator.prelude, text) + operator.shim


def _put_before(prelude: str, text: str) -> str:
    """Behind what must come first in a module: its docstring and imports from the future."""
    try:
        body = ast.parse(text).body if prelude else []
    except SyntaxError:
        return text  # the build says what is wrong
    line = 0
    for at, node in enumerate(body):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if at == 0:
                line = node.end_lineno or 0
            case ast.ImportFrom(module="__future__"):
                line = node.end_lineno or 0
            case _:
                break
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:line], prelude, *lines[line:]])


def _drop_methods(text: str) -> str:
    """Only what begins at the margin: a method called forward is not the pass."""
    return "\n".join(line for line in text.splitlines() if not line.startswith((" ", "\t")))


def chain(*commands: tuple[str, ...]) -> tuple[str, ...]:
    """Several commands as one, for one visit to the sandbox."""
    return ("sh", "-c", " && ".join(shlex.join(command) for command in commands))


def abreast(*commands: tuple[str, ...]) -> tuple[str, ...]:
    """The same for commands that do not need one another: all at once."""
    begun = " ".join(f'{shlex.join(command)} & begun="$begun $!";' for command in commands)
    return ("sh", "-c", f"begun=; {begun} for one in $begun; do wait $one || exit 1; done")


def link(made: str, objects: Sequence[str]) -> tuple[str, ...]:
    """Put objects together to something that can be loaded."""
    return ("cc", *FLAGS, "-o", made, *objects, *LIBRARIES)


def _take_python(kept: tuple[tuple[str, str], ...], folder: Path, dropped: tuple[str, ...]) -> Built | NotBuilt:
    try:
        for name, text in kept:
            compile(text, name, "exec")
    except (SyntaxError, ValueError) as error:
        return NotBuilt(reason=str(error))
    main = "kernel.py" if (folder / "kernel.py").is_file() else kept[0][0] if len(kept) == 1 else ""
    if not main:
        return NotBuilt(reason="the snapshot has no kernel.py, and does not have exactly one Python file")
    identity = _hash(repr((kept, sys.version)).encode())
    build = Build(
        build_id=identity,
        binary_hash=identity,
        command=(),
        compiler=f"Python {sys.version.split()[0]}",
        dropped=dropped,
    )
    return Built(build=build, path=folder / main)


def compile_confined(
    command: tuple[str, ...], folder: Path, shop: Path, timeout_s: float, *, made: str = "kernel.so"
) -> str:
    """The compiler's complaint, empty if there is none. Confined: sources cannot include what they should not see."""
    wrapped = confine(shop, folder, *command)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TMPDIR": str(folder), **_NO_CLOCK}
    try:
        done = subprocess.run(
            wrapped, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the compiler did not finish within {timeout_s:g} s"
    if done.returncode == 0 and (folder / made).is_file():
        return ""
    return done.stderr.strip()[-4000:] or f"the compiler ended with {done.returncode}"


@cache
def read_compiler() -> str:
    """The compiler's own first line."""
    try:
        done = subprocess.run(("cc", "--version"), capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        raise BenchError("There is no C compiler `cc`.", hint="Install gcc or clang.") from None
    return done.stdout.splitlines()[0]


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
