"""What this machine can do at most, on one core: arithmetic and memory ceilings, measured in the same session as the
kernels.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.devices.processor import native_flag
from layline.campaign.values.measurement import Arm, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.values.measurement import Measurement
    from layline.campaign.values.operator import Operator

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* One register each, and so many that every unit is busy while the first result is still on its way. */
#if defined(__AVX512F__)
#define LANES 16
#define CHAINS 12
#elif defined(__AVX__)
#define LANES 8
#define CHAINS 12
#elif defined(__aarch64__)
#define LANES 4
#define CHAINS 24
#else
#define LANES 4
#define CHAINS 12
#endif
typedef float vec __attribute__((vector_size(LANES * 4)));
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(void) {
    double flops = 0, bytes = 0;
    volatile float seed = 1.0000001f;
    for (int round = 0; round < 7; round++) {
        vec acc[CHAINS];
        for (int i = 0; i < CHAINS; i++) acc[i] = (vec){0} + seed;
        vec y = (vec){0} + (seed - 1);
        double began = now();
        for (long n = 0; n < 1000000; n++)
#pragma GCC unroll 24
            for (int i = 0; i < CHAINS; i++) acc[i] += acc[i] * y; /* one instruction on every processor: the sum is the addend */
        double rate = 2.0 * LANES * CHAINS * 1e6 / (now() - began);
        for (int i = 1; i < CHAINS; i++) acc[0] += acc[i];
        seed = acc[0][0] > 0 ? 1.0000001f : 1.0f;
        if (rate > flops) flops = rate;
    }
    size_t size = 96u << 20;
    char *from = malloc(size), *to = malloc(size);
    if (!from || !to) return 1;
    memset(from, 1, size); memset(to, 2, size);
    for (int round = 0; round < 7; round++) {
        double began = now();
        memcpy(to, from, size);
        __asm__ volatile("" : : "r"(to) : "memory");
        double rate = 2.0 * size / (now() - began);
        if (rate > bytes) bytes = rate;
    }
    printf("%.6e %.6e\n", flops, bytes);
    return 0;
}
"""


ABOVE = 1.005
"""A share of the roof beyond this is none: nothing exceeds what a machine can do, so the roof was measured too low."""


def is_roof_wrong(share: float) -> bool:
    """Whether a kernel is faster than what was measured as the most this machine can do."""
    return share > ABOVE


def say_share(share: float, digits: int = 0) -> str:
    """A share of the roof in words; one that cannot be says so instead of a percentage."""
    return "above the measured roof, so the roof is wrong" if is_roof_wrong(share) else f"{share:.{digits}%}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One shape under the roof: operations per byte moved, operations per second."""

    label: str
    intensity: float
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Measured on one core."""

    flops_per_s: float
    bytes_per_s: float


def measure_ceilings() -> Ceilings | None:
    """The best of seven; None where there is no compiler."""
    if shutil.which("cc") is None:
        return None
    with tempfile.TemporaryDirectory(prefix="layline-roof-") as folder:
        source, program = Path(folder) / "roof.c", Path(folder) / "roof"
        source.write_text(SOURCE, encoding="ascii")
        built = subprocess.run(
            ["cc", "-O2", native_flag(), "-o", str(program), str(source)], capture_output=True, check=False, timeout=120
        )
        if built.returncode != 0:
            return None
        done = subprocess.run([str(program)], capture_output=True, check=False, timeout=120)
        words = done.stdout.split()
    return Ceilings(flops_per_s=float(words[0]), bytes_per_s=float(words[1])) if len(words) == 2 else None


def find_points(operator: Operator, measurement: Measurement, leg: Arm, name: str) -> Iterator[Point]:
    """Every measured shape of a leg: all passes of one step together."""
    if measurement.status is not Status.MEASURED:
        return
    for shape in operator.shapes:
        times = [sample for sample in measurement.samples if sample.leg is leg and sample.shape == shape.label]
        if not times:
            continue
        pairs = {sample.pair for sample in times}
        # an accelerator's wall times hold the request's way there and back; its events tell how near the roof the
        # kernel is
        is_own = measurement.plan.clock == "cpu" or operator.is_on_device
        seconds = sum((sample.cpu if is_own else sample.wall).low for sample in times) / len(pairs) * 1e-3
        flops = sum(step.flops(shape) for step in operator.passes)
        moved = sum(step.bytes_moved(shape) for step in operator.passes)
        if flops and moved and seconds:
            yield Point(label=f"{name} {shape.label}", intensity=flops / moved, rate=flops / seconds)
