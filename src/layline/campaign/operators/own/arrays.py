"""The same few things on numpy's arrays and on torch's tensors: draw, convert, widen to fp64."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from layline.campaign.operators.draws import draw_f32, draw_integers
from layline.campaign.operators.tensors import draw_floats, find_device, start_generator
from layline.campaign.operators.tensors import draw_integers as draw_device_integers
from layline.campaign.values.operator_file import FLOATS

LIMITS = {"float16": 6.0e4, "float8_e4m3fn": 448.0, "float8_e5m2": 5.7e4}
"""Beyond these there is only infinity, or nothing."""
ROOT = {"float16": 1 / 8}
"""Rows of very different size: what becomes of their magnitudes where a type's exponent is too short for them."""
NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


class Numbers(Protocol):
    """Arrays of one kind."""

    def draw_floats(self, extent: tuple[int, ...], rng: np.random.Generator, kind: str, dtype: str) -> Any: ...
    def draw_integers(self, extent: tuple[int, ...], rng: np.random.Generator, limit: int, dtype: str) -> Any: ...
    def draw_uniform(
        self, extent: tuple[int, ...], rng: np.random.Generator, bounds: tuple[float, float], dtype: str
    ) -> Any: ...
    def convert(self, value: Any, dtype: str) -> Any: ...
    def widen(self, array: Any) -> Any: ...
    def take_answer(self, array: Any, dtype: str) -> Any: ...


def choose_numbers(language: str) -> Numbers:
    """Of torch for what runs with torch, numpy for the processor."""
    return TorchNumbers() if language in ("triton", "torch") else NumpyNumbers()


def _draw_together(drawn: Any, dtype: str, library: Any) -> Any:
    """Rows as they are, closer to one another where products of them would leave a type's range."""
    if dtype not in ROOT or not drawn.shape:
        return drawn
    size = library.sqrt((drawn * drawn).mean(-1)[..., None])
    return drawn * library.where(size > 0, size ** (ROOT[dtype] - 1), size)


class NumpyNumbers:
    """For kernels in C and Python."""

    def draw_floats(self, extent: tuple[int, ...], rng: np.random.Generator, kind: str, dtype: str) -> Any:
        if not extent:
            return self.convert(rng.standard_normal(()), dtype)
        return self.convert(_draw_together(draw_f32(extent, rng, kind), dtype, np), dtype)

    def draw_integers(self, extent: tuple[int, ...], rng: np.random.Generator, limit: int, dtype: str) -> Any:
        return self.convert(draw_integers(extent, rng, limit), dtype)

    def draw_uniform(
        self, extent: tuple[int, ...], rng: np.random.Generator, bounds: tuple[float, float], dtype: str
    ) -> Any:
        return self.convert(rng.uniform(*bounds, extent), dtype)

    def convert(self, value: Any, dtype: str) -> Any:
        most = LIMITS.get(dtype)
        return np.ascontiguousarray(np.clip(value, -most, most) if most else value, dtype=dtype)

    def widen(self, array: Any) -> Any:
        return array.astype(np.float64) if array.dtype.kind == "f" else array.copy()

    def take_answer(self, array: Any, dtype: str) -> Any:
        return np.ascontiguousarray(array, dtype=np.float64 if dtype in FLOATS else dtype)


class TorchNumbers:
    """For kernels that run with torch, on its device."""

    def draw_floats(self, extent: tuple[int, ...], rng: np.random.Generator, kind: str, dtype: str) -> Any:
        import torch

        return self.convert(_draw_together(draw_floats(extent, start_generator(rng), kind), dtype, torch), dtype)

    def draw_integers(self, extent: tuple[int, ...], rng: np.random.Generator, limit: int, dtype: str) -> Any:
        return self.convert(draw_device_integers(extent, start_generator(rng), limit), dtype)

    def draw_uniform(
        self, extent: tuple[int, ...], rng: np.random.Generator, bounds: tuple[float, float], dtype: str
    ) -> Any:
        import torch

        drawn = torch.rand(extent, generator=start_generator(rng), device=find_device())
        return self.convert(bounds[0] + (bounds[1] - bounds[0]) * drawn, dtype)

    def convert(self, value: Any, dtype: str) -> Any:
        import torch

        tensor = torch.as_tensor(value).to(find_device())
        if tensor.dtype == getattr(torch, dtype):
            return tensor.contiguous()
        most = LIMITS.get(dtype)
        return (tensor.clamp(-most, most) if most else tensor).to(getattr(torch, dtype)).contiguous()

    def widen(self, array: Any) -> Any:
        import torch

        if str(array.dtype).startswith("torch.float8"):
            return array.to(torch.float32).double()
        return array.double() if array.is_floating_point() else array.clone()

    def take_answer(self, array: Any, dtype: str) -> Any:
        """Narrow outputs are compared in f32, which halves the memory; wider ones in fp64."""
        import torch

        if dtype not in FLOATS:
            return array.to(getattr(torch, dtype)).contiguous()
        return array.to(torch.float32 if dtype in NARROW else torch.float64).contiguous()
