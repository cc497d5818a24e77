"""The backward pass of causal attention in bf16 on an accelerator: several sequences of any length, fewer heads of keys.

The forward pass leaves `out` and, for each row, the logarithm of its sum of exponentials: what a training step has at hand.
"""

from itertools import pairwise

from layline.operators import Axis, Tensor, Tolerance, offsets, uniform

title = "Causal attention bf16, backward, on an accelerator, grouped heads, variable length"
language = "triton"
metric = "TFLOPS"
axes = {"T": Axis(low=1), "H": Axis(low=1), "G": Axis(low=1), "D": Axis(const=128), "B": Axis(low=1)}
tensors = {
    "q": Tensor("T H D", "bfloat16"),
    "k": Tensor("T G D", "bfloat16"),
    "v": Tensor("T G D", "bfloat16"),
    "out": Tensor("T H D", "bfloat16"),
    "logsum": Tensor("H T", draw=uniform(4, 8)),
    "slope": Tensor("T H D", "bfloat16"),
    "starts_at": Tensor("B+1", "int64", draw=offsets("T", "B")),
    "dq": Tensor("T H D", "bfloat16"),
    "dk": Tensor("T G D", "bfloat16"),
    "dv": Tensor("T G D", "bfloat16"),
}
passes = {"forward": "q k v out logsum slope starts_at -> dq dk dv"}
shapes = {
    "llama8b-4x2048": {"T": 8192, "H": 32, "G": 8, "B": 4},
    "ragged-3001": {"T": 3001, "H": 16, "G": 4, "B": 7},
}
tolerance = Tolerance(rtol=1.6e-2, atol=3e-2, snr_db=35)
kinds = ("normal", "sparse", "padded", "rectified")
"""The exponentials of scores without their own sums grow without a bound where the numbers do."""
flops = {"forward": lambda s: 5.0 * s.T * (s.T / s.B) * s.H * s.D}


def legal(s):
    return s.H % s.G == 0 and s.T >= s.B


def reference(step, x):
    import torch

    dq, dk, dv = (torch.zeros_like(one) for one in (x.q, x.k, x.v))
    groups, scale = x.q.shape[1] // x.k.shape[1], x.q.shape[-1] ** -0.5
    owed = (x.out * x.slope).sum(-1)
    for low, high in pairwise(int(one) for one in x.starts_at.tolist()):
        hidden = torch.ones(high - low, high - low, dtype=torch.bool, device=x.q.device).triu(1)
        for head in range(x.q.shape[1] if high > low else 0):
            group = head // groups
            q, k, v, slope = x.q[low:high, head], x.k[low:high, group], x.v[low:high, group], x.slope[low:high, head]
            weights = (q @ k.T * scale - x.logsum[head, low:high, None]).exp().masked_fill(hidden, 0.0)
            scores = weights * (slope @ v.T - owed[low:high, head, None]) * scale
            dq[low:high, head] = scores @ k
            dk[low:high, group] += scores.T @ q
            dv[low:high, group] += weights.T @ slope
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
        weight = tl.where(seen, tl.exp(tl.dot(query, tl.trans(keys)) * scale - most[:, None]), 0.0)
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
            weight = tl.where(seen, tl.exp(tl.dot(keys, tl.trans(query)) * scale - most[None, :]), 0.0)
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
