"""Blockwise FP8 GEMM through tensor descriptors (the bulk copy engine where there is one), scales loaded one block ahead.

A tile never spans two scales of b: BLOCK_N divides 128. Extents the copy engine cannot address (rows that are no multiple
of 16 bytes) take the plain kernel below.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK_M = 64  # knob: 64 128
BLOCK_N = 128  # knob: 64 128
GROUP = 8  # knob: 4 8 16 32
WARPS = 4  # knob: 4 8
STAGES = 3  # knob: 2 3 4
PERSISTENT = 0  # knob: 0 1
DIRECT = 1  # knob: 0 1


@triton.jit
def _product(
    a,
    b,
    out,
    sa,
    sb,
    rows,
    columns,
    blocks,
    programs,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PERSISTENT: tl.constexpr,
    DIRECT: tl.constexpr,
):
    down, across = tl.cdiv(rows, BLOCK_M), tl.cdiv(columns, BLOCK_N)
    for tile in tl.range(tl.program_id(0), down * across, programs, flatten=PERSISTENT):
        first = tile // (GROUP * across) * GROUP
        height = min(down - first, GROUP)
        row = (first + tile % (GROUP * across) % height) * BLOCK_M
        column = tile % (GROUP * across) // height * BLOCK_N
        scale_a_at = sa + (row + tl.arange(0, BLOCK_M)) % rows * blocks
        scale_b_at = sb + column // BLOCK_K * blocks
        scale = tl.load(scale_a_at) * tl.load(scale_b_at)
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for block in range(0, blocks):
            left = a.load([row, block * BLOCK_K])
            right = b.load([column, block * BLOCK_K])
            ahead = min(block + 1, blocks - 1)
            following = tl.load(scale_a_at + ahead) * tl.load(scale_b_at + ahead)
            total += tl.dot(left, right.T) * scale[:, None]
            scale = following
        if DIRECT:  # no room of its own in shared memory: one more program fits on a processor
            down_at, across_at = row + tl.arange(0, BLOCK_M), column + tl.arange(0, BLOCK_N)
            within = (down_at[:, None] < rows) & (across_at[None, :] < columns)
            tl.store(out + down_at[:, None].to(tl.int64) * columns + across_at[None, :], total.to(tl.bfloat16), within)
        else:
            out.store([row, column], total.to(tl.bfloat16))


@triton.jit
def _plain(
    a, b, sa, sb, out, rows, columns, depth, blocks, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    tiles = tl.cdiv(columns, BLOCK_N)
    row = tl.program_id(0) // tiles * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(0) % tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for block in range(0, blocks):
        at = block * BLOCK_K + tl.arange(0, BLOCK_K)
        left = tl.load(a + row[:, None] * depth + at[None, :], (row[:, None] < rows) & (at[None, :] < depth), 0.0)
        right = tl.load(
            b + column[None, :] * depth + at[:, None], (column[None, :] < columns) & (at[:, None] < depth), 0.0
        )
        scale_a = tl.load(sa + row * blocks + block, row < rows, 0.0)
        scale_b = tl.load(sb + column // BLOCK_K * blocks + block, column < columns, 0.0)
        total += tl.dot(left, right) * scale_a[:, None] * scale_b[None, :]
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(out + row[:, None].to(tl.int64) * columns + column[None, :], total.to(tl.bfloat16), inside)


def forward(a, b, sa, sb, out):
    rows, depth = a.shape
    columns, blocks = b.shape[0], sa.shape[1]
    if not rows or not columns:
        return
    if not depth or depth % 16 or columns % 8:
        grid = (triton.cdiv(rows, 64) * triton.cdiv(columns, 64),)
        _plain[grid](a, b, sa, sb, out, rows, columns, depth, blocks, 64, 64, 128, num_warps=4)
        return
    tiles = triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N)
    programs = min(tiles, _processors(a.device)) if PERSISTENT else tiles
    _product[(programs,)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, 128]),
        TensorDescriptor.from_tensor(b, [BLOCK_N, 128]),
        out if DIRECT else TensorDescriptor.from_tensor(out, [BLOCK_M, BLOCK_N]),
        sa,
        sb,
        rows,
        columns,
        blocks,
        programs,
        BLOCK_M,
        BLOCK_N,
        128,
        GROUP,
        PERSISTENT,
        DIRECT,
        num_warps=WARPS,
        num_stages=STAGES,
    )


_COUNTS = {}


def _processors(device):
    if device not in _COUNTS:
        is_cuda = device.type == "cuda"
        _COUNTS[device] = torch.cuda.get_device_properties(device).multi_processor_count if is_cuda else 4
    return _COUNTS[device]
