"""MoE permutation in bf16 on an accelerator: every token's row goes to the places its experts' rows have been given."""

from layline.operators import Axis, Tensor, Tolerance, routing

title = "MoE permute bf16 on an accelerator"
language = "triton"
metric = "GB/s"
axes = {"T": Axis(low=1), "K": Axis(const=2), "D": Axis(multiple=8, low=8), "E": Axis(const=8)}
tensors = {
    "x": Tensor("T D", "bfloat16"),
    "expert": Tensor("T K", "int64", draw=routing("E", "K")),
    "out": Tensor(lambda s: (s.T * s.K, s.D), "bfloat16"),
    "place": Tensor("T K", "int64"),
}
passes = {"forward": "x expert -> out place"}
shapes = {"mixtral-8192x4096": {"T": 8192, "D": 4096}, "ragged-13003x5120": {"T": 13003, "D": 5120}}
tolerance = Tolerance(rtol=1e-6, atol=1e-6)
kinds = ("normal", "scaled", "uneven", "sparse", "outliers")


def reference(step, x):
    """Sorted by expert, and by token inside an expert: stable, so there is one right answer."""
    import torch

    order = torch.argsort(x.expert.reshape(-1), stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel(), device=order.device)
    return {"out": x.x[order // x.expert.shape[1]], "place": place.view(x.expert.shape)}


starts = {
    "naive": """import torch
import triton
import triton.language as tl


@triton.jit
def _count(expert, counts, total, E: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    who = tl.load(expert + at, at < total, E)
    for one in range(E):
        tl.store(counts + one * tl.num_programs(0) + block, tl.sum((who == one).to(tl.int64)))


@triton.jit
def _place(expert, before, place, total, E: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    who = tl.load(expert + at, at < total, E)
    found = tl.zeros((BLOCK,), tl.int64)
    for one in range(E):
        mine = (who == one).to(tl.int64)
        first = tl.load(before + one * tl.num_programs(0) + block)
        found = tl.where(who == one, first + tl.cumsum(mine) - mine, found)
    tl.store(place + at, found, at < total)


@triton.jit
def _scan(counts, before, size, BLOCK: tl.constexpr):
    whole = tl.zeros((), tl.int64)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(counts + at, at < size, 0)
        tl.store(before + at, whole + tl.cumsum(value) - value, at < size)
        whole += tl.sum(value)


@triton.jit
def _move(x, place, out, columns, K: tl.constexpr, BLOCK: tl.constexpr):
    slot = tl.program_id(0).to(tl.int64)
    target = tl.load(place + slot) * columns
    row = slot // K * columns
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + target + at, tl.load(x + row + at, at < columns), at < columns)


def forward(x, expert, out, place):
    tokens, columns = x.shape
    k, total = expert.shape[1], expert.numel()
    blocks = triton.cdiv(total, 256)
    counts = torch.empty(8 * blocks, dtype=torch.int64, device=x.device)
    before = torch.empty_like(counts)
    _count[(blocks,)](expert, counts, total, 8, 256)
    _scan[(1,)](counts, before, 8 * blocks, 1024)
    _place[(blocks,)](expert, before, place, total, 8, 256)
    _move[(total,)](x, place, out, columns, k, 256, num_warps=1)
"""
}

variants = {
    "once": """import torch
import triton
import triton.language as tl


@triton.jit
def _count(expert, counts, total, E: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    who = tl.load(expert + at, at < total, E)
    for one in tl.static_range(E):
        tl.store(counts + one * tl.num_programs(0) + block, tl.sum((who == one).to(tl.int32)))


@triton.jit
def _place(expert, counts, place, total, E: tl.constexpr, BLOCK: tl.constexpr, MANY: tl.constexpr):
    block, blocks = tl.program_id(0), tl.num_programs(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    who = tl.load(expert + at, at < total, E)
    found = tl.zeros((BLOCK,), tl.int32)
    for one in tl.static_range(E):
        before = tl.zeros((MANY,), tl.int32)
        for start in range(0, one * blocks + block, MANY):
            of = start + tl.arange(0, MANY)
            before += tl.load(counts + of, of < one * blocks + block, 0)
        mine = (who == one).to(tl.int32)
        found = tl.where(who == one, tl.sum(before) + tl.cumsum(mine) - mine, found)
    tl.store(place + at, found.to(tl.int64), at < total)


@triton.jit
def _move(x, place, out, columns, K: tl.constexpr, BLOCK: tl.constexpr, EXACT: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        if EXACT:
            row = tl.load(x + token * columns + at, eviction_policy="evict_first")
        else:
            row = tl.load(x + token * columns + at, at < columns, eviction_policy="evict_first")
        for one in tl.static_range(K):
            target = out + tl.load(place + token * K + one) * columns + at
            if EXACT:
                tl.store(target, row)
            else:
                tl.store(target, row, at < columns)


SLOTS = 512  # knob: 256 512 1024
BLOCK = 4096  # knob: 1024 2048 4096
WARPS = 4  # knob: 2 4 8


def forward(x, expert, out, place):
    tokens, columns = x.shape
    k, total = expert.shape[1], expert.numel()
    blocks = triton.cdiv(total, SLOTS)
    counts = torch.empty(8 * blocks, dtype=torch.int32, device=x.device)
    _count[(blocks,)](expert, counts, total, 8, SLOTS)
    _place[(blocks,)](expert, counts, place, total, 8, SLOTS, 256)
    block = min(BLOCK, triton.next_power_of_2(columns))
    _move[(tokens,)](x, place, out, columns, k, block, columns % block == 0, num_warps=WARPS)
""",
    "ahead": """import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

# Every kernel starts before the one it waits for has ended (Hopper and later), and rows are read meanwhile. Eight
# counters of sixteen bits lie in two words, so that one sum over a block counts four experts.


@triton.jit
def _spread(who):
    low = tl.where(who < 4, 1 << (16 * (who & 3)), 0)
    high = tl.where((who >= 4) & (who < 8), 1 << (16 * (who & 3)), 0)
    return low.to(tl.int64), high.to(tl.int64)


@triton.jit
def _count(expert, counts, total, BLOCK: tl.constexpr):
    gdc_launch_dependents()
    block = tl.program_id(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    low, high = _spread(tl.load(expert + at, at < total, 8))
    tl.store(counts + 2 * block, tl.sum(low))
    tl.store(counts + 2 * block + 1, tl.sum(high))


@triton.jit
def _sum(counts, until, one, MANY: tl.constexpr):
    seen = tl.zeros((MANY, 8), tl.int32)
    for start in range(0, until, MANY):
        of = start + tl.arange(0, MANY)
        words = tl.load(counts + 2 * of[:, None] + (one // 4)[None, :], (of < until)[:, None], 0)
        seen += ((words >> (16 * (one & 3))[None, :]) & 0xFFFF).to(tl.int32)
    return tl.sum(seen, axis=0)


@triton.jit
def _place(expert, counts, place, total, BLOCK: tl.constexpr, MANY: tl.constexpr):
    gdc_launch_dependents()
    block, blocks = tl.program_id(0), tl.num_programs(0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    who = tl.load(expert + at, at < total, 8)
    low, high = _spread(who)
    word = tl.where(who < 4, tl.cumsum(low) - low, tl.cumsum(high) - high)
    found = ((word >> (16 * (who & 3))) & 0xFFFF).to(tl.int32)
    one = tl.arange(0, 8)
    gdc_wait()
    whole = _sum(counts, blocks, one, MANY)
    first = tl.cumsum(whole) - whole + _sum(counts, block, one, MANY)
    for named in tl.static_range(8):
        found += tl.where(who == named, tl.sum(tl.where(one == named, first, 0)), 0)
    tl.store(place + at, found.to(tl.int64), at < total)


@triton.jit
def _move(x, place, out, columns, K: tl.constexpr, BLOCK: tl.constexpr, EXACT: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    if EXACT:
        row = tl.load(x + token * columns + at, eviction_policy="evict_first")
    else:
        row = tl.load(x + token * columns + at, at < columns, eviction_policy="evict_first")
    gdc_wait()
    for one in tl.static_range(K):
        target = out + tl.load(place + token * K + one) * columns + at
        if EXACT:
            tl.store(target, row)
        else:
            tl.store(target, row, at < columns)


SLOTS = 256  # knob: 256 512
BLOCK = 4096  # knob: 1024 2048 4096
WARPS = 2  # knob: 1 2 4


def forward(x, expert, out, place):
    tokens, columns = x.shape
    k, total = expert.shape[1], expert.numel()
    blocks = triton.cdiv(total, SLOTS)
    counts = torch.empty(2 * blocks, dtype=torch.int64, device=x.device)
    _count[(blocks,)](expert, counts, total, SLOTS)
    _place[(blocks,)](expert, counts, place, total, SLOTS, 64, launch_pdl=True)
    block = min(BLOCK, triton.next_power_of_2(columns))
    grid = (tokens, triton.cdiv(columns, block))
    _move[grid](x, place, out, columns, k, block, columns % block == 0, num_warps=WARPS, launch_pdl=True)
""",
}
