"""Grouped GEMM bf16 through tensor descriptors (the bulk copy engine where there is one), pipelined, tiles of a group together.

A tile reads on into the next group's rows and stores only its own; whole tiles may leave through the copy engine too. Which
group a tile belongs to is found for all groups at once. Extents the copy engine cannot address (rows that are
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
WHOLE = 1  # knob: 0 1


@triton.jit
def _find(sizes, groups, tile, BLOCK_M: tl.constexpr, MOST: tl.constexpr):
    """The group a tile belongs to, its first row, the group's end; no group for tiles too many."""
    one = tl.arange(0, MOST)
    size = tl.load(sizes + one, one < groups, 0).to(tl.int32)
    tiles = tl.cdiv(size, BLOCK_M)
    last, end = tl.cumsum(tiles, 0), tl.cumsum(size, 0)
    here = (tile >= last - tiles) & (tile < last)
    group = tl.sum(tl.where(here, one + 1, 0)) - 1
    first = tl.sum(tl.where(here, end - size + (tile - last + tiles) * BLOCK_M, 0))
    return group, first, tl.sum(tl.where(here, end, 0))


@triton.jit
def _product(
    a,
    b,
    sizes,
    out,
    tiled,
    groups,
    columns,
    depth,
    down,
    MOST: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    WHOLE: tl.constexpr,
):
    tile = tl.program_id(0)
    across = tl.cdiv(columns, BLOCK_N)
    start = tile // (GROUP * across) * GROUP
    height = min(down - start, GROUP)
    group, first, end = _find(sizes, groups, start + tile % (GROUP * across) % height, BLOCK_M, MOST)
    column = tile % (GROUP * across) // height * BLOCK_N
    if group >= 0:
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(tl.cdiv(depth, BLOCK_K)):
            left = a.load([first, step * BLOCK_K])
            right = b.load([group * columns + column, step * BLOCK_K])
            total = tl.dot(left, right.T, total)
        if WHOLE and first + BLOCK_M <= end:
            tiled.store([first, column], total.to(tl.bfloat16))
        else:
            row, at = (first + tl.arange(0, BLOCK_M)).to(tl.int64), column + tl.arange(0, BLOCK_N)
            inside = (row[:, None] < end) & (at[None, :] < columns)
            tl.store(out + row[:, None] * columns + at[None, :], total.to(tl.bfloat16), inside)


@triton.jit
def _plain(
    a, b, sizes, out, groups, columns, depth, MOST: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    group, first, end = _find(sizes, groups, tl.program_id(0), BLOCK_M, MOST)
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
    most = triton.next_power_of_2(groups)
    if not depth or depth % 8 or columns % 8:
        grid = (triton.cdiv(rows, 64) + groups, triton.cdiv(columns, 64))
        _plain[grid](a, b, sizes, out, groups, columns, depth, most, 64, 64, 32, num_warps=4)
        return
    # no group's last tile is more than one beyond its rows: enough programs without waiting for the sizes
    down = triton.cdiv(rows, BLOCK_M) + groups
    _product[(down * triton.cdiv(columns, BLOCK_N),)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(b.view(groups * columns, depth), [BLOCK_N, BLOCK_K]),
        sizes,
        out,
        TensorDescriptor.from_tensor(out, [BLOCK_M, BLOCK_N]),
        groups,
        columns,
        depth,
        down,
        most,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        GROUP,
        WHOLE,
        num_warps=WARPS,
        num_stages=STAGES,
    )
