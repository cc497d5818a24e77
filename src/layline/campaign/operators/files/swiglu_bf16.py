"""SwiGLU in bf16 on an accelerator: out = silu(gate) · up."""

from layline.operators import Axis, Tensor, Tolerance

title = "SwiGLU bf16 on an accelerator"
language = "triton"
metric = "GB/s"
axes = {"T": Axis(low=1), "F": Axis(low=1)}
tensors = {name: Tensor("T F", "bfloat16") for name in ("gate", "up", "out")}
passes = {"forward": "gate up -> out"}
shapes = {"llama8b-8192x14336": {"T": 8192, "F": 14336}, "ragged-4001x11008": {"T": 4001, "F": 11008}}
tolerance = Tolerance(rtol=1.6e-2, atol=1e-2, snr_db=40)
flops = {"forward": lambda s: 6.0 * s.T * s.F}


def reference(step, x):
    import torch

    return {"out": x.gate * torch.sigmoid(x.gate) * x.up}


starts = {
    "naive": """import triton
import triton.language as tl


@triton.jit
def _swiglu(gate, up, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        g = tl.load(gate + row + at, inside, 0.0).to(tl.float32)
        u = tl.load(up + row + at, inside, 0.0).to(tl.float32)
        tl.store(out + row + at, (g / (1 + tl.exp(-g)) * u).to(tl.bfloat16), inside)


def forward(gate, up, out):
    rows, columns = gate.shape
    if rows and columns:
        _swiglu[(rows,)](gate, up, out, columns, 256, num_warps=1)
"""
}

variants = {
    "flat": """import triton
import triton.language as tl


@triton.jit
def _swiglu(gate, up, out, size, BLOCK: tl.constexpr, EXACT: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if EXACT:
        g, u = tl.load(gate + at).to(tl.float32), tl.load(up + at).to(tl.float32)
        tl.store(out + at, (g / (1 + tl.exp(-g)) * u).to(tl.bfloat16))
    else:
        inside = at < size
        g, u = tl.load(gate + at, inside, 0.0).to(tl.float32), tl.load(up + at, inside, 0.0).to(tl.float32)
        tl.store(out + at, (g / (1 + tl.exp(-g)) * u).to(tl.bfloat16), inside)


BLOCK = 4096  # knob: 1024 2048 4096 8192
WARPS = 8  # knob: 4 8 16


def forward(gate, up, out):
    size = gate.numel()
    if size:
        _swiglu[(triton.cdiv(size, BLOCK),)](gate, up, out, size, BLOCK, size % BLOCK == 0, num_warps=WARPS)
"""
}
