"""What a C kernel asks of the system, and what it changes of the C library's, while it is loaded and called: memory,
threads and reading are a kernel's own affair, everything else is its caller's.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.build import FLAGS, IN_MEMORY, LIBRARIES, chain, compile_confined
from layline.campaign.measure.caller_program import ENDING, OF_THREADS, OFTEN, Manner, Seen, write_watched
from layline.campaign.measure.callers import Asked, describe_call, list_bits, run_confined
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.sanitize import lay_out
from layline.campaign.measure.stage import Stage
from layline.campaign.values.operator import Snapshot

EMPTY = "int parallel(void) {\n    int sum = 0;\n#pragma omp parallel reduction(+ : sum)\n    sum += 1;\n    return sum;\n}\n"
"""A kernel that does nothing, in parallel."""
HEAD = struct.Struct("<3q")
"""Status, what was seen, more of it; a name may follow."""
AGAIN = 2
SHOWN = (
    "up to a thousand calls of every pass where the system gives only memory, threads, reading and files of its own; what "
    "the C library keeps for the process, and system and processor for the thread, compared before and after"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen of one call, and more of it: which system call, which byte, how many files, what of the thread."""

    of: Asked = field(compare=False)
    seen: Seen
    more: int
    near: str = field(default="", compare=False)

    @property
    def fault(self) -> Fault:
        return _WORDS[self.seen](self)


def show_watched(on: Trial) -> Shown:
    """What the starting kernel does, too, is allowed; where nothing could be watched, the reason is told."""
    stage, operator = on.stage, on.stage.operator
    smallest = stage.by_work[0]
    asked = tuple(
        Asked(
            step=step,
            shape=smallest,
            manner=Manner.FIRST,
            inputs=operator.draw(smallest, stage.rng, operator.distributions[0]),
        )
        for step in operator.passes
    )
    found = watch(stage, on.snapshot, asked)
    if isinstance(found, str):
        on.left_out["what is asked of the system"] = found
        return
    if found and on.start is not None:
        own = watch(stage, on.start, asked)
        found = [one for one in found if isinstance(own, str) or one not in own]
    if found:
        raise found[0].fault
    yield "global-state", SHOWN


def watch(stage: Stage, snapshot: Snapshot, asked: tuple[Asked, ...]) -> list[Sight] | str:
    """What was seen of each pass; or why nothing could be."""
    folder = Path(tempfile.mkdtemp(dir=stage.shop))
    units = lay_out(snapshot, folder)
    (folder / "layline_watched_.c").write_text(write_watched(stage.operator), "utf-8")
    (folder / "layline_empty_.c").write_text(EMPTY, "utf-8")
    library = ("cc", *FLAGS, "-o", "kernel.so", *units, *LIBRARIES)
    empty = ("cc", *FLAGS, "-o", "empty.so", "layline_empty_.c", *LIBRARIES)
    program = ("cc", IN_MEMORY, "-o", "calling", "layline_watched_.c", *LIBRARIES)
    failure = compile_confined(chain(library, empty, program), folder, stage.shop, 120.0, made="calling")
    if failure:
        return f"Layline's test program did not build: {failure.splitlines()[-1][:120]}"
    found: list[Sight] = []
    for one in asked:
        (folder / "calls").write_bytes(b"".join(describe_call(stage.operator, one)))
        sight = _look(folder, stage, one)
        for _again in range(AGAIN):  # what a thread of the library's own does shows once, not three times at one place
            if sight and sight.seen is Seen.CHANGED:
                other = _look(folder, stage, one)
                sight = sight if other == sight else other and replace(other, seen=Seen.NOTHING)
        if sight is None:
            return "Layline's test program did not finish"
        if sight.seen is Seen.UNWATCHED:
            return "this system does not let a program watch system calls"
        found += [sight] if sight.seen else []
    return found


def _look(folder: Path, stage: Stage, one: Asked) -> Sight | None:
    """What the program says; nothing where it did not come to its end."""
    answers = folder / "answers"
    answers.unlink(missing_ok=True)
    code = run_confined(folder, stage)
    data = answers.read_bytes() if answers.is_file() else b""
    if code != ENDING or len(data) < HEAD.size:
        return None
    _status, seen, more = HEAD.unpack_from(data)
    near = data[HEAD.size :].split(b"\0")[0].decode("ascii", "replace")
    return Sight(of=one, seen=Seen(seen), more=more, near=near)


def _tell_asked(sight: Sight) -> Fault:
    return Fault(
        "global-state",
        f"{sight.of.bare} asks the system for {name_system_call(sight.more)}: a kernel needs memory, threads and files of its "
        "own, the rest is its caller's.",
        "seen while it was loaded or in its first thousand calls; the starting kernel does not ask for it",
    )


def _tell_left(sight: Sight) -> Fault:
    return Fault(
        "bounded-memory",
        f"{sight.of.bare} leaves ever more files behind: {sight.more} in some thousand calls.",
        f"counted in /tmp, /dev/shm and the working folder, after {OFTEN} calls and later",
    )


def _tell_changed(sight: Sight) -> Fault:
    near = f" (near `{sight.near}`)" if sight.near else ""
    return Fault(
        "global-state",
        f"{sight.of.bare} changes what the C library keeps for the whole process{near}: handlers, buffers, seeds, settings.",
        "compared before it was loaded and after some thousand calls",
    )


def _tell_thread(sight: Sight) -> Fault:
    return Fault(
        "global-state",
        f"{sight.of.bare} returns with something of the calling thread changed: {list_bits(OF_THREADS, sight.more)}.",
        "compared before it was loaded and after some thousand calls",
    )


_WORDS = {Seen.ASKED: _tell_asked, Seen.LEFT: _tell_left, Seen.CHANGED: _tell_changed, Seen.THREAD: _tell_thread}


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
