"""RMSNorm bf16, one row per program, two passes over it: the plainest kernel that is right."""

import triton
import triton.language as tl

BLOCK = 256  # knob: 128 256 512 1024
WARPS = 4  # knob: 1 2 4 8

EPSILON = 1e-6


@triton.jit
def _forward(x, w, y, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + column, column < columns, 0.0).to(tl.float32)
        squares += value * value
    scale = tl.rsqrt(tl.sum(squares) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + column, column < columns, 0.0).to(tl.float32)
        weight = tl.load(w + column, column < columns, 0.0).to(tl.float32)
        tl.store(y + row + column, (value * scale * weight).to(tl.bfloat16), column < columns)


@triton.jit
def _backward(x, w, dy, dx, dw, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    squares, product = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + column, column < columns, 0.0).to(tl.float32)
        weight = tl.load(w + column, column < columns, 0.0).to(tl.float32)
        slope = tl.load(dy + row + column, column < columns, 0.0).to(tl.float32)
        squares += value * value
        product += value * weight * slope
    scale = tl.rsqrt(tl.sum(squares) / columns + epsilon)
    mean = tl.sum(product) * scale / columns
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + column, column < columns, 0.0).to(tl.float32) * scale
        weight = tl.load(w + column, column < columns, 0.0).to(tl.float32)
        slope = tl.load(dy + row + column, column < columns, 0.0).to(tl.float32)
        tl.store(dx + row + column, (scale * (slope * weight - value * mean)).to(tl.bfloat16), column < columns)
        tl.atomic_add(dw + column, slope * value, column < columns)


def forward(x, w, y):
    rows, columns = x.shape
    if rows and columns:
        _forward[(rows,)](x, w, y, columns, EPSILON, BLOCK, num_warps=WARPS)


def backward(x, w, dy, dx, dw):
    rows, columns = x.shape
    dw.zero_()
    if rows and columns:
        _backward[(rows,)](x, w, dy, dx, dw, columns, EPSILON, BLOCK, num_warps=WARPS)
