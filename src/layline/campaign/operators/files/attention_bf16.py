"""Causal attention in bf16 on an accelerator: several sequences of any length side by side, fewer heads of keys than of queries."""

from itertools import pairwise

from layline.operators import Axis, Tensor, Tolerance, offsets

title = "Causal attention bf16 on an accelerator, grouped heads, variable length"
language = "triton"
metric = "TFLOPS"
axes = {"T": Axis(low=1), "H": Axis(low=1), "G": Axis(low=1), "D": Axis(const=128), "B": Axis(low=1)}
tensors = {
    "q": Tensor("T H D", "bfloat16"),
    "k": Tensor("T G D", "bfloat16"),
    "v": Tensor("T G D", "bfloat16"),
    "starts_at": Tensor("B+1", "int64", draw=offsets("T", "B")),
    "out": Tensor("T H D", "bfloat16"),
}
passes = {"forward": "q k v starts_at -> out"}
shapes = {
    "llama8b-4x2048": {"T": 8192, "H": 32, "G": 8, "B": 4},
    "ragged-3001": {"T": 3001, "H": 16, "G": 4, "B": 7},
}
tolerance = Tolerance(rtol=1.6e-2, atol=2e-2, snr_db=40)
"""Weights are rounded to bf16 before they meet the values: of four million elements one is off by a hundredth of its row."""
flops = {"forward": lambda s: 2.0 * s.T * (s.T / s.B) * s.H * s.D}

TOGETHER = 2**24
"""Scores of so many heads at once, up to a gigabyte."""


def legal(s):
    return s.H % s.G == 0 and s.T >= s.B


def reference(step, x):
    import torch

    out = x.q.new_zeros(x.q.shape)
    groups = x.q.shape[1] // x.k.shape[1]
    for low, high in pairwise(int(one) for one in x.starts_at.tolist()):
        hidden = torch.ones(high - low, high - low, dtype=torch.bool, device=x.q.device).triu(1)
        many = max(1, TOGETHER // max(1, (high - low) ** 2))
        for first in range(0, x.k.shape[1] if high > low else 0, many):
            some = slice(first, first + many)
            q = x.q[low:high].unflatten(1, (-1, groups))[:, some].movedim(0, 2)
            k, v = (one[low:high, some, None].movedim(0, 2) for one in (x.k, x.v))
            scores = q @ k.mT * x.q.shape[-1] ** -0.5
            weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
            out[low:high].unflatten(1, (-1, groups))[:, some] = (weights @ v).movedim(2, 0)
    return {"out": out}


starts = {
    "naive": """import triton
import triton.language as tl


@triton.jit
def _attend(q, k, v, starts_at, out, tokens, heads, groups, sequences, scale, D: tl.constexpr, ROWS: tl.constexpr,
            KEYS: tl.constexpr):
    head = tl.program_id(1)
    group = head // (heads // groups)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, D)
    inside = row < tokens
    first = tl.zeros((ROWS,), tl.int64)
    for sequence in range(sequences):
        begins = tl.load(starts_at + sequence)
        first = tl.where(row >= begins, begins, first)
    query = tl.load(q + (row[:, None] * heads + head) * D + at[None, :], mask=inside[:, None], other=0.0)
    most = tl.full((ROWS,), -1.0e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, D), tl.float32)
    begin = tl.min(first, axis=0) // KEYS * KEYS
    end = tl.minimum((tl.program_id(0).to(tl.int64) + 1) * ROWS, tokens)
    for low in range(begin, end, KEYS):
        key = low + tl.arange(0, KEYS)
        there = key < tokens
        keys = tl.load(k + (key[None, :] * groups + group) * D + at[:, None], mask=there[None, :], other=0.0)
        score = tl.dot(query, keys) * scale
        seen = (key[None, :] <= row[:, None]) & (key[None, :] >= first[:, None]) & there[None, :]
        score = tl.where(seen, score, -1.0e30)
        higher = tl.maximum(most, tl.max(score, axis=1))
        weight = tl.where(seen, tl.exp(score - higher[:, None]), 0.0)
        shrink = tl.exp(most - higher)
        values = tl.load(v + (key[:, None] * groups + group) * D + at[None, :], mask=there[:, None], other=0.0)
        sums = sums * shrink[:, None] + tl.dot(weight.to(tl.bfloat16), values)
        total = total * shrink + tl.sum(weight, axis=1)
        most = higher
    found = sums / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(out + (row[:, None] * heads + head) * D + at[None, :], found.to(tl.bfloat16), mask=inside[:, None])


ROWS = 64  # knob: 64 128
KEYS = 32  # knob: 32 64 128


def forward(q, k, v, starts_at, out):
    tokens, heads, size = q.shape
    grid = (triton.cdiv(tokens, ROWS), heads)
    _attend[grid](q, k, v, starts_at, out, tokens, heads, k.shape[1], starts_at.shape[0] - 1, size**-0.5, size, ROWS, KEYS,
                  num_warps=4)
"""
}

variants = {
    "split": """import triton
import triton.language as tl


@triton.jit
def _step(query, scale, most, total, sums, low, k, v, first, row, tokens, groups, group, MASKED: tl.constexpr, D: tl.constexpr,
          KEYS: tl.constexpr):
    at = tl.arange(0, D)
    key = low + tl.arange(0, KEYS)
    if MASKED:
        there = key < tokens
        keys = tl.load(k + (key[None, :] * groups + group) * D + at[:, None], mask=there[None, :], other=0.0)
        values = tl.load(v + (key[:, None] * groups + group) * D + at[None, :], mask=there[:, None], other=0.0)
        seen = (key[None, :] <= row[:, None]) & (key[None, :] >= first[:, None]) & there[None, :]
        score = tl.where(seen, tl.dot(query, keys) * scale, -1.0e30)
        higher = tl.maximum(most, tl.max(score, axis=1))
        weight = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)
    else:
        keys = tl.load(k + (key[None, :] * groups + group) * D + at[:, None])
        values = tl.load(v + (key[:, None] * groups + group) * D + at[None, :])
        score = tl.dot(query, keys) * scale
        higher = tl.maximum(most, tl.max(score, axis=1))
        weight = tl.exp2(score - higher[:, None])
    shrink = tl.exp2(most - higher)
    total = total * shrink + tl.sum(weight, axis=1)
    sums = tl.dot(weight.to(tl.bfloat16), values, sums * shrink[:, None])
    return higher, total, sums


@triton.jit
def _attend(q, k, v, starts_at, out, tokens, heads, groups, sequences, scale, D: tl.constexpr, ROWS: tl.constexpr,
            KEYS: tl.constexpr):
    head = tl.program_id(0)
    block = (tl.num_programs(1) - 1 - tl.program_id(1)).to(tl.int64)  # the longest first
    group = head // (heads // groups)
    row = block * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, D)
    inside = row < tokens
    first = tl.zeros((ROWS,), tl.int64)
    for sequence in range(sequences):
        begins = tl.load(starts_at + sequence)
        first = tl.where(row >= begins, begins, first)
    query = tl.load(q + (row[:, None] * heads + head) * D + at[None, :], mask=inside[:, None], other=0.0)
    scale = scale * 1.4426950408889634
    most = tl.full((ROWS,), -1.0e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, D), tl.float32)
    begin = tl.min(first, axis=0) // KEYS * KEYS
    last = tl.max(tl.where(inside, first, 0), axis=0)
    end = tl.minimum((block + 1) * ROWS, tokens)
    whole = tl.minimum(tl.cdiv(last, KEYS) * KEYS, end)  # from here on every row sees all keys, up to its own block
    own = tl.maximum(block * ROWS // KEYS * KEYS, whole)
    for low in range(begin, whole, KEYS):
        most, total, sums = _step(query, scale, most, total, sums, low, k, v, first, row, tokens, groups, group, True, D, KEYS)
    for low in range(whole, own, KEYS):
        most, total, sums = _step(query, scale, most, total, sums, low, k, v, first, row, tokens, groups, group, False, D, KEYS)
    for low in range(own, end, KEYS):
        most, total, sums = _step(query, scale, most, total, sums, low, k, v, first, row, tokens, groups, group, True, D, KEYS)
    found = sums / tl.where(total > 0, total, 1.0)[:, None]
    tl.store(out + (row[:, None] * heads + head) * D + at[None, :], found.to(tl.bfloat16), mask=inside[:, None])


ROWS = 128  # knob: 64 128
KEYS = 64  # knob: 32 64 128
WARPS = 8  # knob: 4 8
STAGES = 3  # knob: 2 3 4


def forward(q, k, v, starts_at, out):
    tokens, heads, size = q.shape
    grid = (heads, triton.cdiv(tokens, ROWS))
    _attend[grid](q, k, v, starts_at, out, tokens, heads, k.shape[1], starts_at.shape[0] - 1, size**-0.5, size, ROWS, KEYS,
                  num_warps=WARPS, num_stages=STAGES)
"""
}
