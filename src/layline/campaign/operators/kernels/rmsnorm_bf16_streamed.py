"""RMSNorm bf16, a few programs per processor that go through the rows: the next rows are on their way while one is worked on.

dw is summed in registers; the programs' sums are added up by a second, small kernel or by atomic additions.
"""

import torch
import triton
import triton.language as tl

WARPS = 4  # knob: 2 4 8 16
STAGES = 3  # knob: 1 2 3 4
PER_PROCESSOR = 8  # knob: 2 4 6 8 12 16
BACKWARD_WARPS = 8  # knob: 4 8 16
BACKWARD_STAGES = 2  # knob: 1 2 3 4
BACKWARD_PER_PROCESSOR = 3  # knob: 1 2 3 4 6
ATOMIC = 0  # knob: 0 1
STREAM = 1  # knob: 0 1

EPSILON = 1e-6


@triton.jit
def _forward(x, w, y, rows, columns, programs, epsilon, BLOCK: tl.constexpr, STAGES: tl.constexpr, HINT: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    weight = tl.load(w + column, inside, 0.0).to(tl.float32)
    wide = tl.zeros((), tl.int64)  # rows × columns may exceed 2³¹
    for row in tl.range(tl.program_id(0), rows, programs, num_stages=STAGES):
        start = (wide + row) * columns
        value = tl.load(x + start + column, inside, 0.0, eviction_policy=HINT).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value) / columns + epsilon)
        tl.store(y + start + column, (value * scale * weight).to(tl.bfloat16), inside, eviction_policy=HINT)


@triton.jit
def _backward(
    x,
    w,
    dy,
    dx,
    dw,
    rows,
    columns,
    programs,
    epsilon,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
    HINT: tl.constexpr,
    ATOMIC: tl.constexpr,
):
    column = tl.arange(0, BLOCK)
    inside = column < columns
    weight = tl.load(w + column, inside, 0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    wide = tl.zeros((), tl.int64)
    for row in tl.range(tl.program_id(0), rows, programs, num_stages=STAGES):
        start = (wide + row) * columns
        value = tl.load(x + start + column, inside, 0.0, eviction_policy=HINT).to(tl.float32)
        slope = tl.load(dy + start + column, inside, 0.0, eviction_policy=HINT).to(tl.float32)
        weighted = slope * weight.to(tl.float32)
        squares, product = tl.sum(value * value), tl.sum(value * weighted)
        scale = tl.rsqrt(squares / columns + epsilon)
        value *= scale
        total += slope * value
        mean = product * scale / columns
        tl.store(
            dx + start + column, (scale * (weighted - value * mean)).to(tl.bfloat16), inside, eviction_policy=HINT
        )
    if ATOMIC:
        tl.atomic_add(dw + column, total, inside, sem="relaxed")
    else:
        tl.store(dw + tl.program_id(0) * columns + column, total, inside)


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
        programs = min(rows, PER_PROCESSOR * _processors(x.device))
        block = triton.next_power_of_2(columns)
        _forward[(programs,)](x, w, y, rows, columns, programs, EPSILON, block, STAGES, _hint(), num_warps=WARPS)


def backward(x, w, dy, dx, dw):
    rows, columns = x.shape
    if ATOMIC or not rows or not columns:
        dw.zero_()
    if not rows or not columns:
        return
    programs = min(rows, BACKWARD_PER_PROCESSOR * _processors(x.device))
    partial = dw if ATOMIC else torch.empty(programs, columns, dtype=torch.float32, device=x.device)
    block = triton.next_power_of_2(columns)
    _backward[(programs,)](
        x,
        w,
        dy,
        dx,
        partial,
        rows,
        columns,
        programs,
        EPSILON,
        block,
        BACKWARD_STAGES,
        _hint(),
        ATOMIC,
        num_warps=BACKWARD_WARPS,
    )
    if not ATOMIC:
        _sum[(triton.cdiv(columns, 32),)](partial, dw, programs, columns, 128, 32, num_warps=8)


def _hint():
    return "evict_first" if STREAM else ""


_COUNTS = {}


def _processors(device):
    if device not in _COUNTS:
        is_cuda = device.type == "cuda"
        _COUNTS[device] = torch.cuda.get_device_properties(device).multi_processor_count if is_cuda else 4
    return _COUNTS[device]
