"""Kernels made wrong on purpose, from one that is right: what an operator's own check must refuse."""

from __future__ import annotations

from collections.abc import Mapping

from layline.campaign.operators.own.read import read_axes
from layline.campaign.values.describe import name_c_type
from layline.campaign.values.operator import Pass
from layline.campaign.values.operator_file import FLOATS, Axis, Tensor

CHANGES = ("last", "kept", "scaled")
"""The last element of an output is another; its last quarter is left as it was; every element is 3 % larger, or one
more.
"""
FAR = "8 * o.float().square().mean().sqrt()"
"""Beyond any tolerance, however large the outputs are."""


def write_mutants(
    language: str, passes: tuple[Pass, ...], tensors: Mapping[str, Tensor], axes: Mapping[str, Axis], start: str
) -> tuple[str, ...]:
    """The start with something put behind its forward pass, three times."""
    writer = _write_c if language == "c" else _write_python if language == "python" else _write_torch
    return tuple(writer(passes[0], tensors, axes, start, change) for change in CHANGES)


def _write_c(step: Pass, tensors: Mapping[str, Tensor], axes: Mapping[str, Axis], start: str, change: str) -> str:
    output = step.outputs[0]
    tensor = tensors[output]
    kind = name_c_type(tensor.dtype)
    count = " * ".join(f"({name} + {more})" for name, more in read_axes(tensor.axes)) or "1"
    arguments = ", ".join([*(f"void *{name}" for name in step.buffers), *(f"int64_t {name}" for name in axes)])
    names = ", ".join([*step.buffers, *axes])
    is_float = tensor.dtype in FLOATS
    edits = {
        "last": f"if (n) o[n - 1] = {'o[n - 1] * 2 + 1' if is_float else 'o[n - 1] + 1'};",
        "kept": "for (int64_t i = n - n / 4; i < n; i++) o[i] = kept[i];",
        "scaled": f"for (int64_t i = 0; i < n; i++) o[i] {'*= 1.03' if is_float else '+= 1'};",
    }
    return f"""#define {step.symbol} layline_inner_
{start}
#undef {step.symbol}
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int {step.symbol}({arguments}) {{
    int64_t n = {count};
    {kind} *o = {output}, *kept = malloc(n * sizeof *o + 1);
    memcpy(kept, o, n * sizeof *o);
    int answer = layline_inner_({names});
    {edits[change]}
    free(kept);
    return answer;
}}
"""


def _write_python(step: Pass, tensors: Mapping[str, Tensor], axes: Mapping[str, Axis], start: str, change: str) -> str:
    del axes
    is_float = tensors[step.outputs[0]].dtype in FLOATS
    edits = {
        "last": f"o[n - 1] = {'o[n - 1] * 2 + 1' if is_float else 'o[n - 1] + 1'}",
        "kept": _KEPT,
        "scaled": f"for i in range(n): o[i] {'*= 1.03' if is_float else '+= 1'}",
    }
    return _put_behind(start, step, "{}", "len(o), memoryview(bytes(o)).cast(o.format)", edits[change])


def _write_torch(step: Pass, tensors: Mapping[str, Tensor], axes: Mapping[str, Axis], start: str, change: str) -> str:
    del axes
    is_float = tensors[step.outputs[0]].dtype in FLOATS
    edits = {
        "last": f"o[-1:] = (o[-1:].float() * 2 + 1 + {FAR}).to(o.dtype) if {is_float} else o[-1:] ^ 1",
        "kept": _KEPT,
        "scaled": f"o.copy_((o.float() * 1.03).to(o.dtype) if {is_float} else o ^ 1)",
    }
    return _put_behind(start, step, "{}.view(-1)", "o.numel(), o.clone()", edits[change])


_KEPT = "o[n - n // 4 :] = kept[n - n // 4 :]"


def _put_behind(start: str, step: Pass, opened: str, read: str, edit: str) -> str:
    """A Python kernel whose pass is followed by an edit of its first output `o`, with `n` elements, `kept` as it was."""
    output = opened.format(f"given[{step.buffers.index(step.outputs[0])}]")
    return f"""{start}


_layline_inner = {step.symbol}


def {step.symbol}(*given):
    o = {output}
    n, kept = {read}
    _layline_inner(*given)
    if n:
        {edit}
"""
