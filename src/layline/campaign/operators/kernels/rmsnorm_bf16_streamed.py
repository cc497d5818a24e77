"""RMSNorm bf16, whole rows in registers, every byte moved once.

Forward: a program per row (or two), so many elements per thread that loads are 16 bytes wide, several in flight and few
registers taken; masks only where a row is no power of two; on request the next launch is prepared while this one ends.
Backward: a few programs per processor that go through the rows with the next ones already on their way; a power of two of
columns without masks, then what is left of the row. dw is summed in registers, the programs' sums are added up by a
second, small kernel or by atomic additions.
"""

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

PER_THREAD = 32  # knob: 16 32 64 (forward)
ROWS = 1  # knob: 1 2 (forward)
LOAD_ONCE = 1  # knob: 0 1 (forward)
STORE_ONCE = 0  # knob: 0 1 (forward)
EARLY = 0  # knob: 0 1 (forward)
STREAM = 1  # knob: 0 1 (backward)
BACKWARD_WARPS = 8  # knob: 4 8 16 (backward)
BACKWARD_STAGES = 3  # knob: 2 3 4 (backward)
PER_PROCESSOR = 2  # knob: 1 2 3 4 (backward)
ATOMIC = 0  # knob: 0 1 (backward)

WIDE = 8192  # rows beyond this do not fit registers with the next ones on their way
EPSILON = 1e-6


@triton.jit
def _forward(
    x,
    w,
    y,
    rows,
    columns,
    epsilon,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    EXACT: tl.constexpr,
    LOAD: tl.constexpr,
    STORE: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()  # whatever wrote x and w is done
    column = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * columns + column[None, :]
    if EXACT:
        value = tl.load(x + at, eviction_policy=LOAD).to(tl.float32)
        weight = tl.load(w + column)
    else:
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        value = tl.load(x + at, inside, 0.0, eviction_policy=LOAD).to(tl.float32)
        weight = tl.load(w + column, column < columns, 0.0)
    scale = tl.rsqrt(tl.sum(value * value, 1) / columns + epsilon)
    result = (value * scale[:, None] * weight.to(tl.float32)[None, :]).to(tl.bfloat16)
    if EXACT:
        tl.store(y + at, result, eviction_policy=STORE)
    else:
        tl.store(y + at, result, inside, eviction_policy=STORE)


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
    if not rows or not columns:
        return
    block = triton.next_power_of_2(columns)
    exact = columns == block and rows % ROWS == 0
    warps = max(1, min(16, block * ROWS // (32 * PER_THREAD)))
    options = {"launch_pdl": True} if EARLY else {}
    _forward[(triton.cdiv(rows, ROWS),)](
        x,
        w,
        y,
        rows,
        columns,
        EPSILON,
        ROWS,
        block,
        exact,
        _hint(LOAD_ONCE),
        _hint(STORE_ONCE),
        EARLY,
        num_warps=warps,
        **options,
    )


def backward(x, w, dy, dx, dw):
    rows, columns = x.shape
    if ATOMIC or not rows or not columns:
        dw.zero_()
    if not rows or not columns:
        return
    programs = min(rows, PER_PROCESSOR * _processors(x.device))
    partial = dw if ATOMIC else torch.empty(programs, columns, dtype=torch.float32, device=x.device)
    head, tail = _split(columns)
    stages, warps = (1, 16) if columns > WIDE else (BACKWARD_STAGES, BACKWARD_WARPS)
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
        stages,
        _hint(STREAM),
        ATOMIC,
        num_warps=warps,
    )
    if not ATOMIC:
        _sum[(triton.cdiv(columns, 32),)](partial, dw, programs, columns, 128, 32, num_warps=8)


def _hint(once):
    return "evict_first" if once else ""


_COUNTS = {}


def _processors(device):
    if device not in _COUNTS:
        is_cuda = device.type == "cuda"
        _COUNTS[device] = torch.cuda.get_device_properties(device).multi_processor_count if is_cuda else 4
    return _COUNTS[device]
