"""Known to be wrong: leaves out the last element of every sum."""

import triton
import triton.language as tl

BLOCK_M = 64  # knob: 32 64 128
BLOCK_N = 64  # knob: 32 64 128
WARPS = 4  # knob: 4 8
STAGES = 1  # knob: 1 2 3 4


@triton.jit
def _product(
    a, b, sa, sb, out, rows, columns, depth, blocks, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    tiles = tl.cdiv(columns, BLOCK_N)
    row = tl.program_id(0) // tiles * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(0) % tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for block in range(0, blocks):
        at = block * BLOCK_K + tl.arange(0, BLOCK_K)
        left = tl.load(a + row[:, None] * depth + at[None, :], (row[:, None] < rows) & (at[None, :] < depth - 1), 0.0)
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
            BLOCK_M,
            BLOCK_N,
            128,
            num_warps=WARPS,
            num_stages=STAGES,
        )
