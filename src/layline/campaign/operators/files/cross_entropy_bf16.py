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
def _loss(logits, target, loss, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    row = token * columns
    hit = tl.load(logits + row + tl.load(target + token)).to(tl.float32)
    most = -3.4028234e38
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, columns, BLOCK, num_stages=STAGES):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(logits + row + at, at < columns, float("-inf"), eviction_policy="evict_first").to(tl.float32)
        higher = tl.maximum(most, tl.max(value))
        total = total * tl.exp(most - higher) + tl.exp(value - higher)
        most = higher
    tl.store(loss + token, tl.log(tl.sum(total)) + most - hit)


BLOCK = 4096  # knob: 2048 4096 8192 16384
WARPS = 8  # knob: 4 8 16
STAGES = 2  # knob: 1 2 3


def forward(logits, target, loss):
    rows, columns = logits.shape
    if rows:
        block = min(BLOCK, triton.next_power_of_2(columns))
        _loss[(rows,)](logits, target, loss, columns, block, STAGES, num_warps=WARPS)
"""
}
