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


def _run(folder: Path, kernel: str, driver: str, *flags: str) -> str:
    (folder / "kernel.c").write_text(kernel)
    (folder / "driver.c").write_text(driver)
    program = folder / "program"
    sources = (folder / "kernel.c", folder / "driver.c")
    subprocess.run([CROSS, *FLAGS, *flags, "-static", "-o", program, *sources, "-lm"], check=True)
    return subprocess.run([QEMU, program], capture_output=True, text=True, timeout=120, check=False).stdout


@pytest.mark.slow
@pytest.mark.skipif(not QEMU, reason="no qemu for aarch64 here")
@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_a_shipped_kernel_is_right_on_aarch64(tmp_path: Path, name: str, setting: dict[str, int]) -> None:
    assert _run(tmp_path, set_knobs(_text(name), setting), DRIVER) == "0 wrong\n"


HONEST_GEMM = [case for case in HONEST if not case.is_python and case.operator == "gemm" and case.runs_on("aarch64")]


@pytest.mark.slow
@pytest.mark.skipif(not QEMU, reason="no qemu for aarch64 here")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in HONEST_GEMM])
def test_an_honest_kernel_of_the_corpus_is_right_on_aarch64(tmp_path: Path, case: Case) -> None:
    text = case.path.read_text("utf-8")
    assert _run(tmp_path, text, DRIVER, '-DVENDOR="none"', f"-I{FOLDER}", "-Wno-error") == "0 wrong\n"


OTHERS = {
    "softmax": """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
int forward(const float *, float *, int64_t, int64_t);
int main(void) {
    static float x[7 * 301], y[7 * 301];
    int wrong = 0;
    for (int i = 0; i < 7 * 301; i++) x[i] = (i * 37 % 101 - 50) * 0.3f;
    if (forward(x, y, 7, 301)) return 2;
    for (int r = 0; r < 7; r++) {
        double top = -1e9, sum = 0;
        for (int c = 0; c < 301; c++) top = fmax(top, x[r * 301 + c]);
        for (int c = 0; c < 301; c++) sum += exp(x[r * 301 + c] - top);
        for (int c = 0; c < 301; c++) wrong += !(fabs(y[r * 301 + c] - exp(x[r * 301 + c] - top) / sum) < 1e-6);
    }
    printf("%d wrong\\n", wrong);
    return 0;
}
""",
    "grouped_gemm": """
#include <stdint.h>
#include <stdio.h>
int forward(const float *, const float *, const int64_t *, float *, int64_t, int64_t, int64_t, int64_t);
int main(void) {
    static float a[24 * 19], b[4 * 13 * 19], out[24 * 13];
    int64_t sizes[4] = {5, 0, 17, 2}, row = 0;
    int wrong = 0;
    for (int i = 0; i < 24 * 19; i++) a[i] = i * 37 % 9 - 4;
    for (int i = 0; i < 4 * 13 * 19; i++) b[i] = i * 11 % 7 - 3;
    if (forward(a, b, sizes, out, 4, 24, 13, 19)) return 2;
    for (int g = 0; g < 4; g++) for (int64_t end = row + sizes[g]; row < end; row++) for (int j = 0; j < 13; j++) {
        float sum = 0;
        for (int k = 0; k < 19; k++) sum += a[row * 19 + k] * b[(g * 13 + j) * 19 + k];
        wrong += !(out[row * 13 + j] == sum);
    }
    printf("%d wrong\\n", wrong);
    return 0;
}
""",
}


@pytest.mark.slow
@pytest.mark.skipif(not QEMU, reason="no qemu for aarch64 here")
@pytest.mark.parametrize("name", OTHERS)
def test_other_starts_are_right_on_aarch64_and_the_wrong_ones_are_not(tmp_path: Path, name: str) -> None:
    operator = load_operator(name)
    assert _run(tmp_path, operator.start("naive"), OTHERS[name]) == "0 wrong\n"
    assert _run(tmp_path, operator.wrong, OTHERS[name]) != "0 wrong\n"


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
