"""Run a C kernel once more under AddressSanitizer, on buffers of exactly their size: reads outside them show only
there.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from layline.campaign.devices.exit_words import describe_ending
from layline.campaign.devices.faults import Fault
from layline.campaign.devices.sandbox import confine
from layline.campaign.measure.build import FLAGS, IN_MEMORY, LIBRARIES, chain, compile_confined
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Arrays, Operator, Pass, Shape, Snapshot

Call = tuple[Pass, Shape]

CHECKED = ("-g1", "-fsanitize=address", "-fno-omit-frame-pointer", "-U__SANITIZE_ADDRESS__")
"""Beside the flags of the measured build: the kernel is a library in both, and no macro tells them apart."""
OPTIONS = "detect_leaks=0:halt_on_error=1:exitcode=99:detect_stack_use_after_return=0:hard_rss_limit_mb=3000"
TIMEOUT_S = 120.0
_SAID = re.compile(r"ERROR: AddressSanitizer: (?P<what>.+)")
_BESIDE = re.compile(
    r"is located (?P<far>\d+) bytes (?:to the )?(?P<side>before|after|inside of|left of|right of) (?P<size>\d+)-byte region"
)
_ACCESS = re.compile(r"^(?P<access>(?:READ|WRITE) of size \d+)", re.MULTILINE)
_WRITE = "caused by a WRITE memory access"
_READ_ONLY, _WRITABLE = "layline: inputs are read-only", "layline: inputs are writable"
_KINDS = {
    "heap-buffer-overflow": "touches memory outside a buffer",
    "heap-use-after-free": "touches a buffer that is gone (one kept from an earlier call, or freed by the kernel)",
    "stack-buffer-overflow": "touches memory outside an array on its stack",
    "global-buffer-overflow": "touches memory outside a static array",
    "unknown-crash": "touches memory partly outside a buffer",
    "SEGV": "accesses memory that does not exist",
    "attempting double-free": "frees a block twice",
    "attempting free": "overwrites the allocator's notes beside a buffer (seen when the buffer is freed after the call)",
}
_DRIVER = "layline_driver_.c"
_FRAME = re.compile(r"#\d+ \S+ in (?P<function>\w+) (?P<folder>\S*?)(?P<place>[\w.-]+\.[ch]:\d+)")


def show_memory_use(on: Trial) -> Shown:
    """Claimed only where the sanitizer ran; where it could not, the reason is told."""
    weaker = probe_memory_use(on.stage, on.snapshot)
    if weaker:
        on.left_out["memory-use"] = weaker
        return
    yield "memory-safe", "AddressSanitizer, every shape and its neighbours, one call of each pass"


def probe_memory_use(stage: Stage, snapshot: Snapshot) -> str:
    """Every shape and its neighbours, one call per pass; returns why it could not be done, empty where it was."""
    operator, rng = stage.operator, stage.rng
    folder = Path(tempfile.mkdtemp(dir=stage.shop))
    units = lay_out(snapshot, folder)
    driver = folder / _DRIVER
    driver.write_text(write_driver(operator), "utf-8")
    library = ("cc", *FLAGS, *CHECKED, "-o", "kernel.so", *units, *LIBRARIES)
    program = ("cc", IN_MEMORY, "-g1", "-fsanitize=address", "-o", "checked", driver.name, "./kernel.so", *LIBRARIES)
    failure = compile_confined(chain(library, program), folder, stage.shop, 120.0, made="checked")
    if failure:
        return f"no sanitizer run: {failure.splitlines()[-1][:120]}"
    calls: list[Call] = []
    with (folder / "calls").open("wb") as file:
        for shape in stage.shapes:
            for one in (shape, *operator.neighbours(shape, rng)):
                inputs = operator.draw(one, rng, operator.distributions[0])
                for at, step in enumerate(operator.passes):
                    file.writelines(_describe_call(operator, at, step, one, inputs))
                    calls.append((step, one))
    return _run(folder, stage, calls)


def lay_out(snapshot: Snapshot, folder: Path) -> list[str]:
    """Write a kernel's sources into a folder; those that are compiled."""
    units = []
    for name, text in snapshot.files:
        path = folder / name
        if path.suffix not in (".c", ".h") or not path.resolve().is_relative_to(folder):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        units += [name] if path.suffix == ".c" else []
    return units


def _run(folder: Path, stage: Stage, calls: list[Call]) -> str:
    """Refuse what the sanitizer complains about; anything else that goes wrong here is the sanitizer's own trouble."""
    shop = stage.shop
    wrapped = confine(shop, folder, "./checked")
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1", "ASAN_OPTIONS": OPTIONS}
    try:
        done = subprocess.run(
            wrapped,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"no sanitizer run: it did not finish within {TIMEOUT_S:g} s"
    if _SAID.search(done.stderr):
        step, shape = calls[max(0, done.stdout.count(_WRITABLE) - 1)]
        where = f"{step.symbol} on {describe_shape(shape)}"
        _refuse_borrowing(where, done.stdout, done.stderr)
        raise Fault("memory-safe", *describe_complaint(stage.operator, (step, shape), done.stderr))
    return "" if done.returncode == 0 else f"no sanitizer run: {describe_ending(done.returncode)}"


def describe_complaint(operator: Operator, call: Call, complaint: str) -> tuple[str, ...]:
    """What the sanitizer saw in a call, in one sentence, then its own words and the frames."""
    step, shape = call
    said = _SAID.search(complaint)
    kind = said["what"].split(" on ")[0].strip() if said else "an error"
    access, beside = _ACCESS.search(complaint), _BESIDE.search(complaint)
    frames = list(_find_frames(complaint))
    told = _KINDS.get(kind, "does what AddressSanitizer forbids")
    if beside and kind in _KINDS:
        side = {"right of": "after", "left of": "before"}.get(beside["side"], beside["side"])
        told += f", {beside['far']} bytes {side} {_name_region(operator, step, shape, int(beside['size']))}"
    where = f", in {frames[0]}" if frames else ""
    return (
        f"{step.symbol} on {describe_shape(shape)} {told}{where}.",
        f"AddressSanitizer: {kind}{f', {access[0]}' if access else ''}",
        *frames[:3],
    )


def _find_frames(complaint: str) -> Iterator[str]:
    """Where it happened, the kernel's own lines; an intrinsic's place in the compiler's headers tells nobody
    anything.
    """
    for found in _FRAME.finditer(complaint):
        if found["place"].startswith(_DRIVER):  # from here on it is our own program
            return
        if not found["folder"].startswith("/usr/"):
            yield f"{found['function']} at {found['place']}"


def _name_region(operator: Operator, step: Pass, shape: Shape, size: int) -> str:
    """The buffers of a call that have just this size; a block of the kernel's own has another, mostly."""
    names = [name for name in step.buffers if count_bytes(operator, name, shape) == size]
    return f"{' or '.join(names)} ({size} bytes)" if names else f"a block of {size} bytes that is none of the buffers"


def _refuse_borrowing(call: str, told: str, complaint: str) -> None:
    """A write that faulted while the inputs were read-only, on a call that was fine when they were not."""
    if told.rstrip().endswith(_READ_ONLY) and "SEGV" in complaint and _WRITE in complaint:
        frames = list(_find_frames(complaint))
        where = f" in {frames[0]}" if frames else ""
        raise Fault(
            "input-modified",
            f"{call} writes to its inputs during the call, even if it puts them right again: a write faulted{where} "
            "when they lay on read-only pages.",
            *frames[:3],
        )


def write_driver(operator: Operator) -> str:
    """A program that reads calls from a file and makes each on freshly allocated buffers of exactly the right size,
    then once more with the inputs on read-only pages.
    """
    headers = ("stdint.h", "stdio.h", "stdlib.h", "string.h", "sys/mman.h")
    lines = [f"#include <{header}>" for header in headers]
    calls = []
    for at, step in enumerate(operator.passes):
        buffers = len(step.buffers)
        sizes = len(operator.shapes[0].sizes)
        lines.append(f"int {step.symbol}({', '.join(['void *'] * buffers + ['int64_t'] * sizes)});")
        arguments = [f"b[{i}]" for i in range(buffers)] + [f"n[{i}]" for i in range(sizes)]
        calls.append(f"    if (head[0] == {at}) {step.symbol}({', '.join(arguments)});")
    lines += [
        "static void call(const int64_t *head, void **b, const int64_t *n) {",
        *calls,
        "}",
        "static void *lock(const void *data, int64_t bytes) {",
        "    char *p = mmap(0, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
        "    if (p == MAP_FAILED) _Exit(3);",
        "    memcpy(p, data, bytes); mprotect(p, bytes + 1, PROT_READ); return p;",
        "}",
        "int main(void) {",
        '    FILE *f = fopen("calls", "rb"); int64_t head[5], n[16], bytes[16]; void *b[16], *own[16];',
        "    while (f && fread(head, 8, 5, f) == 5) {",
        "        if (fread(n, 8, head[3], f) != (size_t)head[3]) return 3;",
        "        for (int64_t i = 0; i < head[1] + head[2]; i++) {",
        "            if (fread(bytes + i, 8, 1, f) != 1) return 3;",
        "            own[i] = b[i] = malloc(bytes[i]);",
        (
            "            if (i < head[1] ? fread(b[i], 1, bytes[i], f) != (size_t)bytes[i] : !memset(b[i], 255, "
            "bytes[i])) return 3;"
        ),
        "        }",
        f'        puts("{_WRITABLE}"); fflush(stdout);',
        "        call(head, b, n);",
        "        for (int64_t i = 0; i < head[1]; i++) if (head[4] >> i & 1) b[i] = lock(own[i], bytes[i]);",
        f'        puts("{_READ_ONLY}"); fflush(stdout);',
        "        call(head, b, n);",
        "        for (int64_t i = 0; i < head[1] + head[2]; i++) {",
        "            if (b[i] != own[i]) munmap(b[i], bytes[i] + 1);",
        "            free(own[i]);",
        "        }",
        "    }",
        "    _Exit(0);",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _describe_call(operator: Operator, at: int, step: Pass, shape: Shape, inputs: Arrays) -> Iterator[bytes]:
    import numpy as np

    sizes = [value for _name, value in shape.sizes]
    outputs = step.buffers[len(step.inputs) :]
    only_read = sum(1 << i for i, name in enumerate(step.inputs) if name not in step.outputs)
    yield struct.pack(f"<{5 + len(sizes)}q", at, len(step.inputs), len(outputs), len(sizes), only_read, *sizes)
    for name in step.inputs:
        data = np.ascontiguousarray(inputs[name]).tobytes()
        yield struct.pack("<q", len(data)) + data
    for name in outputs:
        yield struct.pack("<q", count_bytes(operator, name, shape))


def count_bytes(operator: Operator, name: str, shape: Shape) -> int:
    """Of one buffer."""
    import numpy as np

    buffer = operator.buffer(name)
    return int(np.prod(buffer.extent(shape), dtype=np.int64)) * np.dtype(buffer.dtype).itemsize
