"""RMSNorm bf16 with the whole row in registers: every byte moves once; dw is summed in registers, then over programs."""

import torch
import triton
import triton.language as tl

WARPS = 8  # knob: 2 4 8 16 (forward)
ROWS = 1  # knob: 1 2 4 (forward)
BACKWARD_WARPS = 8  # knob: 4 8 16 (backward)
PER_PROCESSOR = 4  # knob: 1 2 3 4 6 8 (backward)
STAGES = 1  # knob: 1 2 3 (backward)

WIDE = 8192  # rows beyond this do not fit registers with the next ones on their way

EPSILON = 1e-6


@triton.jit
def _forward(x, w, y, rows, columns, epsilon, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    column = tl.arange(0, BLOCK)
    weight = tl.load(w + column, column < columns, 0.0).to(tl.float32)
    wide = tl.zeros((), tl.int64)  # rows × columns may exceed 2³¹
    first = tl.program_id(0) * ROWS
    for row in range(first, min(first + ROWS, rows)):
        at = (wide + row) * columns + column
        value = tl.load(x + at, column < columns, 0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value) / columns + epsilon)
        tl.store(y + at, (value * scale * weight).to(tl.bfloat16), column < columns)


@triton.jit
def _backward(x, w, dy, dx, partial, rows, columns, programs, epsilon, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    total = tl.zeros((BLOCK,), tl.float32)
    wide = tl.zeros((), tl.int64)  # rows × columns may exceed 2³¹
    for row in tl.range(tl.program_id(0), rows, programs, num_stages=STAGES):
        at = (wide + row) * columns + column
        value = tl.load(x + at, inside, 0.0).to(tl.float32)
        slope = tl.load(dy + at, inside, 0.0).to(tl.float32)
        weight = tl.load(w + column, inside, 0.0).to(tl.float32)  # from the cache: registers are dearer
        scale = tl.rsqrt(tl.sum(value * value) / columns + epsilon)
        value *= scale
        mean = tl.sum(value * weight * slope) / columns
        tl.store(dx + at, (scale * (slope * weight - value * mean)).to(tl.bfloat16), inside)
        total += slope * value
    tl.store(partial + tl.program_id(0) * columns + column, total, inside)


@triton.jit
def _sum(partial, dw, programs, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, programs, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < programs) & (column[None, :] < columns)
        total += tl.load(partial + row[:, None] * columns + column[None, :], inside, 0.0)
    tl.store(dw + column, tl.sum(total, 0), column < columns)


def forward(x, w, y):
    rows, columns = x.shape
    if rows and columns:
        grid = (triton.cdiv(rows, ROWS),)
        _forward[grid](x, w, y, rows, columns, EPSILON, triton.next_power_of_2(columns), ROWS, num_warps=WARPS)


def backward(x, w, dy, dx, dw):
    rows, columns = x.shape
    if not rows or not columns:
        dw.zero_()
        return
    programs = min(rows, PER_PROCESSOR * _processors(x.device))
    partial = torch.empty(programs, columns, dtype=torch.float32, device=x.device)
    block = triton.next_power_of_2(columns)
    stages, warps = (1, 16) if columns > WIDE else (STAGES, BACKWARD_WARPS)
    _backward[(programs,)](
        x, w, dy, dx, partial, rows, columns, programs, EPSILON, block, stages, num_warps=warps
    )
    _sum[(triton.cdiv(columns, 32),)](partial, dw, programs, columns, 128, 32, num_warps=8)


def _processors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 4
