"""Grouped GEMM bf16, one tile of one group per program; every program looks for its group in the sizes."""

import triton
import triton.language as tl

BLOCK_M = 64  # knob: 32 64 128
BLOCK_N = 64  # knob: 32 64 128
BLOCK_K = 32  # knob: 32 64
WARPS = 4  # knob: 4 8
STAGES = 1  # knob: 1 2 3


@triton.jit
def _product(
    a, b, sizes, out, groups, columns, depth, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    tile = tl.program_id(0)
    seen, begin, group, first, end = 0, 0, -1, 0, 0
    for one in range(0, groups):
        size = tl.load(sizes + one).to(tl.int32)
        tiles = tl.cdiv(size, BLOCK_M)
        here = (tile >= seen) & (tile < seen + tiles)
        group = tl.where(here, one, group)
        first = tl.where(here, begin + (tile - seen) * BLOCK_M, first)
        end = tl.where(here, begin + size, end)
        seen += tiles
        begin += size
    if group >= 0:
        row = (first + tl.arange(0, BLOCK_M)).to(tl.int64)
        column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        weight = b + group.to(tl.int64) * columns * depth
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start in range(0, depth, BLOCK_K):
            at = start + tl.arange(0, BLOCK_K)
            left = tl.load(a + row[:, None] * depth + at[None, :], (row[:, None] < end) & (at[None, :] < depth), 0.0)
            right = tl.load(
                weight + column[None, :] * depth + at[:, None], (column[None, :] < columns) & (at[:, None] < depth), 0.0
            )
            total = tl.dot(left, right, total)
        inside = (row[:, None] < end) & (column[None, :] < columns)
        tl.store(out + row[:, None] * columns + column[None, :], total.to(tl.bfloat16), inside)


def forward(a, b, sizes, out):
    rows, depth = a.shape
    groups, columns = b.shape[0], b.shape[1]
    if rows and columns:
        # no group's last tile is more than one beyond its rows: enough programs without waiting for the sizes
        grid = (triton.cdiv(rows, BLOCK_M) + groups, triton.cdiv(columns, BLOCK_N))
        _product[grid](
            a, b, sizes, out, groups, columns, depth, BLOCK_M, BLOCK_N, BLOCK_K, num_warps=WARPS, num_stages=STAGES
        )
