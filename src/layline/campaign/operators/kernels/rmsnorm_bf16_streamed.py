"""RMSNorm bf16, whole rows in registers: a power of two of columns without masks, then what is left of the row.

The backward pass has a few programs per processor that go through the rows with the next ones already on their way; dw is
summed in registers, the programs' sums are added up by a second, small kernel or by atomic additions.
"""

import torch
import triton
import triton.language as tl

WARPS = 4  # knob: 2 4 8
ROWS = 1  # knob: 1 2 4
STAGES = 1  # knob: 1 2
STREAM = 1  # knob: 0 1
BACKWARD_WARPS = 8  # knob: 4 8 16
BACKWARD_STAGES = 3  # knob: 2 3 4
PER_PROCESSOR = 2  # knob: 1 2 3 4
ATOMIC = 0  # knob: 0 1

EPSILON = 1e-6


@triton.jit
def _forward(
    x,
    w,
    y,
    rows,
    columns,
    epsilon,
    HEAD: tl.constexpr,
    TAIL: tl.constexpr,
    ROWS: tl.constexpr,
    STAGES: tl.constexpr,
    HINT: tl.constexpr,
):
    head = tl.arange(0, HEAD)
    weight = tl.load(w + head).to(tl.float32)
    if TAIL:
        tail = HEAD + tl.arange(0, TAIL)
        inside = tail < columns
        weight_tail = tl.load(w + tail, inside, 0.0).to(tl.float32)
    wide = tl.zeros((), tl.int64)  # rows × columns may exceed 2³¹
    first = tl.program_id(0) * ROWS
    for row in tl.range(first, min(first + ROWS, rows), num_stages=STAGES):
        start = (wide + row) * columns
        value = tl.load(x + start + head, eviction_policy=HINT).to(tl.float32)
        squares = tl.sum(value * value)
        if TAIL:
            value_tail = tl.load(x + start + tail, inside, 0.0, eviction_policy=HINT).to(tl.float32)
            squares += tl.sum(value_tail * value_tail)
        scale = tl.rsqrt(squares / columns + epsilon)
        tl.store(y + start + head, (value * scale * weight).to(tl.bfloat16), eviction_policy=HINT)
        if TAIL:
            last = (value_tail * scale * weight_tail).to(tl.bfloat16)
            tl.store(y + start + tail, last, inside, eviction_policy=HINT)


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
    HEAD: tl.constexpr,
    TAIL: tl.constexpr,
    STAGES: tl.constexpr,
    HINT: tl.constexpr,
    ATOMIC: tl.constexpr,
):
    head = tl.arange(0, HEAD)
    weight = tl.load(w + head)
    total = tl.zeros((HEAD,), tl.float32)
    if TAIL:
        tail = HEAD + tl.arange(0, TAIL)
        inside = tail < columns
        weight_tail = tl.load(w + tail, inside, 0.0)
        total_tail = tl.zeros((TAIL,), tl.float32)
    wide = tl.zeros((), tl.int64)
    for row in tl.range(tl.program_id(0), rows, programs, num_stages=STAGES):
        start = (wide + row) * columns
        value = tl.load(x + start + head, eviction_policy=HINT).to(tl.float32)
        slope = tl.load(dy + start + head, eviction_policy=HINT).to(tl.float32)
        weighted = slope * weight.to(tl.float32)
        squares, product = tl.sum(value * value), tl.sum(value * weighted)
        if TAIL:
            value_tail = tl.load(x + start + tail, inside, 0.0, eviction_policy=HINT).to(tl.float32)
            slope_tail = tl.load(dy + start + tail, inside, 0.0, eviction_policy=HINT).to(tl.float32)
            weighted_tail = slope_tail * weight_tail.to(tl.float32)
            squares += tl.sum(value_tail * value_tail)
            product += tl.sum(value_tail * weighted_tail)
        scale = tl.rsqrt(squares / columns + epsilon)
        mean = product * scale / columns
        value *= scale
        total += slope * value
        tl.store(dx + start + head, (scale * (weighted - value * mean)).to(tl.bfloat16), eviction_policy=HINT)
        if TAIL:
            value_tail *= scale
            total_tail += slope_tail * value_tail
            last = (scale * (weighted_tail - value_tail * mean)).to(tl.bfloat16)
            tl.store(dx + start + tail, last, inside, eviction_policy=HINT)
    if ATOMIC:
        tl.atomic_add(dw + head, total, sem="relaxed")
        if TAIL:
            tl.atomic_add(dw + tail, total_tail, inside, sem="relaxed")
    else:
        mine = dw + tl.program_id(0) * columns
        tl.store(mine + head, total)
        if TAIL:
            tl.store(mine + tail, total_tail, inside)


@triton.jit
def _sum(partial, dw, programs, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, programs, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < programs) & (column[None, :] < columns)
        total += tl.load(partial + row[:, None] * columns + column[None, :], inside, 0.0)
    tl.store(dw + column, tl.sum(total, 0), column < columns)


def _split(columns):
    """The largest power of two that fits, and one that covers the rest."""
    head = 1 << (columns.bit_length() - 1)
    return head, triton.next_power_of_2(columns - head) if columns > head else 0


def forward(x, w, y):
    rows, columns = x.shape
    if rows and columns:
        head, tail = _split(columns)
        grid = (triton.cdiv(rows, ROWS),)
        _forward[grid](x, w, y, rows, columns, EPSILON, head, tail, ROWS, STAGES, _hint(), num_warps=WARPS)


def backward(x, w, dy, dx, dw):
    rows, columns = x.shape
    if ATOMIC or not rows or not columns:
        dw.zero_()
    if not rows or not columns:
        return
    programs = min(rows, PER_PROCESSOR * _processors(x.device))
    partial = dw if ATOMIC else torch.empty(programs, columns, dtype=torch.float32, device=x.device)
    head, tail = _split(columns)
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
        head,
        tail,
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
