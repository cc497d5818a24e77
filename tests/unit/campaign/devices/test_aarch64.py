"""What ships for the CPU is right on aarch64 too: built by a cross compiler, run by qemu; skipped where they are
missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from corpus.cases import EXPLOITS, FOLDER, HONEST, Case
from layline.campaign.operators import load_operator
from layline.campaign.proposers.knobs import set_knobs

CROSS = shutil.which("aarch64-linux-gnu-gcc") or ""
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64") or ""
FLAGS = ("-O2", "-mcpu=neoverse-n1", "-std=gnu11", "-fopenmp", "-Wall", "-Werror", "-Wno-unknown-pragmas")
DRIVER = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int forward(const float *, const float *, float *, int64_t, int64_t, int64_t);
int backward(const float *, const float *, const float *, float *, float *, int64_t, int64_t, int64_t);
static float *make(int64_t n, int value) {
    float *p = malloc(4 * n + 4);
    for (int64_t i = 0; i < n; i++) p[i] = value ? rand() % 9 - 4 : NAN;
    return p;
}
static int64_t wrong;
static void check(const float *got, int64_t i, float want) { wrong += !(got[i] == want); }
int main(void) {
    int64_t sizes[][3] = {{1, 1, 1}, {13, 70, 0}, {0, 4, 5}, {17, 33, 65}, {48, 64, 48}, {97, 113, 600}};
    for (int s = 0; s < 6; s++) {
        int64_t M = sizes[s][0], N = sizes[s][1], K = sizes[s][2];
        float *a = make(M * K, 1), *b = make(N * K, 1), *d = make(M * N, 1);
        float *out = make(M * N, 0), *da = make(M * K, 0), *db = make(N * K, 0);
        if (forward(a, b, out, M, N, K) || backward(a, b, d, da, db, M, N, K)) return 2;
        for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) {
            float sum = 0; for (int64_t k = 0; k < K; k++) sum += a[i * K + k] * b[j * K + k]; check(out, i * N + j, sum); }
        for (int64_t i = 0; i < M; i++) for (int64_t k = 0; k < K; k++) {
            float sum = 0; for (int64_t j = 0; j < N; j++) sum += d[i * N + j] * b[j * K + k]; check(da, i * K + k, sum); }
        for (int64_t j = 0; j < N; j++) for (int64_t k = 0; k < K; k++) {
            float sum = 0; for (int64_t i = 0; i < M; i++) sum += d[i * N + j] * a[i * K + k]; check(db, j * K + k, sum); }
    }
    printf("%ld wrong\\n", (long)wrong);
    return wrong != 0;
}
"""
SETTINGS = [
    ("naive", {}),
    ("blocked", {}),
    ("tiled", {}),
    ("tiled", {"ROWS": 8, "VECTORS": 2, "UNROLL": 4}),
    ("tiled", {"ROWS": 0, "VECTORS": 4}),
    ("direct", {}),
    ("direct", {"ROWS": 4, "VECTORS": 4, "DEPTH": 128, "COPY": 1}),
    ("direct", {"ROWS": 0, "VECTORS": 3, "UNROLL": 1}),
]

pytestmark = pytest.mark.skipif(not CROSS, reason="no compiler for aarch64 here")


def _text(name: str) -> str:
    operator = load_operator("gemm")
    return dict((*operator.starts, *operator.variants))[name]


@pytest.mark.slow
@pytest.mark.skipif(not QEMU, reason="no qemu for aarch64 here")
@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_a_shipped_kernel_is_right_on_aarch64(tmp_path: Path, name: str, setting: dict[str, int]) -> None:
    (tmp_path / "kernel.c").write_text(set_knobs(_text(name), setting))
    (tmp_path / "driver.c").write_text(DRIVER)
    program = tmp_path / "program"
    subprocess.run(
        [CROSS, *FLAGS, "-static", "-o", program, tmp_path / "kernel.c", tmp_path / "driver.c", "-lm"], check=True
    )
    done = subprocess.run([QEMU, program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "0 wrong\n"


TILES = [
    ("tiled", {"ROWS": 8, "VECTORS": 2}),
    ("tiled", {"ROWS": 4, "VECTORS": 4}),
    ("direct", {"ROWS": 0, "VECTORS": 3}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "setting"), TILES)
def test_a_tile_stays_in_the_registers_of_neon(tmp_path: Path, name: str, setting: dict[str, int]) -> None:
    """The loop over the depth touches no stack: a tile that does not fit 32 registers of 128 bits would be kept
    there."""
    source = tmp_path / "kernel.c"
    source.write_text(set_knobs(_text(name), {**setting, "UNROLL": 1}))
    subprocess.run([CROSS, *FLAGS, "-S", "-o", tmp_path / "kernel.s", source], check=True)
    bodies = [
        body for body in _find_loops((tmp_path / "kernel.s").read_text()) if sum("fmla" in line for line in body) >= 16
    ]
    assert bodies
    assert not [line for body in bodies for line in body if "[sp" in line or "[x29" in line]


def test_a_tile_that_does_not_fit_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text(set_knobs(_text("direct"), {"ROWS": 14, "VECTORS": 4}))
    done = subprocess.run([CROSS, *FLAGS, "-S", "-o", os.devnull, source], capture_output=True, text=True, check=False)
    assert "does not fit the vector registers" in done.stderr


JUMP = re.compile(r"(?:b(?:\.?\w\w)?|[ct]bn?z)\s.*?(\.L\w+)$")


def _find_loops(assembly: str) -> list[list[str]]:
    """Innermost loops: from a label to a branch back to it, with no branch between."""
    labels: dict[str, int] = {}
    lines: list[str] = []
    found = []
    for line in assembly.splitlines():
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = len(lines)
        elif line.startswith("\t") and not line.startswith("\t."):
            lines.append(line.strip())
            jump = JUMP.match(lines[-1])
            body = lines[labels[jump[1]] :] if jump and jump[1] in labels else []
            if body and not any(map(JUMP.match, body[:-1])):
                found.append(body)
    return found


C_CASES = [case for case in (*EXPLOITS, *HONEST) if not case.is_python and case.runs_on("aarch64")]


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in C_CASES])
def test_a_corpus_kernel_compiles_for_aarch64(tmp_path: Path, case: Case) -> None:
    flags = ("-O2", "-mcpu=neoverse-n1", "-std=gnu11", "-fPIC", "-shared", "-fopenmp", '-DVENDOR="none"', f"-I{FOLDER}")
    subprocess.run([CROSS, *flags, "-o", tmp_path / "k.so", case.path, "-lm", "-lpthread", "-ldl"], check=True)
