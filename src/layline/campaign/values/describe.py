"""What the names in a measurement stand for: shapes nobody listed, ways to draw inputs."""

from __future__ import annotations

from layline.campaign.values.operator import Operator, Pass, Shape
from layline.core.prose import verb

_C_TYPES = {"float64": "double", "float32": "float", "float16": "_Float16", "bool": "uint8_t"}
MOVED = "~moved"
"""Ends the label of a shape that an operator does not allow as it was asked for."""
_NEIGHBOURS = {
    "aligned": "other extents, as well aligned",
    "odd": "extents one more or one less",
    "prime": "prime extents",
    "one": "every extent 1",
    "empty": "no rows at all",
    "ragged": "rows spread unevenly over the groups",
    "lone": "all rows in one group",
    "crowded": "nearly all rows in one group",
    "large": "extents doubled, so that threads meet",
    "smaller": "every extent about two thirds",
    "larger": "every extent about three halves",
    "both": "some extents two thirds, some three halves",
}
_SIZES = {
    "far": "{} beyond every listed extent, the others thin",
    "wide": "two extents beyond 1024 at once",
    "large": "every extent beyond 512",
    "even": "every extent the same power of two",
    "odd": "every extent odd",
    "none": "{} is 0",
    "beyond": "every extent beyond every listed one, as far as memory allows",
    "edge": "{} as far as the operator allows beside the others",
    "walk": "{} goes up through 129 and down again in one process",
}
_INPUTS = {
    "normal": "normal, the distribution that is timed",
    "nudged": "the last call's, at the same address, with one element changed",
    "swapped": "the last call's, at the same address, with two elements exchanged",
    "twinned": "the last call's, at the same address, with one row a copy of the row before it but for one element",
    "lifted": "the last call's, at the same address, with two or three elements of one row raised far above the others",
    "repeated": "the same as in an earlier call",
    "scaled": "normal times another power of two in every call, 2^-12 to 2^12",
    "uneven": "each row at a magnitude of its own, 2^-16 to 2^16",
    "striped": "each column at a magnitude of its own, 2^-16 to 2^16",
    "offset": "normal times 0.25 plus 3 or minus 3: far from zero; positions and other indices start again every few tokens",
    "sparse": "nine in ten are zero",
    "outliers": "two in a thousand are a thousand times as large",
    "clustered": "five distinct values, so many ties",
    "spike": "normal, but one element of every second row or so is +100 or -100",
    "integers": "whole numbers whose sums of products are exact in f32",
    "high": "normal times 4 plus 120 or 5000: exp overflows unless the row's maximum is subtracted first",
    "low": "normal times 4 minus 130 or 5000: exp underflows to 0/0 unless the row's maximum is subtracted first",
    "peaked": "one element of every row 60 above the others",
    "shut": "some rows are -3.4e38, -1e9 or -1e4 throughout, as fully masked rows of attention are",
    "vast": "near the largest and the smallest numbers of f32",
    "masked": "three in ten are -1e4, -1e9, -3.4e38 or -infinity, as attention masks have it",
    "coarse": "normal, rounded to bf16 as mixed precision has it; positions and other indices in order",
    "padded": "three rows, channels or samples in ten are zeros, as padding leaves them",
    "level": "the gradient that comes in has one value throughout, as that of a mean has",
    "rectified": "activations are normal with everything negative set to zero, as ReLU leaves them",
    "chosen": "every row of the first input has a single 1, as labels, routing and permutations have it",
    "causal": "row r shows its first r + 1 columns, the others are -1e4, -1e9, -3.4e38 or -infinity",
    "deep": "evenly between -88 and 0: down to where exp ends in f32",
    "falling": "rows sorted, the largest first",
    "rising": "rows sorted, the largest last",
}


def describe_shape(shape: Shape) -> str:
    """Label and extents, and what the label says where nobody listed it: `square-96~one (M=1, N=1, K=1: …)`."""
    sizes = ", ".join(f"{name}={value}" for name, value in shape.sizes)
    origin = _describe_origin(shape.label)
    return f"{shape.label} ({sizes}{f': {origin}' if origin else ''})"


def _describe_origin(label: str) -> str:
    if label.endswith(MOVED):
        origin = _describe_origin(label.removesuffix(MOVED))
        return f"as near as the operator allows to: {origin}" if origin else "the nearest that the operator allows"
    head, _, tail = label.partition("~")
    if tail in _NEIGHBOURS:
        return f"a neighbour of {head} that nobody listed, {_NEIGHBOURS[tail]}"
    if tail and head in _SIZES:
        return _SIZES[head].format(tail if head != "walk" else tail.rstrip("0123456789"))
    return ""


def describe_inputs(kind: str) -> str:
    """How inputs were drawn: `high (normal times 4 plus 120 …)`."""
    return f"{kind} ({_INPUTS[kind]})" if kind in _INPUTS else kind


def describe_elements(some: int, size: int, name: str, does: str) -> str:
    """How many elements of an array, and the verb for so many: `3 of 512 elements of out are`."""
    return f"{some} of {size} elements of {name} {verb(some, does)}"


_ROUNDING = ("to nearest", "down", "up", "towards zero")


def describe_mode(before: int, after: int, machine: str) -> str:
    """What differs between two floating-point modes, as `worker.serve` packs them for this processor."""
    told = _describe_arm_mode(before, after) if machine in ("aarch64", "arm64") else _describe_x86_mode(before, after)
    return ", ".join(told) or "another mode"


def _describe_arm_mode(before: int, after: int) -> list[str]:
    """FPCR: flush-to-zero 24 (and 19 for half precision), default NaN 25, rounding 22–23, traps 8–15."""
    changed = before ^ after
    told = []
    if changed & 0x01080000:
        told.append(f"flush-to-zero {'on' if after & 0x01080000 else 'off'}")
    if changed & 0x02000000:
        told.append(f"default NaN {'on' if after & 0x02000000 else 'off'}")
    if changed & 0x00C00000:
        told.append(f"rounding {('to nearest', 'up', 'down', 'towards zero')[after >> 22 & 3]}")
    if changed & 0x9F00:
        told.append("other exceptions trapped")
    return told


def _describe_x86_mode(before: int, after: int) -> list[str]:
    """MXCSR above, x87 control word below."""
    changed = before ^ after
    told = []
    if changed & 0x8000 << 16:
        told.append(f"flush-to-zero {'on' if after & 0x8000 << 16 else 'off'}")
    if changed & 0x40 << 16:
        told.append(f"denormals-are-zero {'on' if after & 0x40 << 16 else 'off'}")
    if changed & 0x6000 << 16:
        told.append(f"rounding {_ROUNDING[after >> 29 & 3]}")
    if changed & 0x1F80 << 16 or changed & 0x3F:
        told.append("other exceptions trapped")
    if changed & 0xF00:
        told.append("another precision or rounding of the x87 unit")
    return told


def describe_call(operator: Operator, step: Pass) -> str:
    """How a kernel's function for a pass is called, as its author would declare it."""
    sizes = [name for name, _size in operator.shapes[0].sizes]
    if operator.language == "c":
        arrays = [
            f"{'' if name in step.outputs else 'const '}{name_c_type(operator.buffer(name).dtype)} *{name}"
            for name in step.buffers
        ]
        return f"int {step.symbol}({', '.join([*arrays, *(f'int64_t {name}' for name in sizes)])})"
    if operator.language == "python":
        return f"def {step.symbol}({', '.join([*step.buffers, *sizes])})"
    given = step.inputs if operator.returns else step.buffers
    return f"def {step.symbol}({', '.join(given)})"


def name_c_type(dtype: str) -> str:
    return _C_TYPES.get(dtype, f"{dtype}_t")
