"""Causal attention with grouped heads in bf16 on an accelerator, forward."""

import math

from layline.operators import Axis, Tensor, Tolerance

title = "Causal GQA attention bf16 on an accelerator, forward"
language = "triton"
metric = "TFLOPS"
axes = {"B": Axis(low=1), "H": Axis(low=1), "Hkv": Axis(low=1), "T": Axis(low=1), "D": Axis(const=64)}
tensors = {
    "q": Tensor("B H T D", "bfloat16"),
    "k": Tensor("B Hkv T D", "bfloat16"),
    "v": Tensor("B Hkv T D", "bfloat16"),
    "out": Tensor("B H T D", "bfloat16"),
}
passes = {"forward": "q k v -> out"}
shapes = {
    "llama-4x16x1024": {"B": 4, "H": 16, "Hkv": 4, "T": 1024},
    "ragged-2x8x777": {"B": 2, "H": 8, "Hkv": 8, "T": 777},
}
tolerance = Tolerance(rtol=2e-2, atol=2e-2, snr_db=35)
kinds = ("normal", "scaled", "offset", "sparse", "outliers")
flops = {"forward": lambda s: 2.0 * s.B * s.H * s.T * s.T * s.D}


def legal(s):
    return s.H % s.Hkv == 0


def reference(step, x):
    import torch

    heads = x.q.shape[1] // x.k.shape[1]
    k, v = (one.repeat_interleave(heads, dim=1) for one in (x.k, x.v))
    score = x.q @ k.transpose(-1, -2) / math.sqrt(x.q.shape[-1])
    hidden = torch.ones(score.shape[-2:], dtype=torch.bool, device=score.device).triu(1)
    return {"out": torch.softmax(score.masked_fill(hidden, float("-inf")), dim=-1) @ v}


starts = {
    "naive": """import triton
import triton.language as tl


@triton.jit
def _attend(q, k, v, out, heads, groups, length, scale, D: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    first = tl.program_id(1) * ROWS
    batch, head = tl.program_id(0) // heads, tl.program_id(0) % heads
    line = tl.program_id(0).to(tl.int64) * length * D
    other = (batch * groups + head // (heads // groups)).to(tl.int64) * length * D
    rows, dims = first + tl.arange(0, ROWS), tl.arange(0, D)
    mine = tl.load(q + line + rows[:, None] * D + dims[None, :], rows[:, None] < length, 0.0)
    top = tl.full((ROWS,), -1e30, tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    found = tl.zeros((ROWS, D), tl.float32)
    for start in range(0, tl.minimum(length, first + ROWS), COLS):
        cols = start + tl.arange(0, COLS)
        inside = cols[:, None] < length
        keys = tl.load(k + other + cols[:, None] * D + dims[None, :], inside, 0.0)
        score = tl.dot(mine, tl.trans(keys)) * scale
        seen = (cols[None, :] <= rows[:, None]) & (cols[None, :] < length)
        score = tl.where(seen, score, float("-inf"))
        most = tl.maximum(top, tl.max(score, 1))
        share = tl.exp(score - most[:, None])
        turn = tl.exp(top - most)
        total = total * turn + tl.sum(share, 1)
        values = tl.load(v + other + cols[:, None] * D + dims[None, :], inside, 0.0)
        found = found * turn[:, None] + tl.dot(share.to(tl.bfloat16), values)
        top = most
    found = found / total[:, None]
    tl.store(out + line + rows[:, None] * D + dims[None, :], found.to(tl.bfloat16), rows[:, None] < length)


def forward(q, k, v, out):
    batch, heads, length, size = q.shape
    grid = (batch * heads, triton.cdiv(length, 16))
    _attend[grid](q, k, v, out, heads, k.shape[1], length, size**-0.5, size, 16, 16, num_warps=1, num_stages=1)
"""
}
