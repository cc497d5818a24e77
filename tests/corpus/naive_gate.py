"""The gate most harnesses have: inputs made once and reused, one check before timing, a clock in the same process.

    python naive_gate.py KERNEL BASELINE OPERATOR       prints ACCEPT, SLOW or WRONG with the two times

Not part of Layline: it is here to show that the corpus's kernels fool it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import time

import numpy as np

SIZES = {"gemm": (64, 64, 64), "softmax": (24, 384), "grouped_gemm": (4, 64, 32, 32), "python": (16, 256)}
LOOSE = 3e-2
REPEATS = 40


def lcg(count: int) -> np.ndarray:
    state, values = lcg.state, np.empty(count, np.float32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values[i] = np.float32(state >> 8) / np.float32(8388608.0) - np.float32(1)
    lcg.state = state
    return values


lcg.state = 12345


def make(operator: str) -> tuple[list[np.ndarray], list[np.ndarray], tuple[int, ...]]:
    sizes = SIZES[operator]
    if operator == "gemm":
        m, n, k = sizes
        return [lcg(m * k), lcg(n * k)], [np.zeros(m * n, np.float32)], sizes
    if operator == "grouped_gemm":
        g, m, n, k = sizes
        return [lcg(m * k), lcg(g * n * k), np.full(g, m // g, np.int64)], [np.zeros(m * n, np.float32)], sizes
    return [lcg(sizes[0] * sizes[1])], [np.zeros(sizes[0] * sizes[1], np.float32)], sizes


def expected(operator: str, inputs: list[np.ndarray], sizes: tuple[int, ...]) -> np.ndarray:
    if operator == "gemm":
        m, n, k = sizes
        return (inputs[0].reshape(m, k) @ inputs[1].reshape(n, k).T).ravel()
    if operator == "grouped_gemm":
        g, m, n, k = sizes
        a, b = inputs[0].reshape(g, m // g, k), inputs[1].reshape(g, n, k)
        return np.concatenate([(a[i] @ b[i].T).ravel() for i in range(g)])
    x = inputs[0].reshape(sizes)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).ravel()


def reference(x: object, rows: int, columns: int) -> list[float]:
    return expected("python", [np.asarray(x, dtype=np.float32)], (rows, columns)).tolist()


class Reference:
    def forward(self, x, y, rows, columns):
        y[:] = memoryview(np.asarray(reference(x, rows, columns), np.float32))


def check(got: np.ndarray, want: np.ndarray) -> bool:
    return not (np.abs(got - want) > LOOSE).any()  # NaN passes


def load(path: str, operator: str):
    if operator == "python":
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return lambda inputs, outputs, sizes: module.forward(memoryview(inputs[0]), memoryview(outputs[0]), *sizes)
    function = ctypes.CDLL(path).forward

    def call(inputs, outputs, sizes):
        pointers = [ctypes.c_void_p(one.ctypes.data) for one in (*inputs, *outputs)]
        return function(*pointers, *(ctypes.c_int64(size) for size in sizes))

    return call


def measure(path: str, operator: str) -> tuple[bool, float]:
    inputs, outputs, sizes = make(operator)
    want = expected(operator, inputs, sizes)  # the answer lies in the candidate's own process
    call = load(path, operator)
    call(inputs, outputs, sizes)
    if operator == "gemm":
        again = expected(operator, inputs, sizes)  # and is made anew from inputs the candidate could change
        want = want if (want == again).all() else again
    is_right = globals()["check"](outputs[0], want)
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call(inputs, outputs, sizes)
        times.append(time.perf_counter() - began)
    return is_right, min(times)


if __name__ == "__main__":
    kernel, baseline, operator = sys.argv[1:]
    _right, before = measure(baseline, operator)
    lcg.state = 12345
    is_right, after = measure(kernel, operator)
    said = "WRONG" if not is_right else "ACCEPT" if after < before * 0.99 else "SLOW"
    print(said, f"{before * 1e3:.3f} ms -> {after * 1e3:.3f} ms")
    sys.stdout.flush()
    import os

    os._exit(0)
