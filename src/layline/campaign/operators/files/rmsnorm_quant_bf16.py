"""RMSNorm and quantisation to int8 in one pass on an accelerator: integers and one scale for each row."""

from layline.operators import Axis, Tensor, Tolerance

title = "RMSNorm + int8 quantisation on an accelerator"
language = "triton"
metric = "GB/s"
EPSILON = 1e-6
axes = {"R": Axis(low=1), "C": Axis(low=8)}
tensors = {
    "x": Tensor("R C", "bfloat16"),
    "w": Tensor("C", "bfloat16", role="weight"),
    "q": Tensor("R C", "int8", role="free"),
    "scale": Tensor("R"),
}
passes = {"forward": "x w -> q scale"}
shapes = {"llama8b-8192x4096": {"R": 8192, "C": 4096}, "llama70b-4096x8192": {"R": 4096, "C": 8192}}
tolerance = Tolerance(rtol=1e-3, atol=1e-3, snr_db=40)
kinds = ("normal", "scaled", "uneven", "outliers", "spike")


def _normed(x):
    import torch

    value, weight = x.x.double(), x.w.double()
    return value * torch.rsqrt((value * value).mean(dim=-1, keepdim=True) + EPSILON) * weight


def reference(step, x):
    return {"scale": _normed(x).abs().amax(dim=-1) / 127}


def check(step, x, out):
    """A tie may be rounded either way: every integer is the nearest, up to half a step and a little."""
    normed, scale = _normed(x), out.scale.double()[:, None]
    off = (normed - out.q.double() * scale).abs()
    bad = int((~(off <= 0.51 * scale)).sum())
    return f"{bad} of {out.q.numel()} integers are not the nearest ones" if bad else ""


starts = {
    "naive": """import triton
import triton.language as tl

EPSILON = 1e-6


@triton.jit
def _norm(x, w, q, scale, columns, epsilon, BLOCK: tl.constexpr):
    line = tl.program_id(0).to(tl.int64)
    row = line * columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, at < columns, 0.0).to(tl.float32)
        squares += value * value
    share = tl.rsqrt(tl.sum(squares) / columns + epsilon)
    most = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, at < columns, 0.0).to(tl.float32)
        weight = tl.load(w + at, at < columns, 0.0).to(tl.float32)
        most = tl.maximum(most, tl.abs(value * share * weight))
    step = tl.max(most) / 127
    tl.store(scale + line, step)
    turn = tl.where(step > 0, 1 / step, 0.0)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, at < columns, 0.0).to(tl.float32)
        weight = tl.load(w + at, at < columns, 0.0).to(tl.float32)
        found = value * share * weight * turn
        found = tl.where(found >= 0, tl.floor(found + 0.5), tl.ceil(found - 0.5))
        tl.store(q + row + at, found.to(tl.int8), at < columns)


def forward(x, w, q, scale):
    rows, columns = x.shape
    if rows:
        _norm[(rows,)](x, w, q, scale, columns, EPSILON, 512, num_warps=2)
"""
}

variants = {
    "held": """import triton
import triton.language as tl

EPSILON = 1e-6


@triton.jit
def _norm(x, w, q, scale, columns, epsilon, BLOCK: tl.constexpr, EXACT: tl.constexpr):
    line = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    row = line * columns + at
    if EXACT:
        value = tl.load(x + row, eviction_policy="evict_first").to(tl.float32)
        weight = tl.load(w + at).to(tl.float32)
    else:
        value = tl.load(x + row, at < columns, 0.0, eviction_policy="evict_first").to(tl.float32)
        weight = tl.load(w + at, at < columns, 0.0).to(tl.float32)
    weighted = value * weight
    share = tl.rsqrt(tl.sum(value * value) / columns + epsilon)
    step = tl.max(tl.abs(weighted)) * share / 127
    tl.store(scale + line, step)
    # beside 1.5 · 2^23 a float has no room for fractions: the sum is rounded to an integer
    found = weighted * tl.where(step > 0, share / step, 0.0) + 12582912.0
    found = (found - 12582912.0).to(tl.int8)
    if EXACT:
        tl.store(q + row, found)
    else:
        tl.store(q + row, found, at < columns)


PER_THREAD = 32  # knob: 8 16 32 64


def forward(x, w, q, scale):
    rows, columns = x.shape
    if rows:
        block = triton.next_power_of_2(columns)
        warps = max(1, min(16, block // (32 * PER_THREAD)))
        _norm[(rows,)](x, w, q, scale, columns, EPSILON, block, block == columns, num_warps=warps)
"""
}
