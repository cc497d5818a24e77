"""Cross entropy over bf16 logits on an accelerator: the loss of every token in f32."""

from layline.operators import Axis, Tensor, Tolerance, index

title = "Cross entropy bf16 on an accelerator"
language = "triton"
metric = "GB/s"
axes = {"T": Axis(low=1), "V": Axis(low=2)}
tensors = {
    "logits": Tensor("T V", "bfloat16"),
    "target": Tensor("T", "int64", draw=index("V")),
    "loss": Tensor("T"),
}
passes = {"forward": "logits target -> loss"}
shapes = {"llama-2048x32000": {"T": 2048, "V": 32000}, "wide-1024x128256": {"T": 1024, "V": 128256}}
tolerance = Tolerance(rtol=1e-3, atol=1e-3, snr_db=40)
flops = {"forward": lambda s: 4.0 * s.T * s.V}


def reference(step, x):
    import torch

    return {"loss": torch.logsumexp(x.logits, dim=-1) - x.logits.gather(1, x.target[:, None])[:, 0]}


starts = {
    "naive": """import triton
import triton.language as tl


@triton.jit
def _loss(logits, target, loss, columns, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = token * columns
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(logits + row + at, at < columns, float("-inf")).to(tl.float32)
        # NaN must come through
        top = tl.where((value > top) | (value != value), value, top)
    most = tl.max(tl.where(top == top, top, float("-inf")))
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(logits + row + at, at < columns, float("-inf")).to(tl.float32)
        total += tl.exp(value - most)
    hit = tl.load(logits + row + tl.load(target + token)).to(tl.float32)
    tl.store(loss + token, tl.log(tl.sum(total)) + most - hit)


def forward(logits, target, loss):
    rows, columns = logits.shape
    if rows:
        _loss[(rows,)](logits, target, loss, columns, 512, num_warps=2)
"""
}

variants = {
    "once": """import triton
import triton.language as tl


@triton.jit
def _raise(x):
    # two to the power of x; results too small for a normal number are zero
    return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def _take(value, most, total):
    scale: tl.constexpr = 1.4426950408889634
    higher = tl.maximum(most, tl.max(value, axis=0))
    total = total * _raise((most - higher) * scale) + tl.sum(_raise((value - higher[None, :]) * scale), axis=0)
    return higher, total


@triton.jit
def _loss(logits, target, loss, columns, DEPTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = logits + token * columns
    hit = tl.load(row + tl.load(target + token)).to(tl.float32)
    place = tl.arange(0, DEPTH)[:, None] * LANES + tl.arange(0, LANES)[None, :]
    # every lane has its own maximum: nothing is exchanged between threads before the end
    most = tl.full((LANES,), -3.4028234e38, tl.float32)
    total = tl.zeros((LANES,), tl.float32)
    whole = columns // (DEPTH * LANES) * (DEPTH * LANES)
    for start in tl.range(0, whole, DEPTH * LANES, num_stages=STAGES):
        value = tl.load(row + start + place, eviction_policy="evict_first").to(tl.float32)
        most, total = _take(value, most, total)
    if whole < columns:
        at = whole + place
        value = tl.load(row + at, at < columns, float("-inf"), eviction_policy="evict_first").to(tl.float32)
        most, total = _take(value, most, total)
    top = tl.max(most)
    tl.store(loss + token, tl.log(tl.sum(total * tl.exp(most - top))) + top - hit)


DEPTH = 8  # knob: 2 4 8 16
WARPS = 8  # knob: 4 8 16
STAGES = 1  # knob: 1 2 3


def forward(logits, target, loss):
    rows, columns = logits.shape
    if rows:
        _loss[(rows,)](logits, target, loss, columns, DEPTH, 256 * WARPS, STAGES, num_warps=WARPS)
"""
}
