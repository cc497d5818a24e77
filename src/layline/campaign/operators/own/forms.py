"""What each name of an operator file must be, before anything of it is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from layline.campaign.values.operator import Tolerance
from layline.campaign.values.operator_file import Axis, Draw, Tensor

METRICS = ("GB/s", "TFLOPS", "Forward TFLOPS", "Combined Step TFLOPS")


def find_malformed(said: SimpleNamespace) -> Iterator[str]:
    """Names whose values are of another kind; the parts of a dict only where it is one."""
    for name, (kind, fits) in FORMS.items():
        given = getattr(said, name, None)
        if given is not None and not fits(given):
            yield f"{name} is not {kind}."


def find_bad_parts(said: SimpleNamespace) -> Iterator[str]:
    """Axes, tensors and shapes with something in them that is none of what they take."""
    for label, sizes in said.shapes.items():
        for name, size in sizes.items():
            if not _is_count(size):
                yield f"shapes[{label!r}] gives {name}={size!r}: a size is a whole number, 0 or more."
    for name, axis in said.axes.items():
        bounds: list[Any] = [axis.const, axis.low, axis.high] if isinstance(axis, Axis) else []
        steps: list[Any] = [axis.multiple] if isinstance(axis, Axis) else []
        if not all(one is None or _is_count(one) for one in bounds) or not all(_is_count(one) and one for one in steps):
            yield f"axes[{name!r}] has a bound that is not a whole number, or a multiple that is not above 0."
    for name, tensor in said.tensors.items():
        given: list[Any] = [tensor.axes, tensor.draw] if isinstance(tensor, Tensor) else ["", None]
        if not isinstance(given[0], str) and not callable(given[0]):
            yield f"tensors[{name!r}] has axes that are neither a string such as 'T D' nor a function."
        if given[1] is not None and not isinstance(given[1], Draw):
            yield (
                f"tensors[{name!r}] has a draw that is not one of index, offsets, mask, permutation, routing, uniform."
            )


def _is_texts(given: Any) -> bool:
    return isinstance(given, Mapping) and all(isinstance(one, str) for one in given.values())


def _is_kernels(given: Any) -> bool:
    parts = given.values() if isinstance(given, Mapping) else (given,)
    return all(isinstance(one, str | Path) for one in parts)


def _is_sizes(given: Any) -> bool:
    """Sizes by axis, shape by shape."""
    inner = [*given.values()] if isinstance(given, Mapping) else [None]
    return all(isinstance(one, Mapping) for one in inner)


def _is_count(given: Any) -> bool:
    return isinstance(given, Integral) and int(given) >= 0


def _is_limits(given: Any) -> bool:
    return all(_is_count(one) for one in (given.values() if isinstance(given, Mapping) else (given,)))


def _is_tolerance(given: Any) -> bool:
    parts: tuple[Any, ...] = (given.rtol, given.atol) if isinstance(given, Tolerance) else (None,)
    return all(isinstance(one, int | float) and 0 <= one < math.inf for one in parts)


FORMS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "title": ("a text", lambda given: isinstance(given, str)),
    "axes": ('a dict such as {"T": Axis()}', lambda given: isinstance(given, Mapping)),
    "tensors": ('a dict such as {"x": Tensor("T")}', lambda given: isinstance(given, Mapping)),
    "passes": ('a dict such as {"forward": "x -> y"}', _is_texts),
    "shapes": ('a dict such as {"small": {"T": 512}}', _is_sizes),
    "tolerance": ("a Tolerance of two numbers", _is_tolerance),
    "metric": (f"one of {', '.join(METRICS)}", lambda given: given in METRICS),
    "kinds": (
        'a tuple such as ("normal", "sparse")',
        lambda given: isinstance(given, tuple | list) and all(isinstance(one, str) for one in given),
    ),
    "exact": ("a whole number, or one for each input", _is_limits),
    "starts": ('a dict such as {"naive": TEXT}', _is_kernels),
    "variants": ('a dict such as {"tiled": TEXT}', _is_kernels),
    "wrong": ('a dict such as {"zeros": TEXT}', _is_kernels),
}
