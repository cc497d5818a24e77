"""SwiGLU in f32 on the processor: out = silu(gate) · up, and both gradients."""

import numpy as np

from layline.operators import Axis, Tensor, Tolerance

title = "SwiGLU f32, forward and backward"
language = "c"
metric = "GB/s"
axes = {"T": Axis(), "F": Axis()}
tensors = {name: Tensor("T F") for name in ("gate", "up", "dout", "out", "dgate", "dup")}
passes = {"forward": "gate up -> out", "backward": "gate up dout -> dgate dup"}
shapes = {
    "mlp-64x1408": {"T": 64, "F": 1408},
    "wide-16x5504": {"T": 16, "F": 5504},
    "ragged-37x901": {"T": 37, "F": 901},
}
tolerance = Tolerance(rtol=1e-4, atol=1e-5)
flops = {"forward": lambda s: 6.0 * s.T * s.F, "backward": lambda s: 12.0 * s.T * s.F}


def reference(step, x):
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(-x.gate))
    if step == "forward":
        return {"out": x.gate * share * x.up}
    return {"dgate": x.dout * x.up * share * (1 + x.gate * (1 - share)), "dup": x.dout * x.gate * share}


starts = {
    "naive": """/* SwiGLU, one element at a time: out = gate / (1 + exp(-gate)) * up. All are T x F, row-major. */
#include <math.h>
#include <stdint.h>

int forward(const float *gate, const float *up, float *out, int64_t T, int64_t F) {
    for (int64_t i = 0; i < T * F; i++) out[i] = (float)(gate[i] / (1.0 + exp(-gate[i])) * up[i]);
    return 0;
}

int backward(const float *gate, const float *up, const float *dout, float *dgate, float *dup, int64_t T, int64_t F) {
    for (int64_t i = 0; i < T * F; i++) {
        double share = 1.0 / (1.0 + exp(-gate[i]));
        dgate[i] = (float)(dout[i] * up[i] * share * (1.0 + gate[i] * (1.0 - share)));
        dup[i] = (float)(dout[i] * gate[i] * share);
    }
    return 0;
}
"""
}
