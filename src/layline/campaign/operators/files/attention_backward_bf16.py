"""The backward pass of causal attention in bf16 on an accelerator: several sequences of any length, fewer heads of keys.

The forward pass leaves `out` and, for each row, the logarithm of its sum of exponentials: what a training step has at hand.
No score exceeds that logarithm; whatever is drawn here for the two, none is let.
"""

from itertools import pairwise

from layline.operators import Axis, Tensor, Tolerance, offsets, uniform

title = "Causal attention bf16, backward, on an accelerator, grouped heads, variable length"
language = "triton"
metric = "TFLOPS"
tolerance = Tolerance(rtol=1.6e-2, atol=6e-2, snr_db=35)
DIFFERENCES = Tolerance(rtol=1.6e-2, atol=6e-2, snr_db=35, absolute=True)
"""Where a row sees one key, two sums that are nearly equal are taken from each other: what is left may be rounding alone."""
axes = {"T": Axis(low=1), "H": Axis(low=1), "G": Axis(low=1), "D": Axis(const=128), "B": Axis(low=1)}
tensors = {
    "q": Tensor("T H D", "bfloat16"),
    "k": Tensor("T G D", "bfloat16"),
    "v": Tensor("T G D", "bfloat16"),
    "out": Tensor("T H D", "bfloat16"),
    "logsum": Tensor("H T", draw=uniform(4, 8)),
    "slope": Tensor("T H D", "bfloat16"),
    "starts_at": Tensor("B+1", "int64", draw=offsets("T", "B")),
    "dq": Tensor("T H D", "bfloat16", tolerance=DIFFERENCES),
    "dk": Tensor("T G D", "bfloat16", tolerance=DIFFERENCES),
    "dv": Tensor("T G D", "bfloat16"),
}
passes = {"forward": "q k v out logsum slope starts_at -> dq dk dv"}
shapes = {
    "llama8b-4x2048": {"T": 8192, "H": 32, "G": 8, "B": 4},
    "ragged-3001": {"T": 3001, "H": 16, "G": 4, "B": 7},
}
kinds = ("normal", "sparse", "padded", "rectified")
"""Not of any magnitude: near a logarithm of thousands, f32 has no digits left for the difference."""
flops = {"forward": lambda s: 5.0 * s.T * (s.T / s.B) * s.H * s.D}

TOGETHER = 2**24
"""Scores of so many heads at once, up to a gigabyte."""


def legal(s):
    return s.H % s.G == 0 and s.T >= s.B


def reference(step, x):
    import torch

    dq, dk, dv = (torch.zeros_like(one) for one in (x.q, x.k, x.v))
    groups, scale = x.q.shape[1] // x.k.shape[1], x.q.shape[-1] ** -0.5
    owed = (x.out * x.slope).sum(-1)
    for low, high in pairwise(int(one) for one in x.starts_at.tolist()):
        hidden = torch.ones(high - low, high - low, dtype=torch.bool, device=x.q.device).triu(1)
        many = max(1, TOGETHER // max(1, (high - low) ** 2))
        for first in range(0, x.k.shape[1] if high > low else 0, many):
            some = slice(first, first + many)
            q, slope = (one[low:high].unflatten(1, (-1, groups))[:, some].movedim(0, 2) for one in (x.q, x.slope))
            k, v = (one[low:high, some, None].movedim(0, 2) for one in (x.k, x.v))
            logsum = x.logsum[:, low:high].unflatten(0, (-1, groups))[some, ..., None]
            due = owed[low:high].T.unflatten(0, (-1, groups))[some, ..., None]
            weights = (q @ k.mT * scale - logsum).clamp(max=0).exp().masked_fill(hidden, 0.0)
            scores = weights * (slope @ v.mT - due) * scale
            dq[low:high].unflatten(1, (-1, groups))[:, some] = (scores @ k).movedim(2, 0)
            dk[low:high, some] = (scores.mT @ q).sum(1).movedim(1, 0)
            dv[low:high, some] = (weights.mT @ slope).sum(1).movedim(1, 0)
    return {"dq": dq, "dk": dk, "dv": dv}


starts = {
    "naive": """import torch
import triton
import triton.language as tl


@triton.jit
def _owe(out, slope, owed, tokens, heads, D: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    head = tl.program_id(1)
    place = (row[:, None] * heads + head) * D + tl.arange(0, D)[None, :]
    inside = (row < tokens)[:, None]
    product = tl.load(out + place, inside, 0.0).to(tl.float32) * tl.load(slope + place, inside, 0.0).to(tl.float32)
    tl.store(owed + head * tokens + row, tl.sum(product, axis=1), row < tokens)


@triton.jit
def _find_first(starts_at, row, sequences, ROWS: tl.constexpr):
    first = tl.zeros((ROWS,), tl.int64)
    for sequence in range(sequences):
        begins = tl.load(starts_at + sequence)
        first = tl.where(row >= begins, begins, first)
    return first


@triton.jit
def _to_queries(q, k, v, logsum, slope, owed, starts_at, dq, tokens, heads, groups, sequences, scale, D: tl.constexpr,
                ROWS: tl.constexpr, KEYS: tl.constexpr):
    block, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    group = head // (heads // groups)
    row = block * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, D)
    inside = row < tokens
    place = (row[:, None] * heads + head) * D + at[None, :]
    first = _find_first(starts_at, row, sequences, ROWS)
    query = tl.load(q + place, inside[:, None], 0.0)
    up = tl.load(slope + place, inside[:, None], 0.0)
    most = tl.load(logsum + head * tokens + row, inside, 0.0)
    due = tl.load(owed + head * tokens + row, inside, 0.0)
    sums = tl.zeros((ROWS, D), tl.float32)
    end = tl.minimum((block + 1) * ROWS, tokens)
    for low in range(tl.min(first, axis=0) // KEYS * KEYS, end, KEYS):
        key = low + tl.arange(0, KEYS)
        there = key < tokens
        keys = tl.load(k + (key[:, None] * groups + group) * D + at[None, :], there[:, None], 0.0)
        values = tl.load(v + (key[:, None] * groups + group) * D + at[None, :], there[:, None], 0.0)
        seen = (key[None, :] <= row[:, None]) & (key[None, :] >= first[:, None]) & there[None, :] & inside[:, None]
        weight = tl.where(seen, tl.exp(tl.minimum(tl.dot(query, tl.trans(keys)) * scale - most[:, None], 0.0)), 0.0)
        score = weight * (tl.dot(up, tl.trans(values)) - due[:, None])
        sums += tl.dot(score.to(tl.bfloat16), keys)
    tl.store(dq + place, (sums * scale).to(tl.bfloat16), inside[:, None])


@triton.jit
def _to_keys(q, k, v, logsum, slope, owed, starts_at, dk, dv, tokens, heads, groups, sequences, scale, D: tl.constexpr,
             ROWS: tl.constexpr, KEYS: tl.constexpr):
    block, group = tl.program_id(0).to(tl.int64), tl.program_id(1)
    key = block * KEYS + tl.arange(0, KEYS)
    at = tl.arange(0, D)
    there = key < tokens
    place = (key[:, None] * groups + group) * D + at[None, :]
    keys = tl.load(k + place, there[:, None], 0.0)
    values = tl.load(v + place, there[:, None], 0.0)
    last = tl.zeros((KEYS,), tl.int64)  # where each key's sequence ends
    for sequence in range(sequences):
        begins, ends = tl.load(starts_at + sequence), tl.load(starts_at + sequence + 1)
        last = tl.where((key >= begins) & (key < ends), ends, last)
    to_keys, to_values = tl.zeros((KEYS, D), tl.float32), tl.zeros((KEYS, D), tl.float32)
    share = heads // groups
    for one in range(share):
        head = group * share + one
        for low in range(block * KEYS // ROWS * ROWS, tl.max(last, axis=0), ROWS):
            row = low + tl.arange(0, ROWS)
            inside = row < tokens
            query = tl.load(q + (row[:, None] * heads + head) * D + at[None, :], inside[:, None], 0.0)
            up = tl.load(slope + (row[:, None] * heads + head) * D + at[None, :], inside[:, None], 0.0)
            most = tl.load(logsum + head * tokens + row, inside, 0.0)
            due = tl.load(owed + head * tokens + row, inside, 0.0)
            seen = (key[:, None] <= row[None, :]) & (row[None, :] < last[:, None])
            weight = tl.where(seen, tl.exp(tl.minimum(tl.dot(keys, tl.trans(query)) * scale - most[None, :], 0.0)), 0.0)
            to_values += tl.dot(weight.to(tl.bfloat16), up)
            score = weight * (tl.dot(values, tl.trans(up)) - due[None, :])
            to_keys += tl.dot(score.to(tl.bfloat16), query)
    tl.store(dk + place, (to_keys * scale).to(tl.bfloat16), there[:, None])
    tl.store(dv + place, to_values.to(tl.bfloat16), there[:, None])


ROWS = 64  # knob: 32 64 128
KEYS = 64  # knob: 32 64 128
WARPS = 4  # knob: 4 8
STAGES = 2  # knob: 1 2 3


def forward(q, k, v, out, logsum, slope, starts_at, dq, dk, dv):
    tokens, heads, size = q.shape
    groups, sequences = k.shape[1], starts_at.shape[0] - 1
    owed = torch.empty(heads, tokens, dtype=torch.float32, device=q.device)
    _owe[(triton.cdiv(tokens, 64), heads)](out, slope, owed, tokens, heads, size, 64)
    given = (q, k, v, logsum, slope, owed, starts_at)
    sizes = (tokens, heads, groups, sequences, size**-0.5, size)
    options = {"num_warps": WARPS, "num_stages": STAGES}
    _to_queries[(triton.cdiv(tokens, ROWS), heads)](*given, dq, *sizes, ROWS, KEYS, **options)
    _to_keys[(triton.cdiv(tokens, KEYS), groups)](*given, dk, dv, *sizes, ROWS, KEYS, **options)
"""
}

variants = {
    "split": """import math

import torch
import triton
import triton.language as tl


@triton.jit
def _owe(out, slope, owed, tokens, heads, D: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    head = tl.program_id(1)
    place = (row[:, None] * heads + head) * D + tl.arange(0, D)[None, :]
    inside = (row < tokens)[:, None]
    product = tl.load(out + place, inside, 0.0).to(tl.float32) * tl.load(slope + place, inside, 0.0).to(tl.float32)
    tl.store(owed + head * tokens + row, tl.sum(product, axis=1), row < tokens)


@triton.jit
def _query_step(sums, query, up, most, due, k, v, low, first, row, tokens, groups, group, scale, MASKED: tl.constexpr,
                D: tl.constexpr, KEYS: tl.constexpr):
    at = tl.arange(0, D)
    key = low + tl.arange(0, KEYS)
    place = (key[:, None] * groups + group) * D + at[None, :]
    if MASKED:
        there = (key < tokens)[:, None]
        keys, values = tl.load(k + place, there, 0.0), tl.load(v + place, there, 0.0)
        seen = (key[None, :] <= row[:, None]) & (key[None, :] >= first[:, None]) & (row < tokens)[:, None]
        weight = tl.where(seen, tl.exp2(tl.minimum(tl.dot(query, tl.trans(keys)) * scale - most[:, None], 0.0)), 0.0)
    else:
        keys, values = tl.load(k + place), tl.load(v + place)
        weight = tl.exp2(tl.minimum(tl.dot(query, tl.trans(keys)) * scale - most[:, None], 0.0))
    score = weight * (tl.dot(up, tl.trans(values)) - due[:, None])
    return tl.dot(score.to(tl.bfloat16), keys, sums)


@triton.jit
def _to_queries(q, k, v, logsum, slope, owed, starts_at, dq, tokens, heads, groups, sequences, scale, D: tl.constexpr,
                ROWS: tl.constexpr, KEYS: tl.constexpr):
    head = tl.program_id(0)
    block = (tl.num_programs(1) - 1 - tl.program_id(1)).to(tl.int64)  # the longest first
    group = head // (heads // groups)
    row = block * ROWS + tl.arange(0, ROWS)
    inside = row < tokens
    place = (row[:, None] * heads + head) * D + tl.arange(0, D)[None, :]
    first = tl.zeros((ROWS,), tl.int64)
    for sequence in range(sequences):
        begins = tl.load(starts_at + sequence)
        first = tl.where(row >= begins, begins, first)
    query = tl.load(q + place, inside[:, None], 0.0)
    up = tl.load(slope + place, inside[:, None], 0.0)
    most = tl.load(logsum + head * tokens + row, inside, 0.0) * 1.4426950408889634
    due = tl.load(owed + head * tokens + row, inside, 0.0)
    turned = scale * 1.4426950408889634
    sums = tl.zeros((ROWS, D), tl.float32)
    begin = tl.min(first, axis=0) // KEYS * KEYS
    end = tl.minimum((block + 1) * ROWS, tokens)
    whole = tl.minimum(tl.cdiv(tl.max(tl.where(inside, first, 0), axis=0), KEYS) * KEYS, end)
    own = tl.maximum(block * ROWS // KEYS * KEYS, whole)
    for low in range(begin, whole, KEYS):
        sums = _query_step(sums, query, up, most, due, k, v, low, first, row, tokens, groups, group, turned, True, D, KEYS)
    for low in range(whole, own, KEYS):
        sums = _query_step(sums, query, up, most, due, k, v, low, first, row, tokens, groups, group, turned, False, D, KEYS)
    for low in range(own, end, KEYS):
        sums = _query_step(sums, query, up, most, due, k, v, low, first, row, tokens, groups, group, turned, True, D, KEYS)
    tl.store(dq + place, (sums * scale).to(tl.bfloat16), inside[:, None])


@triton.jit
def _key_step(to_keys, to_values, keys, values, q, logsum, slope, owed, low, last, key, tokens, heads, head, scale,
              MASKED: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr):
    row = low + tl.arange(0, ROWS)
    place = (row[:, None] * heads + head) * D + tl.arange(0, D)[None, :]
    line = head * tokens + row
    if MASKED:
        inside = row < tokens
        query, up = tl.load(q + place, inside[:, None], 0.0), tl.load(slope + place, inside[:, None], 0.0)
        most = tl.load(logsum + line, inside, 0.0) * 1.4426950408889634
        due = tl.load(owed + line, inside, 0.0)
        seen = (key[:, None] <= row[None, :]) & (row[None, :] < last[:, None])
        weight = tl.where(seen, tl.exp2(tl.minimum(tl.dot(keys, tl.trans(query)) * scale - most[None, :], 0.0)), 0.0)
    else:
        query, up = tl.load(q + place), tl.load(slope + place)
        most = tl.load(logsum + line) * 1.4426950408889634
        due = tl.load(owed + line)
        weight = tl.exp2(tl.minimum(tl.dot(keys, tl.trans(query)) * scale - most[None, :], 0.0))
    to_values = tl.dot(weight.to(tl.bfloat16), up, to_values)
    score = weight * (tl.dot(values, tl.trans(up)) - due[None, :])
    return tl.dot(score.to(tl.bfloat16), query, to_keys), to_values


@triton.jit
def _to_keys(q, k, v, logsum, slope, owed, starts_at, dk, dv, tokens, heads, groups, sequences, scale, D: tl.constexpr,
             ROWS: tl.constexpr, KEYS: tl.constexpr, PARTS: tl.constexpr):
    group, part = tl.program_id(0) // PARTS, tl.program_id(0) % PARTS
    block = tl.program_id(1).to(tl.int64)
    key = block * KEYS + tl.arange(0, KEYS)
    there = key < tokens
    place = (key[:, None] * groups + group) * D + tl.arange(0, D)[None, :]
    keys, values = tl.load(k + place, there[:, None], 0.0), tl.load(v + place, there[:, None], 0.0)
    last = tl.zeros((KEYS,), tl.int64)  # where each key's sequence ends
    for sequence in range(sequences):
        begins, ends = tl.load(starts_at + sequence), tl.load(starts_at + sequence + 1)
        last = tl.where((key >= begins) & (key < ends), ends, last)
    turned = scale * 1.4426950408889634
    to_keys, to_values = tl.zeros((KEYS, D), tl.float32), tl.zeros((KEYS, D), tl.float32)
    begin, end = block * KEYS // ROWS * ROWS, tl.max(last, axis=0)
    shared = tl.min(tl.where(there, last, end), axis=0)  # rows before this one see all keys, once they are behind them
    own = tl.minimum(tl.cdiv((block + 1) * KEYS, ROWS) * ROWS, end)
    whole = tl.maximum(shared // ROWS * ROWS, own)
    share = heads // groups // PARTS
    for one in range(share):
        head = (group * PARTS + part) * share + one
        for low in range(begin, own, ROWS):
            to_keys, to_values = _key_step(to_keys, to_values, keys, values, q, logsum, slope, owed, low, last, key, tokens,
                                           heads, head, turned, True, D, ROWS)
        for low in range(own, whole, ROWS):
            to_keys, to_values = _key_step(to_keys, to_values, keys, values, q, logsum, slope, owed, low, last, key, tokens,
                                           heads, head, turned, False, D, ROWS)
        for low in range(whole, end, ROWS):
            to_keys, to_values = _key_step(to_keys, to_values, keys, values, q, logsum, slope, owed, low, last, key, tokens,
                                           heads, head, turned, True, D, ROWS)
    mine = part * tokens * groups * D + place
    tl.store(dk + mine, (to_keys * scale).to(dk.dtype.element_ty), there[:, None])
    tl.store(dv + mine, to_values.to(dv.dtype.element_ty), there[:, None])


@triton.jit
def _add(parts, out, size, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for part in tl.static_range(PARTS):
        total += tl.load(parts + part * size + at, at < size, 0.0)
    tl.store(out + at, total.to(tl.bfloat16), at < size)


QUERY_ROWS = 128  # knob: 64 128
QUERY_KEYS = 64  # knob: 32 64 128
QUERY_WARPS = 8  # knob: 4 8
KEY_ROWS = 64  # knob: 32 64 128
KEY_KEYS = 64  # knob: 64 128
KEY_WARPS = 4  # knob: 4 8
STAGES = 2  # knob: 1 2 3
PARTS = 1  # knob: 1 2 4


def forward(q, k, v, out, logsum, slope, starts_at, dq, dk, dv):
    tokens, heads, size = q.shape
    groups, sequences = k.shape[1], starts_at.shape[0] - 1
    parts = math.gcd(PARTS, heads // groups)
    owed = torch.empty(heads, tokens, dtype=torch.float32, device=q.device)
    _owe[(triton.cdiv(tokens, 64), heads)](out, slope, owed, tokens, heads, size, 64)
    given = (q, k, v, logsum, slope, owed, starts_at)
    sizes = (tokens, heads, groups, sequences, size**-0.5, size)
    _to_queries[(heads, triton.cdiv(tokens, QUERY_ROWS))](*given, dq, *sizes, QUERY_ROWS, QUERY_KEYS, num_warps=QUERY_WARPS,
                                                          num_stages=STAGES)
    found = (dk, dv)
    if parts > 1:
        found = torch.empty(2, parts, *dk.shape, dtype=torch.float32, device=q.device)
    _to_keys[(groups * parts, triton.cdiv(tokens, KEY_KEYS))](*given, found[0], found[1], *sizes, KEY_ROWS, KEY_KEYS, parts,
                                                              num_warps=KEY_WARPS, num_stages=STAGES)
    if parts > 1:
        for made, target in zip(found, (dk, dv)):
            _add[(triton.cdiv(target.numel(), 4096),)](made, target, target.numel(), parts, 4096)
"""
}
