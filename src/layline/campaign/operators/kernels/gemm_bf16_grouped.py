"""GEMM bf16, tiles ordered in groups so that neighbours share rows in the L2 cache; loads are pipelined."""

import triton
import triton.language as tl

BLOCK_M = 128  # knob: 64 128 256
BLOCK_N = 128  # knob: 128 256
BLOCK_K = 64  # knob: 32 64 128
GROUP = 8  # knob: 4 8 16
WARPS = 8  # knob: 4 8
STAGES = 3  # knob: 3 4


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
    EVEN: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    tile = tl.program_id(0)
    down, across = tl.cdiv(rows, BLOCK_M), tl.cdiv(columns, BLOCK_N)
    first = tile // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    tile_m = first + tile % (GROUP * across) % height
    tile_n = tile % (GROUP * across) // height
    row = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    at = tl.arange(0, BLOCK_K)
    # rows beyond the end wrap round: read, multiplied, never stored
    left_at = x + (row % rows)[:, None] * x_row + at[None, :] * x_depth
    right_at = y + at[:, None] * y_depth + (column % columns)[None, :] * y_column
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, depth, BLOCK_K):
        if EVEN:
            left, right = tl.load(left_at), tl.load(right_at)
        else:
            left = tl.load(left_at, at[None, :] < depth - start, 0.0)
            right = tl.load(right_at, at[:, None] < depth - start, 0.0)
        total = tl.dot(left, right, total)
        left_at += BLOCK_K * x_depth
        right_at += BLOCK_K * y_depth
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
            depth % BLOCK_K == 0,
            BLOCK_M,
            BLOCK_N,
            BLOCK_K,
            GROUP,
            num_warps=WARPS,
            num_stages=STAGES,
        )


def forward(a, b, out):
    _multiply(a, b.T, out)


def backward(a, b, dout, da, db):
    _multiply(dout, b, da)
    _multiply(dout.T, a, db)
