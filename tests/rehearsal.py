"""A small linear layer whose kernels are plain torch: it runs on the host as well as on an accelerator."""

from __future__ import annotations

from dataclasses import replace

from layline.campaign.measure.accelerator import plan_device
from layline.campaign.measure.request import Request
from layline.campaign.operators import load_operator
from layline.campaign.operators.gemm_shapes import shape
from layline.campaign.values.operator import Operator, Snapshot

HONEST = """\
import torch


def forward(a, b, out):
    out.copy_((a.float() @ b.float().T).to(torch.bfloat16))


def backward(a, b, dout, da, db):
    da.copy_((dout.float() @ b.float()).to(torch.bfloat16))
    db.copy_((dout.float().T @ a.float()).to(torch.bfloat16))
"""
SLOW = HONEST.replace(
    "def forward(a, b, out):\n", "def forward(a, b, out):\n    for _ in range(2):\n        a.float() @ b.float().T\n"
)


def small_operator(size: int = 64) -> Operator:
    """The bf16 GEMM on two small shapes, its starting kernel in plain torch."""
    operator = load_operator("gemm_bf16")
    return replace(
        operator,
        shapes=(shape("small", size, size, size), shape("wide", size, 2 * size, size)),
        starts=(("torch", HONEST),),
        variants=(),
        wrong=HONEST.replace(".float().T).to", ".float().T * 1.03).to"),
    )


def ask(best: str, candidate: str | None, *, size: int = 64, vendor_allowed: bool = True) -> Request:
    """A measuring run of two kernels' texts; the library may be called, for most kernels here are plain torch."""
    operator = small_operator(size)
    plan = replace(plan_device(0.05, 0.01), looks=(2,), calls=6, vendor_allowed=vendor_allowed)
    return Request(
        operator=operator,
        shapes=operator.shapes,
        best=_wrap(best),
        candidate=_wrap(candidate) if candidate is not None else None,
        plan=plan,
    )


def _wrap(text: str) -> Snapshot:
    return Snapshot(files=(("kernel.py", text),))
