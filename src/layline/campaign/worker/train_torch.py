"""Train a small transformer with one kernel in it, a step per request. Runs as `python -I SCRIPT REQUEST_FD REPLY_FD`.

Standard library and torch of the machine alone. Llama-like layers (attention, gated MLP, RMSNorm), cross entropy on
fresh
tokens, backward pass, AdamW. The kernel replaces what its operator names (linear layers or norms); without a kernel
everything is torch's own. The parent holds the clock; the answer to a step is its loss.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import Any

LENGTH = struct.Struct("<Q")
FP8_BLOCK, FP8_LARGEST = 128, 448.0


def _read(fd: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.read(fd, count - len(data))
        if not more:
            os._exit(0)  # the parent is gone or done
        data += more
    return data


def _receive(fd: int) -> Any:
    (length,) = LENGTH.unpack(_read(fd, LENGTH.size))
    return json.loads(_read(fd, length))


def _tell(fd: int, what: object) -> None:
    data = json.dumps(what).encode()
    os.write(fd, LENGTH.pack(len(data)) + data)


def _load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("kernel", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = module
    spec.loader.exec_module(module)
    return module


def _make_linear(torch: Any, kernel: Any) -> Callable[[Any, Any], Any]:
    """X wᵀ and both gradients by a `gemm_bf16` kernel."""

    class Multiply(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, w: Any) -> Any:
            context.save_for_backward(x, w)
            out = torch.empty(x.shape[0], w.shape[0], dtype=x.dtype, device=x.device)
            kernel.forward(x, w, out)
            return out

        @staticmethod
        def backward(context: Any, dout: Any) -> Any:
            x, w = context.saved_tensors
            dx, dw = torch.empty_like(x), torch.empty_like(w)
            kernel.backward(x, w, dout.contiguous(), dx, dw)
            return dx, dw

    return Multiply.apply  # type: ignore[no-any-return]


def _quantize(torch: Any, x: Any, rows: int) -> tuple[Any, Any]:
    """E4M3 with one scale per `rows` × 128 block; extents here are multiples of both."""
    tiles = x.float().view(x.shape[0] // rows, rows, x.shape[1] // FP8_BLOCK, FP8_BLOCK)
    scale = (tiles.abs().amax(dim=(1, 3)) / FP8_LARGEST).clamp(min=1e-12)
    codes = (tiles / scale[:, None, :, None]).view(x.shape)
    return codes.to(torch.float8_e4m3fn), scale.contiguous()


def _make_linear_fp8(torch: Any, kernel: Any) -> Callable[[Any, Any], Any]:
    """X wᵀ on E4M3 blocks by a `gemm_fp8` kernel; gradients in bf16 by torch, the same for every leg."""

    class Multiply(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, w: Any) -> Any:
            context.save_for_backward(x, w)
            (a, sa), (b, sb) = _quantize(torch, x, 1), _quantize(torch, w, FP8_BLOCK)
            if kernel is None:
                return torch._scaled_mm(a, b.T, sa.T.contiguous().T, sb.T, out_dtype=torch.bfloat16)
            out = torch.empty(x.shape[0], w.shape[0], dtype=x.dtype, device=x.device)
            kernel.forward(a, b, sa, sb, out)
            return out

        @staticmethod
        def backward(context: Any, dout: Any) -> Any:
            x, w = context.saved_tensors
            return dout @ w, dout.T @ x

    return Multiply.apply  # type: ignore[no-any-return]


def _make_norm(torch: Any, kernel: Any) -> Callable[[Any, Any], Any]:
    """RMSNorm and its gradients by an `rmsnorm_bf16` kernel."""

    class Normalise(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, w: Any) -> Any:
            context.save_for_backward(x, w)
            y = torch.empty_like(x)
            kernel.forward(x, w, y)
            return y

        @staticmethod
        def backward(context: Any, dy: Any) -> Any:
            x, w = context.saved_tensors
            dx, dw = torch.empty_like(x), torch.empty(w.shape, dtype=torch.float32, device=w.device)
            kernel.backward(x, w, dy.contiguous(), dx, dw)
            return dx, dw.to(w.dtype)

    return Normalise.apply  # type: ignore[no-any-return]


class Model:
    """Parameters, one training step; plain functions instead of modules, for nothing here is reused."""

    def __init__(self, torch: Any, config: dict[str, Any], kernel: Any) -> None:
        self.torch, self.sizes, self.device = torch, config["sizes"], config["device"]
        functional, operator = torch.nn.functional, config["operator"]
        width = self.sizes["width"]
        self._linear: Callable[[Any, Any], Any] = functional.linear
        self._norm: Callable[[Any, Any], Any] = lambda x, w: functional.rms_norm(x, (width,), w, 1e-6)
        if operator == "gemm_fp8":
            self._linear = _make_linear_fp8(torch, kernel)
        elif kernel is not None and operator == "gemm_bf16":
            self._linear = _make_linear(torch, kernel)
        elif kernel is not None and operator == "rmsnorm_bf16":
            self._norm = _make_norm(torch, kernel)
        torch.manual_seed(config["seed"])
        self.embed = self._draw(self.sizes["vocabulary"], width)
        self.head = self._draw(self.sizes["vocabulary"], width)
        self.layers = [self._draw_layer() for _ in range(self.sizes["layers"])]
        self.last_norm = self._ones(width)
        self.parameters = [self.embed, self.head, self.last_norm, *(w for layer in self.layers for w in layer.values())]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-4, fused=self.device != "cpu")

    def _draw(self, rows: int, columns: int) -> Any:
        drawn = self.torch.randn(rows, columns, device=self.device) / columns**0.5
        return drawn.to(self.torch.bfloat16).requires_grad_()

    def _ones(self, width: int) -> Any:
        return self.torch.ones(width, device=self.device, dtype=self.torch.bfloat16).requires_grad_()

    def _draw_layer(self) -> dict[str, Any]:
        width, hidden = self.sizes["width"], self.sizes["hidden"]
        return {
            "qkv": self._draw(3 * width, width),
            "out": self._draw(width, width),
            "up": self._draw(2 * hidden, width),
            "down": self._draw(width, hidden),
            "norm": self._ones(width),
            "second": self._ones(width),
        }

    def _forward(self, tokens: Any) -> Any:
        functional, sizes = self.torch.nn.functional, self.sizes
        batch, length, heads = sizes["batch"], sizes["length"], sizes["heads"]
        x = functional.embedding(tokens, self.embed).view(batch * length, -1)
        for layer in self.layers:
            mixed = self._linear(self._norm(x, layer["norm"]), layer["qkv"])
            q, k, v = mixed.view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self._linear(seen.transpose(1, 2).reshape(batch * length, -1), layer["out"])
            gate, up = self._linear(self._norm(x, layer["second"]), layer["up"]).chunk(2, dim=-1)
            x = x + self._linear(functional.silu(gate) * up, layer["down"])
        return self._linear(self._norm(x, self.last_norm), self.head)

    def step(self, seed: int) -> float:
        """One step on tokens nobody saw before; its loss, when the device is done."""
        torch, sizes = self.torch, self.sizes
        generator = torch.Generator(device=self.device).manual_seed(seed)
        extent = (sizes["batch"], sizes["length"] + 1)
        tokens = torch.randint(0, sizes["vocabulary"], extent, generator=generator, device=self.device)
        logits = self._forward(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.float(), tokens[:, 1:].flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.device != "cpu":
            torch.cuda.synchronize()
        return float(loss)


def main() -> None:
    request, reply = (int(word) for word in sys.argv[1:])
    config = _receive(request)
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # ends with its parent
    import torch

    if config["device"] != "cpu":
        torch.cuda.init()
    _tell(reply, {"weaker": [], "versions": {"torch": torch.__version__}})
    _receive(request)  # "load"
    try:
        model = Model(torch, config, _load(config["kernel"]) if config["kernel"] else None)
    except Exception as error:  # noqa: BLE001  a kernel that cannot be loaded is an answer
        _tell(reply, {"failed": f"{type(error).__name__}: {error}"[:4000]})
        os._exit(3)
    _tell(reply, {"loaded": True})
    while True:
        message = _receive(request)
        try:
            _tell(reply, {"loss": model.step(message["step"])})
        except Exception as error:  # noqa: BLE001  so is one that raises
            _tell(reply, {"failed": f"{type(error).__name__}: {error}"[:4000]})


if __name__ == "__main__":
    main()
