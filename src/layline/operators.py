"""The names an operator file is written with: `from layline.operators import Axis, Tensor, Tolerance, index`.

An operator of your own is one Python file; docs/operators.md shows one. `layline campaign check-operator FILE` says
what is wrong with it before kernels are judged by it.
"""

from __future__ import annotations

from layline.campaign.values.operator import Tolerance
from layline.campaign.values.operator_file import Axis, Tensor, index, mask, offsets, permutation, routing, uniform

__all__ = ["Axis", "Tensor", "Tolerance", "index", "mask", "offsets", "permutation", "routing", "uniform"]
