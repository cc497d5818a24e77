"""Blockwise FP8 GEMM, tiles in groups that share rows in the L2 cache, pipelined loads, one scale of b per tile.

A tile never spans two scales of b: BLOCK_N divides 128.
"""

import triton
import triton.language as tl

BLOCK_M = 128  # knob: 64 128 256
BLOCK_N = 128  # knob: 64 128
GROUP = 8  # knob: 4 8 16 32
WARPS = 8  # knob: 4 8
STAGES = 3  # knob: 2 3 4 5


@triton.jit
def _product(
    a,
    b,
    sa,
    sb,
    out,
    rows,
    columns,
    depth,
    blocks,
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
    left_at = a + (row % rows)[:, None] * depth + at[None, :]
    right_at = b + (column % columns)[None, :] * depth + at[:, None]
    scale_a_at = sa + (row % rows) * blocks
    scale_b_at = sb + tile_n * BLOCK_N // BLOCK_K * blocks
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for block in range(0, blocks):
        if EVEN:
            left, right = tl.load(left_at), tl.load(right_at)
        else:
            left = tl.load(left_at, at[None, :] < depth - block * BLOCK_K, 0.0)
            right = tl.load(right_at, at[:, None] < depth - block * BLOCK_K, 0.0)
        scale = tl.load(scale_a_at + block) * tl.load(scale_b_at + block)
        total += tl.dot(left, right) * scale[:, None]
        left_at += BLOCK_K
        right_at += BLOCK_K
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(out + row[:, None].to(tl.int64) * columns + column[None, :], total.to(tl.bfloat16), inside)


def forward(a, b, sa, sb, out):
    rows, depth = a.shape
    columns = b.shape[0]
    if rows and columns:
        grid = (triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N),)
        _product[grid](
            a,
            b,
            sa,
            sb,
            out,
            rows,
            columns,
            depth,
            sa.shape[1],
            depth % 128 == 0,
            BLOCK_M,
            BLOCK_N,
            128,
            GROUP,
            num_warps=WARPS,
            num_stages=STAGES,
        )
