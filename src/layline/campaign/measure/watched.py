"""What a C kernel asks of the system, and what it changes of the C library's, while it is loaded and called: memory,
threads and reading are a kernel's own affair, everything else is its caller's.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.build import FLAGS, LIBRARIES, chain, compile_confined
from layline.campaign.measure.caller_program import ENDING, OFTEN, write_watched
from layline.campaign.measure.callers import Asked, describe_call, run_confined
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sanitize import lay_out
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Snapshot

ASKED, CHANGED, UNWATCHED, LEFT = 1, 2, 4, 8
EMPTY = "int parallel(void) {\n    int sum = 0;\n#pragma omp parallel reduction(+ : sum)\n    sum += 1;\n    return sum;\n}\n"
"""A kernel that does nothing, in parallel."""
HEAD_BYTES = 24
"""Three numbers: status, what was seen, more of it; a name may follow."""
AGAIN = 2
_CLEAN = bytes(HEAD_BYTES)
SEEN = "up to a thousand calls of every pass where the system gives only memory, threads and what can be read"


def show_watched(on: Trial) -> Shown:
    """What the starting kernel does, too, is allowed; where nothing could be watched, the reason is told."""
    stage, operator = on.stage, on.stage.operator
    smallest = stage.by_work[0]
    asked = tuple(
        Asked(step=step, shape=smallest, manner=0, inputs=operator.draw(smallest, stage.rng, operator.distributions[0]))
        for step in operator.passes
    )
    found = watch(stage, on.snapshot, asked)
    if isinstance(found, str):
        on.left_out["what is asked of the system"] = found
        return
    if found and on.start is not None:
        own = watch(stage, on.start, asked)
        known = () if isinstance(own, str) else [fault.reason for fault in own]
        found = [fault for fault in found if fault.reason not in known]
    if found:
        raise found[0]
    yield "global-state", SEEN


def watch(stage: Stage, snapshot: Snapshot, asked: tuple[Asked, ...]) -> list[Fault] | str:
    """What was seen of each pass; or why nothing could be."""
    folder = Path(tempfile.mkdtemp(dir=stage.shop))
    units = lay_out(snapshot, folder)
    (folder / "layline_watched_.c").write_text(write_watched(stage.operator), "utf-8")
    (folder / "layline_empty_.c").write_text(EMPTY, "utf-8")
    library = ("cc", *FLAGS, "-o", "kernel.so", *units, *LIBRARIES)
    empty = ("cc", *FLAGS, "-o", "empty.so", "layline_empty_.c", *LIBRARIES)
    program = ("cc", "-O1", "-o", "calling", "layline_watched_.c", *LIBRARIES)
    failure = compile_confined(chain(library, empty, program), folder, stage.shop, 120.0, made="calling")
    if failure:
        return f"Layline's test program did not build: {failure.splitlines()[-1][:120]}"
    found: list[Fault] = []
    for one in asked:
        (folder / "calls").write_bytes(b"".join(describe_call(stage.operator, one)))
        data = _ask(folder, stage)
        for _again in range(AGAIN):  # what a thread of the library's own does shows once, not three times at one place
            if data and _say(data)[1] == CHANGED:
                other = _ask(folder, stage)
                data = data if _say(other) == _say(data) else other and _CLEAN
        if not data:
            return "Layline's test program did not come to its end"
        seen = _read_seen(one, data)
        if isinstance(seen, str):
            return seen
        found += seen
    return found


def _ask(folder: Path, stage: Stage) -> bytes:
    """What the program says; nothing where it did not come to its end."""
    answers = folder / "answers"
    answers.unlink(missing_ok=True)
    code = run_confined(folder, stage)
    data = answers.read_bytes() if answers.is_file() else b""
    return data if code == ENDING and len(data) >= HEAD_BYTES else b""


def _say(data: bytes) -> tuple[int, ...]:
    return struct.unpack_from("<3q", data) if data else ()


def _read_seen(one: Asked, data: bytes) -> list[Fault] | str:
    _status, seen, more = struct.unpack_from("<3q", data)
    if seen == UNWATCHED:
        return "this system lets no program watch what it asks for"
    if seen == ASKED:
        return [
            Fault(
                "global-state",
                f"{one.bare} asks the system for {name_system_call(more)}: a kernel needs memory, threads and files of its own, "
                "the rest is its caller's.",
                "seen while it was loaded or in its first thousand calls; the starting kernel does not ask for it",
            )
        ]
    if seen == LEFT:
        told = f"{one.bare} leaves ever more files behind: {more} in some thousand calls."
        return [
            Fault(
                "bounded-memory",
                told,
                f"counted in /tmp, /dev/shm and the working folder, after {OFTEN} calls and later",
            )
        ]
    if seen == CHANGED:
        near = data[HEAD_BYTES:].split(b"\0")[0].decode("ascii", "replace")
        return [
            Fault(
                "global-state",
                f"{one.bare} changes what the C library keeps for the whole process{f' (near `{near}`)' if near else ''}: "
                "handlers, buffers, seeds, settings.",
                "compared before it was loaded and after some thousand calls",
            )
        ]
    return []


@cache
def name_system_call(number: int) -> str:
    """Its name here, by the compiler's own headers."""
    command = ("cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null")
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        text = ""
    found = re.search(rf"^#define __NR_(\w+) {number}$", text, re.MULTILINE)
    return f"`{found[1]}`" if found else f"system call {number}"
