"""Call a C kernel as other programs would: from a forked child, on a small stack, from another line, with one array as two
inputs, with a rounding mode of the caller's own. What the starting kernel does right there the candidate must do right.
"""

from __future__ import annotations

import platform
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layline.campaign.devices.exit_words import describe_ending
from layline.campaign.devices.faults import Fault
from layline.campaign.devices.sandbox import confine
from layline.campaign.measure.build import FLAGS, IN_MEMORY, LIBRARIES, chain, compile_confined
from layline.campaign.measure.caller_program import (
    ARRAYS,
    ENDING,
    OFTEN,
    REGISTERS,
    SURVEYED,
    THREAD_STACK,
    Left,
    Manner,
    write_caller,
)
from layline.campaign.measure.hold import Answered, find_wrong
from layline.campaign.measure.library import find_library_faults
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sanitize import count_bytes, lay_out
from layline.campaign.measure.sizes import find_odd_shape, fit_shapes
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Arrays, Operator, Pass, Shape, Snapshot

MANNERS = {
    Manner.FIRST: "as the first call of a process",
    Manner.CHILD: "in a child of the process that loaded it",
    Manner.THREAD: "in a thread with a stack of 512 KiB",
    Manner.LINE: "from another line of the program",
    Manner.ALIAS: "with one array as two of its inputs",
    Manner.MODE: "with a rounding mode of the caller's own",
    Manner.THREADS: "from one new thread after the other",
    Manner.OFTEN: "over and over",
    Manner.POOR: "when memory has run out",
    Manner.STALE: "with the answer to nearly the same inputs still in its outputs",
    Manner.TIMED: "in other threads, in a child and after a pause",
}
ALONE = (Manner.FIRST, Manner.TIMED)
"""Asked of a process that has made no call."""
RELEASE = ("-DNDEBUG",)
"""As release builds are made: what is measured was built without."""
PER_THREAD_KIB = 512
"""What may stay behind of a thread that has ended."""
_TIMED_THERE = "processor time of single calls; the starting kernel's hardly differs"
FOUND = {
    Left.X87: (
        "floating-point-mode",
        "returns with x87 registers in use: whatever its caller does in long double is NaN.",
        "after MMX instructions `emms` must follow",
    ),
    Left.MODE: (
        "floating-point-mode",
        "returns with another one: whatever its caller computes next is rounded differently.",
        "it was set to the default, or to an earlier value",
    ),
    Left.REGISTERS: (
        "keeps-contract",
        "returns with another value in {registers}: whatever its caller kept there is lost.",
        "the processor's calling convention asks a called function to restore them",
    ),
    Left.EXCEPTIONS: (
        "floating-point-mode",
        "clears floating-point exceptions that its caller had raised: an earlier division by zero goes unnoticed.",
        "raised before the call: FE_DIVBYZERO",
    ),
    Left.SEEDS: (
        "global-state",
        "changes what rand() or lrand48() gives its caller next.",
        "both seeds were 7 before the call",
    ),
    Left.MALLOC: (
        "global-state",
        "changes how malloc works for the whole process: large blocks are no longer given back to the system.",
        "64 MiB were allocated after the call",
    ),
    Left.FOLDER: ("global-state", "changes the working folder of the process.", "getcwd before and after the call"),
    Left.STACKS: ("global-state", "changes the stack of every thread that starts later.", "pthread_getattr_default_np"),
    Left.KEYS: (
        "bounded-memory",
        f"takes {{count}} thread-specific keys in {OFTEN} calls and frees none: a process has about a thousand of them.",
        f"counted after {OFTEN} calls that came before",
    ),
    Left.SURVEYED: (
        "global-state",
        "returns with something of its caller's changed: {surveyed}.",
        "looked at before and after the call",
    ),
    Left.ARRAYS: (
        "input-modified",
        "changes how the system treats an array of its caller: {arrays}.",
        "read of /proc/self/smaps after the call",
    ),
    Left.VARIABLES: (
        "bounded-memory",
        f"has so many variables of its own in every thread that none starts on a stack of {THREAD_STACK >> 20} MiB.",
        "tried with 512 KiB, 1 MiB and 2 MiB",
    ),
    Left.FILES: (
        "global-state",
        "closes files in every child of its caller.",
        "descriptors counted before and after fork()",
    ),
    Left.SLOW_THREADS: (
        "gain-carries-over",
        "takes {count} times as long in every thread but the first.",
        _TIMED_THERE,
    ),
    Left.SLOW_CHILDREN: (
        "gain-carries-over",
        "takes {count} times as long in a child of the process that loaded it.",
        _TIMED_THERE,
    ),
    Left.SLOW_RESTED: ("gain-carries-over", "takes {count} times as long after a pause of two seconds.", _TIMED_THERE),
    Left.THREAD: (
        "global-state",
        "starts a thread of its own before any of its functions is called.",
        "/proc/self/task",
    ),
}
"""What the program looks at after a call: property, what was found, how it was looked at."""
TIMEOUT_S = 60.0
CUBE = 33
"""Every extent, where two inputs are to be of one size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call, and the manner it is made in."""

    step: Pass
    shape: Shape
    manner: Manner
    inputs: Arrays
    alias: int = -1
    """Which input's array stands for the one after it as well, or is another at an earlier call."""

    @property
    def told(self) -> str:
        return f"{self.bare}, called {MANNERS[self.manner]},"

    @property
    def bare(self) -> str:
        return f"{self.step.symbol} on {describe_shape(self.shape)}"


def show_callers(on: Trial) -> Shown:
    """Claimed where our program ran; where it could not, the reason is told."""
    stage = on.stage
    asked = tuple(find_asked(stage))
    wrong = try_callers(stage, on.snapshot, asked)
    if isinstance(wrong, str):
        on.left_out["other callers"] = wrong
        return
    if wrong and on.start is not None:
        own = try_callers(stage, on.start, tuple(one for one, _fault in wrong))
        lost = [one for one, _fault in own] if not isinstance(own, str) else [one for one, _fault in wrong]
        wrong = [(one, fault) for one, fault in wrong if one not in lost]
    if wrong:
        raise wrong[0][1]
    manners = ", ".join(dict.fromkeys(MANNERS[one.manner] for one in asked))
    yield "keeps-contract", f"right wherever the starting kernel is: {manners}"


def find_asked(stage: Stage) -> Iterator[Asked]:
    """Every pass in every manner, on the smallest shape; from another line on odd sizes, too, which may go another way."""
    operator, rng = stage.operator, stage.rng
    smallest = stage.by_work[0]
    for manner in Manner:
        for step in operator.passes:
            if manner is Manner.STALE:
                drawn = operator.draw(smallest, rng, operator.distributions[0])
                for at in _find_floating(operator, step):
                    yield Asked(step=step, shape=smallest, manner=manner, inputs=drawn, alias=at)
                continue
            if manner is not Manner.ALIAS:
                odd = fit_shapes(operator, (find_odd_shape(smallest, rng),) if manner is Manner.LINE else ())
                for shape in (smallest, *odd):
                    inputs = operator.draw(shape, rng, operator.distributions[0])
                    yield Asked(step=step, shape=shape, manner=manner, inputs=inputs)
                continue
            cube = find_cube(operator)
            at = find_alias(operator, step, cube) if cube is not None else -1
            if cube is not None and at >= 0:
                drawn = operator.draw(cube, rng, operator.distributions[0])
                same = {**drawn, step.inputs[at + 1]: drawn[step.inputs[at]]}
                yield Asked(step=step, shape=cube, manner=manner, inputs=same, alias=at)


def _find_floating(operator: Operator, step: Pass) -> Iterator[int]:
    """The inputs that are only read and hold numbers with a sign of their own."""
    for at, name in enumerate(step.inputs):
        if name not in step.outputs and operator.buffer(name).dtype.startswith("float"):
            yield at


def find_cube(operator: Operator) -> Shape | None:
    """All extents equal, where the operator allows it."""
    like = operator.shapes[0]
    if like.groups:
        return None
    cube = Shape(label="cube", sizes=tuple((name, CUBE) for name, _value in like.sizes))
    return operator.fit(cube) if operator.fit else cube


def find_alias(operator: Operator, step: Pass, shape: Shape) -> int:
    """The first of two inputs that follow each other, are only read, and have one type and size; -1 for none."""
    for at, (first, second) in enumerate(zip(step.inputs, step.inputs[1:], strict=False)):
        one, two = operator.buffer(first), operator.buffer(second)
        is_alike = one.dtype == two.dtype and one.extent(shape) == two.extent(shape)
        if is_alike and not {first, second} & {*step.outputs, *operator.steady, *operator.constant}:
            return at
    return -1


def try_callers(stage: Stage, snapshot: Snapshot, asked: tuple[Asked, ...]) -> list[tuple[Asked, Fault]] | str:
    """Calls that went wrong, each with what it is; or why they could not be made."""
    folder = Path(tempfile.mkdtemp(dir=stage.shop))
    units = lay_out(snapshot, folder)
    (folder / "layline_caller_.c").write_text(write_caller(stage.operator), "utf-8")
    library = ("cc", *FLAGS, *RELEASE, "-o", "kernel.so", *units, *LIBRARIES)
    program = ("cc", IN_MEMORY, "-frounding-math", "-o", "calling", "layline_caller_.c", "./kernel.so", *LIBRARIES)
    failure = compile_confined(chain(library, program), folder, stage.shop, 120.0, made="calling")
    if failure:
        return f"Layline's test program did not build: {failure.splitlines()[-1][:120]}"
    found = [(asked[0], fault) for fault in find_library_faults(folder / "kernel.so")] if asked else []
    alone = [one for one in asked if one.manner in ALONE]
    for share in (*((one,) for one in alone), tuple(one for one in asked if one.manner not in ALONE)):
        wrong = _ask_program(stage, folder, share)
        if isinstance(wrong, str):
            return wrong
        found += wrong
    return found


def _ask_program(stage: Stage, folder: Path, asked: tuple[Asked, ...]) -> list[tuple[Asked, Fault]] | str:
    """Calls of one process; one that ends it is told, and the others are asked by another."""
    found, left = [], asked
    while left:
        with (folder / "calls").open("wb") as file:
            file.writelines(data for one in left for data in describe_call(stage.operator, one))
        code = run_confined(folder, stage)
        if code is None:
            return f"Layline's test program did not finish within {TIMEOUT_S:g} s"
        answered, faults = _read_answers(stage, left, (folder / "answers").read_bytes())
        found += faults
        if answered == len(left):
            if code != ENDING and not faults:
                told = f"A process that has called the kernel does not end as it should: {describe_ending(code)}."
                found.append((left[-1], Fault("survives", told, "the cause is what it does when it is unloaded")))
            break
        one = left[answered]
        found.append((one, Fault("keeps-contract", f"{one.told} the process dies: {describe_ending(code)}.")))
        left = left[answered + 1 :]
    return found


def run_confined(folder: Path, stage: Stage) -> int | None:
    wrapped = confine(stage.shop, folder, "./calling")
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(wrapped, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def describe_call(operator: Operator, one: Asked) -> Iterator[bytes]:
    import numpy as np

    step = one.step
    sizes = [value for _name, value in one.shape.sizes]
    written = sum(1 << at for at, name in enumerate(step.buffers) if name in step.outputs)
    head = (operator.passes.index(step), len(step.buffers), len(sizes), written, one.manner, one.alias)
    yield struct.pack(f"<{len(head) + len(sizes)}q", *head, *sizes)
    for name in step.buffers:
        data = np.ascontiguousarray(one.inputs[name]).tobytes() if name in step.inputs else b""
        yield struct.pack("<2q", count_bytes(operator, name, one.shape), len(data)) + data


def _read_answers(stage: Stage, asked: tuple[Asked, ...], data: bytes) -> tuple[int, list[tuple[Asked, Fault]]]:
    """How many calls were answered, and those that were answered wrongly."""
    at = 0
    found: list[tuple[Asked, Fault]] = []
    for number, one in enumerate(asked):
        sizes = {name: count_bytes(stage.operator, name, one.shape) for name in one.step.buffers}
        names = [name for name in one.step.buffers if name in one.step.outputs]
        if at + 24 + sum(sizes[name] for name in names) > len(data):
            return number, found
        said = struct.unpack_from("<3q", data, at)
        at += 24
        outputs: dict[str, Any] = {}
        for name in names:
            outputs[name] = _view(stage.operator, name, one.shape, data[at : at + sizes[name]])
            at += sizes[name]
        fault = _judge(stage, one, said, outputs)
        found += [(one, fault)] if fault else []
    return len(asked), found


def _view(operator: Operator, name: str, shape: Shape, data: bytes) -> Any:
    import numpy as np

    buffer = operator.buffer(name)
    return np.frombuffer(data, dtype=buffer.dtype).reshape(buffer.extent(shape))


def _judge(stage: Stage, one: Asked, said: tuple[int, ...], outputs: Arrays) -> Fault | None:
    status, left, count = said
    fault = _judge_left(one, left, count)
    # rounded otherwise is not the same, and not looked at
    if fault or left & Left.GAVE_UP or one.manner in (Manner.MODE, Manner.TIMED):
        return fault
    if status:
        return Fault("keeps-contract", f"{one.told} returns {status}.")
    right = stage.operator.oracle(one.step.name, one.shape, one.inputs)
    wrong = find_wrong(stage, Answered(one.step, one.inputs, dict.fromkeys(outputs, -1), outputs, right))
    if wrong:
        build = f"this build has {' '.join(RELEASE)}, as release builds do"
        return Fault("keeps-contract", f"{one.told} is wrong: {wrong.reason}", *wrong.evidence, build)
    return None


def _judge_left(one: Asked, left: int, count: int) -> Fault | None:
    """What a call left behind in its caller: a bit for each kind, and which registers, how many keys, how many KiB."""
    words = {
        "registers": list_bits(REGISTERS.get(platform.machine(), ()), count),
        "surveyed": list_bits(SURVEYED, count),
        "arrays": list_bits(ARRAYS, count),
        "count": count,
    }
    for bit, (name, told, hint) in FOUND.items():
        if left & bit:
            who = one.told if one.manner is Manner.MODE else one.bare
            return Fault(name, f"{who} {told.format(**words)}", hint)
    if left & Left.IN_THREADS and count > PER_THREAD_KIB:
        told = f"{one.told} leaves {count} KiB behind for every thread that has ended."
        return Fault("bounded-memory", told, f"at most {PER_THREAD_KIB} are allowed")
    return None


def list_bits(names: tuple[str, ...], bits: int) -> str:
    return ", ".join(name for at, name in enumerate(names) if bits >> at & 1)
