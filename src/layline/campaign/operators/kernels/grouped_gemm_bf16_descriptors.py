"""Grouped GEMM bf16 through tensor descriptors (the bulk copy engine where there is one), pipelined, tiles of a group together.

A tile reads on into the next group's rows and stores only its own. Extents the copy engine cannot address (rows that are
no multiple of 16 bytes) take plain loads.
"""

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK_M = 128  # knob: 64 128
BLOCK_N = 256  # knob: 128 256
BLOCK_K = 64  # knob: 64 128
GROUP = 4  # knob: 1 4 8 16
WARPS = 8  # knob: 4 8
STAGES = 3  # knob: 3 4


@triton.jit
def _find(sizes, groups, tile, BLOCK_M: tl.constexpr):
    """The group a tile belongs to, its first row, the group's end; no group for tiles too many."""
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
    return group, first, end


@triton.jit
def _product(
    a,
    b,
    sizes,
    out,
    groups,
    columns,
    depth,
    down,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    tile = tl.program_id(0)
    across = tl.cdiv(columns, BLOCK_N)
    start = tile // (GROUP * across) * GROUP
    height = min(down - start, GROUP)
    group, first, end = _find(sizes, groups, start + tile % (GROUP * across) % height, BLOCK_M)
    column = tile % (GROUP * across) // height * BLOCK_N
    if group >= 0:
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(tl.cdiv(depth, BLOCK_K)):
            left = a.load([first, step * BLOCK_K])
            right = b.load([group * columns + column, step * BLOCK_K])
            total = tl.dot(left, right.T, total)
        row, at = (first + tl.arange(0, BLOCK_M)).to(tl.int64), column + tl.arange(0, BLOCK_N)
        inside = (row[:, None] < end) & (at[None, :] < columns)
        tl.store(out + row[:, None] * columns + at[None, :], total.to(tl.bfloat16), inside)


@triton.jit
def _plain(
    a, b, sizes, out, groups, columns, depth, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    group, first, end = _find(sizes, groups, tl.program_id(0), BLOCK_M)
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
    if not rows or not columns:
        return
    if not depth or depth % 8:
        grid = (triton.cdiv(rows, 64) + groups, triton.cdiv(columns, 64))
        _plain[grid](a, b, sizes, out, groups, columns, depth, 64, 64, 32, num_warps=4)
        return
    # no group's last tile is more than one beyond its rows: enough programs without waiting for the sizes
    down = triton.cdiv(rows, BLOCK_M) + groups
    _product[(down * triton.cdiv(columns, BLOCK_N),)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b.view(groups * columns, depth), [BLOCK_N, BLOCK_K]),
        sizes,
        out,
        groups,
        columns,
        depth,
        down,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        GROUP,
        num_warps=WARPS,
        num_stages=STAGES,
    )
