"""MoE unpermutation in bf16 on an accelerator: every token gets its experts' rows back, each times its weight, added up."""

from layline.operators import Axis, Tensor, Tolerance, permutation, uniform

title = "MoE unpermute bf16 on an accelerator"
language = "triton"
metric = "GB/s"
axes = {"T": Axis(low=1), "K": Axis(const=2), "D": Axis(multiple=8, low=8)}
tensors = {
    "y": Tensor(lambda s: (s.T * s.K, s.D), "bfloat16"),
    "place": Tensor(lambda s: (s.T * s.K,), "int64", draw=permutation()),
    "weight": Tensor("T K", draw=uniform(0, 1)),
    "out": Tensor("T D", "bfloat16"),
}
passes = {"forward": "y place weight -> out"}
shapes = {"mixtral-8192x4096": {"T": 8192, "D": 4096}, "ragged-13003x5120": {"T": 13003, "D": 5120}}
tolerance = Tolerance(rtol=1.6e-2, atol=1e-2, snr_db=40)
flops = {"forward": lambda s: 2.0 * s.T * s.K * s.D}


def reference(step, x):
    tokens, k = x.weight.shape
    return {"out": (x.y[x.place].view(tokens, k, -1) * x.weight[:, :, None]).sum(1)}


starts = {
    "naive": """import triton
import triton.language as tl


@triton.jit
def _gather(y, place, weight, out, columns, K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for one in range(K):
            row = tl.load(place + token * K + one) * columns
            share = tl.load(weight + token * K + one)
            total += tl.load(y + row + at, at < columns, 0.0).to(tl.float32) * share
        tl.store(out + token * columns + at, total.to(tl.bfloat16), at < columns)


def forward(y, place, weight, out):
    tokens, columns = out.shape
    if tokens:
        _gather[(tokens,)](y, place, weight, out, columns, weight.shape[1], 256, num_warps=1)
"""
}

variants = {
    "wide": """import triton
import triton.language as tl


@triton.jit
def _gather(y, place, weight, out, columns, K: tl.constexpr, BLOCK: tl.constexpr, EXACT: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for one in tl.static_range(K):
        row = y + tl.load(place + token * K + one) * columns + at
        if EXACT:
            value = tl.load(row, eviction_policy="evict_first")
        else:
            value = tl.load(row, at < columns, 0.0, eviction_policy="evict_first")
        total += value.to(tl.float32) * tl.load(weight + token * K + one)
    if EXACT:
        tl.store(out + token * columns + at, total.to(tl.bfloat16))
    else:
        tl.store(out + token * columns + at, total.to(tl.bfloat16), at < columns)


BLOCK = 1024  # knob: 512 1024 2048 4096
WARPS = 4  # knob: 1 2 4 8


def forward(y, place, weight, out):
    tokens, columns = out.shape
    if tokens:
        block = min(BLOCK, triton.next_power_of_2(columns))
        grid = (tokens, triton.cdiv(columns, block))
        _gather[grid](y, place, weight, out, columns, weight.shape[1], block, columns % block == 0, num_warps=WARPS)
"""
}
