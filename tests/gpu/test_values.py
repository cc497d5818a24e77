"""What is right beyond doubt is seen in few passes over an output; the answer is that of the close look."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from layline.campaign.measure import torch_values
from layline.campaign.measure.oracle import Close
from layline.campaign.measure.torch_values import TorchValues
from layline.campaign.operators import load_operator

torch = pytest.importorskip("torch")
POISON = 0x7FC5
EXTENTS = ((40, 33), (1, 1), (17, 1), (6, 5, 9), (300,))
DTYPES = ("bfloat16", "float32")


def _spoil(what: str, got: Any, want: Any) -> None:
    match what:
        case "poison":
            got.view(torch.int16)[3, 7] = POISON
        case "NaN":
            got[0, 0] = float("nan")
        case "infinity":
            got[1, 2] = float("-inf")
        case "infinity where it belongs":
            got[1, 2] = want[1, 2] = float("inf")
        case "a missing infinity":
            want[1, 2] = float("inf")
        case "one element off":
            got[5, 5] += 1.0
        case "a little off everywhere":
            got.mul_(1.02)
        case "a row of zeros":
            got[4] = want[4] = 0.0
        case "squares that overflow":
            got[2] = want[2] = 3e38


SPOILT = (
    "NaN",
    "infinity",
    "infinity where it belongs",
    "a missing infinity",
    "one element off",
    "a little off everywhere",
    "a row of zeros",
    "squares that overflow",
)
CASES = [
    *(("nothing", extent, dtype) for extent in EXTENTS for dtype in DTYPES),
    *((what, EXTENTS[0], dtype) for what in SPOILT for dtype in DTYPES),
    ("poison", EXTENTS[0], "bfloat16"),
]


@pytest.mark.parametrize(("what", "extent", "dtype"), CASES)
def test_a_quick_pass_says_what_a_close_look_says(
    what: str, extent: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = load_operator("gemm_bf16")
    operator = replace(operator, tolerance=replace(operator.tolerance, snr_db=None))
    want = torch.randn(extent, generator=torch.Generator().manual_seed(3))
    got = want.to(getattr(torch, dtype))
    _spoil(what, got, want)
    quick = TorchValues().check(operator, "out", got, want, is_exact=False, poison=POISON)
    monkeypatch.setattr(torch_values, "_pass_quickly", lambda *_: None)
    close = TorchValues().check(operator, "out", got, want, is_exact=False, poison=POISON)
    assert type(quick) is type(close)
    if isinstance(quick, Close) and isinstance(close, Close):
        one, other = quick.weigh(), close.weigh()
        assert (one.rms, one.worst) == pytest.approx((other.rms, other.worst), rel=1e-5)
    else:
        assert quick == close


def test_what_is_no_number_is_never_close() -> None:
    right = torch.ones(4, 8)
    error = torch_values.measure_error("y", torch.full((4, 8), float("nan")), right)
    assert error.snr_db < 0
    assert TorchValues().find_distance(right * float("nan"), right) > 1
