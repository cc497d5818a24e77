"""Cross entropy in f32 on the processor: the loss of every token, and the gradient of the logits."""

import numpy as np

from layline.operators import Axis, Tensor, Tolerance, index

title = "Cross entropy f32, forward and backward"
language = "c"
metric = "GB/s"
axes = {"T": Axis(), "V": Axis(low=2)}
tensors = {
    "logits": Tensor("T V"),
    "target": Tensor("T", "int64", draw=index("V")),
    "dloss": Tensor("T"),
    "loss": Tensor("T", tolerance=Tolerance(rtol=1e-4, atol=1e-4)),
    "dlogits": Tensor("T V"),
}
passes = {"forward": "logits target -> loss", "backward": "logits target dloss -> dlogits"}
shapes = {
    "small-64x1000": {"T": 64, "V": 1000},
    "vocab-8x32000": {"T": 8, "V": 32000},
    "ragged-23x4999": {"T": 23, "V": 4999},
}
tolerance = Tolerance(rtol=1e-4, atol=1e-5)
flops = {"forward": lambda s: 4.0 * s.T * s.V, "backward": lambda s: 6.0 * s.T * s.V}


def reference(step, x):
    rows = np.arange(len(x.target))
    shifted = x.logits - x.logits.max(axis=1, keepdims=True) if x.logits.size else x.logits
    powers = np.exp(shifted)
    total = powers.sum(axis=1, keepdims=True)
    if step == "forward":
        return {"loss": np.log(total[:, 0]) - shifted[rows, x.target]}
    share = powers / total
    share[rows, x.target] -= 1
    return {"dlogits": share * x.dloss[:, None]}


starts = {
    "naive": """/* Cross entropy of each row: loss = log(sum(exp(x))) - x[target]; dlogits = (softmax(x) - onehot) * dloss. */
#include <math.h>
#include <stdint.h>

int forward(const float *logits, const int64_t *target, float *loss, int64_t T, int64_t V) {
    for (int64_t t = 0; t < T; t++) {
        const float *row = logits + t * V;
        double top = -INFINITY, sum = 0;
        for (int64_t v = 0; v < V; v++)
            if (row[v] > top) top = row[v];
        for (int64_t v = 0; v < V; v++) sum += exp(row[v] - top);
        loss[t] = (float)(log(sum) - (row[target[t]] - top));
    }
    return 0;
}

int backward(const float *logits, const int64_t *target, const float *dloss, float *dlogits, int64_t T, int64_t V) {
    for (int64_t t = 0; t < T; t++) {
        const float *row = logits + t * V;
        double top = -INFINITY, sum = 0;
        for (int64_t v = 0; v < V; v++)
            if (row[v] > top) top = row[v];
        for (int64_t v = 0; v < V; v++) sum += exp(row[v] - top);
        for (int64_t v = 0; v < V; v++)
            dlogits[t * V + v] = (float)((exp(row[v] - top) / sum - (v == target[t])) * dloss[t]);
    }
    return 0;
}
"""
}
