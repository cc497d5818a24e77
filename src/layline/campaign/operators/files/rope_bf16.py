"""RoPE in bf16 on an accelerator, NeoX style."""

from layline.operators import Axis, Tensor, Tolerance, index, uniform

title = "RoPE bf16 on an accelerator, NeoX style"
language = "triton"
metric = "GB/s"
axes = {"T": Axis(low=1), "H": Axis(low=1), "D": Axis(const=128), "P": Axis(low=1)}
tensors = {
    "q": Tensor("T H D", "bfloat16"),
    "cosine": Tensor("P D", role="weight", draw=uniform(-1, 1)),
    "sine": Tensor("P D", role="weight", draw=uniform(-1, 1)),
    "position": Tensor("T", "int64", draw=index("P")),
    "out": Tensor("T H D", "bfloat16"),
}
passes = {"forward": "q cosine sine position -> out"}
shapes = {"llama8b-8192": {"T": 8192, "H": 32, "P": 8192}, "ragged-20011": {"T": 20011, "H": 24, "P": 8192}}
tolerance = Tolerance(rtol=1.6e-2, atol=1e-2, snr_db=40)
flops = {"forward": lambda s: 3.0 * s.T * s.H * s.D}


def reference(step, x):
    import torch

    cosine, sine = x.cosine[x.position][:, None, :], x.sine[x.position][:, None, :]
    half = x.q.shape[-1] // 2
    turned = torch.cat((-x.q[..., half:], x.q[..., :half]), dim=-1)
    return {"out": x.q * cosine + turned * sine}


starts = {
    "naive": """import triton
import triton.language as tl


@triton.jit
def _turn(q, cosine, sine, position, out, heads, D: tl.constexpr):
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = tl.arange(0, D)
    half: tl.constexpr = D // 2
    row = (token * heads + head) * D
    where = tl.load(position + token) * D + at
    value = tl.load(q + row + at).to(tl.float32)
    other = tl.load(q + row + (at + half) % D).to(tl.float32)
    other = tl.where(at < half, -other, other)
    found = value * tl.load(cosine + where) + other * tl.load(sine + where)
    tl.store(out + row + at, found.to(tl.bfloat16))


def forward(q, cosine, sine, position, out):
    tokens, heads, size = q.shape
    if tokens:
        _turn[(tokens, heads)](q, cosine, sine, position, out, heads, size, num_warps=1)
"""
}

variants = {
    "tiled": """import triton
import triton.language as tl


@triton.jit
def _turn(
    q, cosine, sine, position, out, tokens, heads, D: tl.constexpr, TOKENS: tl.constexpr, HEADS: tl.constexpr, EXACT: tl.constexpr
):
    half: tl.constexpr = D // 2
    token = tl.program_id(0).to(tl.int64) * TOKENS + tl.arange(0, TOKENS)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    at = tl.arange(0, half)
    row = (token[:, None, None] * heads + head[None, :, None]) * D + at[None, None, :]
    known = token < tokens
    inside = known[:, None, None] & (head < heads)[None, :, None]
    # without masks where the tiles fit; what is read once leaves the cache to what is read again
    if EXACT:
        place = tl.load(position + token)
        low = tl.load(q + row, eviction_policy="evict_first").to(tl.float32)
        high = tl.load(q + row + half, eviction_policy="evict_first").to(tl.float32)
    else:
        place = tl.load(position + token, known, 0)
        low = tl.load(q + row, inside, 0.0, eviction_policy="evict_first").to(tl.float32)
        high = tl.load(q + row + half, inside, 0.0, eviction_policy="evict_first").to(tl.float32)
    angle = place[:, None, None] * D + at[None, None, :]
    turned = (low * tl.load(cosine + angle) - high * tl.load(sine + angle)).to(tl.bfloat16)
    raised = (high * tl.load(cosine + angle + half) + low * tl.load(sine + angle + half)).to(tl.bfloat16)
    if EXACT:
        tl.store(out + row, turned)
        tl.store(out + row + half, raised)
    else:
        tl.store(out + row, turned, inside)
        tl.store(out + row + half, raised, inside)


TOKENS = 1  # knob: 1 2 4
HEADS = 32  # knob: 8 16 32
WARPS = 4  # knob: 1 2 4 8


def forward(q, cosine, sine, position, out):
    tokens, heads, size = q.shape
    if tokens and heads:
        wide = min(HEADS, triton.next_power_of_2(heads))
        grid = (triton.cdiv(tokens, TOKENS), triton.cdiv(heads, wide))
        exact = tokens % TOKENS == 0 and heads % wide == 0
        _turn[grid](q, cosine, sine, position, out, tokens, heads, size, TOKENS, wide, exact, num_warps=WARPS)
"""
}
