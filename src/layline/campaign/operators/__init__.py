"""The operators that ship. Adding one is one file: copy the nearest, describe buffers, passes, draws and the oracle.

Inputs are drawn from several distributions, because a kernel that is right for well-behaved numbers only is not right.
The first one is the timed one; calls of the others are mixed in between and checked just the same.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from layline.campaign.values.operator import Operator
from layline.errors import ConfigError

FILES = (
    "rope",
    "cross_entropy",
    "swiglu",
    "rope_bf16",
    "cross_entropy_bf16",
    "swiglu_bf16",
    "rmsnorm_quant_bf16",
    "moe_permute_bf16",
    "moe_unpermute_bf16",
    "attention_bf16",
    "attention_backward_bf16",
)
"""Written as a user writes an operator of their own, in `files/`."""
NAMES = ("gemm", "softmax", "grouped_gemm", "gemm_bf16", "rmsnorm_bf16", "gemm_fp8", "grouped_gemm_bf16", *FILES)
"""Those with a number format in their names run on an accelerator, with the torch and Triton of the machine."""


def load_operator(name: str) -> Operator:
    """One of the operators that ship, by name."""
    if name not in NAMES:
        raise ConfigError(
            f"There is no operator {name!r}.", hint=f"Operators: {', '.join(NAMES)}; or the path of an operator file."
        )
    operator: Operator = importlib.import_module(f"{__name__}.{name}").OPERATOR
    return operator


def read_kernel(name: str) -> str:
    """The text of one of our own kernels."""
    return (Path(__file__).parent / "kernels" / name).read_text("utf-8")
