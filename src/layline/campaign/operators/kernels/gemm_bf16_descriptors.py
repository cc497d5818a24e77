"""GEMM bf16 through tensor descriptors (the bulk copy engine where there is one), grouped tiles, persistent on request.

Extents the copy engine cannot address (rows that are no multiple of 16 bytes) take the plain kernel below.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK_M = 128  # knob: 64 128 256
BLOCK_N = 256  # knob: 128 256
BLOCK_K = 64  # knob: 64 128
GROUP = 8  # knob: 4 8 16
WARPS = 8  # knob: 4 8
STAGES = 3  # knob: 3 4
PERSISTENT = 0  # knob: 0 1
HALVES = 0  # knob: 0 1


@triton.jit
def _product(
    x,
    y,
    z,
    rows,
    columns,
    depth,
    programs,
    X_TURNED: tl.constexpr,
    Y_TURNED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PERSISTENT: tl.constexpr,
    HALVES: tl.constexpr,
):
    down, across = tl.cdiv(rows, BLOCK_M), tl.cdiv(columns, BLOCK_N)
    for tile in tl.range(tl.program_id(0), down * across, programs, flatten=PERSISTENT):
        first = tile // (GROUP * across) * GROUP
        height = min(down - first, GROUP)
        row = (first + tile % (GROUP * across) % height) * BLOCK_M
        column = tile % (GROUP * across) // height * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(tl.cdiv(depth, BLOCK_K)):
            at = step * BLOCK_K
            left = x.load([at, row]).T if X_TURNED else x.load([row, at])
            right = y.load([column, at]).T if Y_TURNED else y.load([at, column])
            total = tl.dot(left, right, total)
        if HALVES:  # two smaller stores leave room for one more stage of loads
            left_half, right_half = total.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1).split()
            z.store([row, column], left_half.to(tl.bfloat16))
            z.store([row, column + BLOCK_N // 2], right_half.to(tl.bfloat16))
        else:
            z.store([row, column], total.to(tl.bfloat16))


@triton.jit
def _plain(
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
            x + row[:, None] * x_row + at[None, :] * x_depth, (row[:, None] < rows) & (at[None, :] < depth), 0.0
        )
        right = tl.load(
            y + at[:, None] * y_depth + column[None, :] * y_column,
            (at[:, None] < depth) & (column[None, :] < columns),
            0.0,
        )
        total = tl.dot(left, right, total)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(z + row[:, None].to(tl.int64) * columns + column[None, :], total.to(tl.bfloat16), inside)


def _describe(matrix, turned, block):
    """A descriptor of the matrix as it lies in memory."""
    lying = matrix.T if turned else matrix
    return TensorDescriptor.from_tensor(lying, [block[1], block[0]] if turned else list(block))


def _multiply(x, y, z, x_turned, y_turned):
    rows, depth = x.shape
    columns = y.shape[1]
    if not rows or not columns:
        return
    if not depth or any(extent % 8 for extent in (rows, columns, depth)):
        grid = (triton.cdiv(rows, 64) * triton.cdiv(columns, 64),)
        _plain[grid](x, y, z, rows, columns, depth, x.stride(0), x.stride(1), y.stride(0), y.stride(1), 64, 64, 32)
        return
    tiles = triton.cdiv(rows, BLOCK_M) * triton.cdiv(columns, BLOCK_N)
    programs = min(tiles, _processors(x.device)) if PERSISTENT else tiles
    _product[(programs,)](
        _describe(x, x_turned, (BLOCK_M, BLOCK_K)),
        _describe(y, y_turned, (BLOCK_K, BLOCK_N)),
        TensorDescriptor.from_tensor(z, [BLOCK_M, BLOCK_N // 2 if HALVES else BLOCK_N]),
        rows,
        columns,
        depth,
        programs,
        x_turned,
        y_turned,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        GROUP,
        PERSISTENT,
        HALVES,
        num_warps=WARPS,
        num_stages=STAGES,
    )


_COUNTS = {}


def _processors(device):
    if device not in _COUNTS:
        is_cuda = device.type == "cuda"
        _COUNTS[device] = torch.cuda.get_device_properties(device).multi_processor_count if is_cuda else 4
    return _COUNTS[device]


def forward(a, b, out):
    _multiply(a, b.T, out, False, True)


def backward(a, b, dout, da, db):
    _multiply(dout, b, da, False, False)
    _multiply(dout.T, a, db, True, False)
