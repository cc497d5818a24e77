"""RoPE in f32 on the processor, NeoX style: the halves of each head are turned by the angles of a token's position."""

import numpy as np

from layline.operators import Axis, Tensor, Tolerance, index, uniform

title = "RoPE f32, NeoX style"
language = "c"
metric = "GB/s"
axes = {"T": Axis(), "H": Axis(low=1), "D": Axis(multiple=2, low=2), "P": Axis(low=1)}
tensors = {
    "q": Tensor("T H D"),
    "cosine": Tensor("P D", role="weight", draw=uniform(-1, 1)),
    "sine": Tensor("P D", role="weight", draw=uniform(-1, 1)),
    "position": Tensor("T", "int64", draw=index("P")),
    "out": Tensor("T H D"),
}
passes = {"forward": "q cosine sine position -> out"}
shapes = {
    "llama-256x8x64": {"T": 256, "H": 8, "D": 64, "P": 512},
    "wide-128x4x128": {"T": 128, "H": 4, "D": 128, "P": 512},
    "ragged-203x6x64": {"T": 203, "H": 6, "D": 64, "P": 409},
}
tolerance = Tolerance(rtol=1e-5, atol=1e-6)
flops = {"forward": lambda s: 3.0 * s.T * s.H * s.D}


def reference(step, x):
    cosine, sine = x.cosine[x.position][:, None, :], x.sine[x.position][:, None, :]
    half = x.q.shape[-1] // 2
    turned = np.concatenate((-x.q[..., half:], x.q[..., :half]), axis=-1)
    return {"out": x.q * cosine + turned * sine}


starts = {
    "naive": """/* RoPE, NeoX style, one element at a time: out = q cos + turned(q) sin. q and out are T x H x D, tables P x D. */
#include <stdint.h>

int forward(const float *q, const float *cosine, const float *sine, const int64_t *position, float *out, int64_t T, int64_t H, int64_t D, int64_t P) {
    for (int64_t d = 0; d < D; d++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < T; t++) {
                const float *head = q + (t * H + h) * D;
                int64_t half = D / 2, at = position[t] * D + d;
                float other = d < half ? -head[d + half] : head[d - half];
                out[(t * H + h) * D + d] = head[d] * cosine[at] + other * sine[at];
            }
    return 0;
}
"""
}
