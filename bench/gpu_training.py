"""A small real training loop on an accelerator, with one kernel or another in its linear layers and norms.

    python -m bench gpu_training SEED NAME=GEMM.py,RMSNORM.py …        prints one JSON object

Four transformer layers of a Llama-like width, real tokens drawn afresh each step, forward, backward, AdamW step. The
variants' steps alternate in one process; `torch` names a variant without kernels of ours. A process is the unit.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from bench.gpu_torch import load_kernel

WIDTH, HIDDEN, LAYERS, HEADS, VOCABULARY = 4096, 11008, 4, 32, 16384
BATCH, LENGTH = 4, 2048
STEPS = 12


def main(arguments: list[str]) -> int:
    import torch

    seed = int(arguments[0])
    models = {}
    for word in arguments[1:]:
        name, _, paths = word.partition("=")
        kernels = [load_kernel(Path(path)) for path in paths.split(",")] if paths else None
        torch.manual_seed(seed)
        model = build_model(kernels)
        models[name] = (model, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True))
    order = random.Random(seed)
    times: dict[str, list[float]] = {name: [] for name in models}
    losses: dict[str, list[float]] = {name: [] for name in models}
    for step in range(STEPS + 2):
        torch.manual_seed(1000 * seed + step)
        tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), device="cuda")
        for name in order.sample(list(models), len(models)):
            model, optimizer = models[name]
            torch.cuda.synchronize()
            began = time.perf_counter()
            logits = model(tokens[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
            losses[name].append(float(loss))
            if step >= 2:
                times[name].append((time.perf_counter() - began) * 1e3)
            del logits, loss
    print(json.dumps({"step_ms": times, "losses": losses, "parameters": sum(p.numel() for p in model.parameters())}))
    return 0


def build_model(kernels: list[Any] | None) -> Any:  # noqa: C901  nine small classes that need torch to exist
    """The same module tree for every variant; only who multiplies and normalises differs."""
    import torch
    from torch import nn
    from torch.nn import functional

    gemm: Any
    norm: Any
    gemm, norm = kernels or (None, None)

    class Multiply(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, a: Any, b: Any) -> Any:
            context.save_for_backward(a, b)
            out = torch.empty(a.shape[0], b.shape[0], dtype=a.dtype, device=a.device)
            gemm.forward(a, b, out)
            return out

        @staticmethod
        def backward(context: Any, dout: Any) -> Any:
            a, b = context.saved_tensors
            da, db = torch.empty_like(a), torch.empty_like(b)
            gemm.backward(a, b, dout.contiguous(), da, db)
            return da, db

    class Normalise(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, w: Any) -> Any:
            context.save_for_backward(x, w)
            y = torch.empty_like(x)
            norm.forward(x, w, y)
            return y

        @staticmethod
        def backward(context: Any, dy: Any) -> Any:
            x, w = context.saved_tensors
            dx, dw = torch.empty_like(x), torch.empty(w.shape, dtype=torch.float32, device=w.device)
            norm.backward(x, w, dy.contiguous(), dx, dw)
            return dx, dw.to(w.dtype)

    class Linear(nn.Linear):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            if gemm is None:
                return functional.linear(x, self.weight)
            return Multiply.apply(x.reshape(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)

    class Norm(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(WIDTH))

        def forward(self, x: Any) -> Any:
            if norm is None:
                return functional.rms_norm(x, (WIDTH,), self.weight, 1e-6)
            return Normalise.apply(x.reshape(-1, WIDTH), self.weight).view(x.shape)

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList([Norm(), Norm()])
            self.qkv, self.out = Linear(WIDTH, 3 * WIDTH, bias=False), Linear(WIDTH, WIDTH, bias=False)
            self.up, self.down = Linear(WIDTH, 2 * HIDDEN, bias=False), Linear(HIDDEN, WIDTH, bias=False)

        def forward(self, x: Any) -> Any:
            q, k, v = self.qkv(self.norms[0](x)).view(BATCH, LENGTH, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))
            gate, up = self.up(self.norms[1](x)).chunk(2, dim=-1)
            return x + self.down(functional.silu(gate) * up)

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), Linear(WIDTH, VOCABULARY, bias=False)
            self.layers, self.norm = nn.ModuleList([Layer() for _ in range(LAYERS)]), Norm()

        def forward(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    with torch.device("cuda"):
        return Model().to(torch.bfloat16)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
