"""Known to be wrong: leaves out the last element of every sum."""

import triton
import triton.language as tl

BLOCK_M = 64  # knob: 32 64 128
BLOCK_N = 64  # knob: 32 64 128
BLOCK_K = 32  # knob: 32 64
WARPS = 4  # knob: 4 8
STAGES = 1  # knob: 1 2 3 4


@triton.jit
def _product(
    x,
    y,
    z,
    rows,
    columns,
    depth,
    x_row,
    x_depth,
    y_depth,
    y_column,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tiles = tl.cdiv(columns, BLOCK_N)
    row = tl.program_id(0) // tiles * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(0) % tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, depth, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        left = tl.load(
            x + row[:, None] * x_row + at[None, :] * x_depth, (row[:, None] < rows) & (at[None, :] < depth - 1), 0.0
        )
        right = tl.load(
            y + at[:, None] * y_depth + column[None, :] * y_column,
            (at[:, None] < depth) & (column[None, :] < columns),
            0.0,
        )
        total = tl.dot(left, right, total)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(z + row[:, None].to(tl.int64) * columns + column[None, :], total.to(tl.bfloat16), inside)


def _multiply(x, y, z):
    rows, depth = x.shape
    columns = y.shape[1]
    if rows and columns:
        grid = (triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N),)
        _product[grid](
            x,
            y,
            z,
            rows,
            columns,
            depth,
            x.stride(0),
            x.stride(1),
            y.stride(0),
            y.stride(1),
            BLOCK_M,
            BLOCK_N,
            BLOCK_K,
            num_warps=WARPS,
            num_stages=STAGES,
        )


def forward(a, b, out):
    _multiply(a, b.T, out)


def backward(a, b, dout, da, db):
    _multiply(dout, b, da)
    _multiply(dout.T, a, db)
