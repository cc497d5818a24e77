"""Whose code ran on the device, by name."""

from __future__ import annotations

import pytest

from layline.campaign.measure.probes.code import FOREIGN_SHARE, find_compiled, read_seen
from layline.campaign.values.operator import Snapshot

KERNEL = """\
import triton
from numba import jit


@triton.jit
def _product(x): ...


@triton.autotune(configs=[], key=[])
@triton.jit(do_not_specialize=[0])
def _sum(x): ...


@jit
def _third(x): ...


def forward(x): ...
"""


CUDA = '''
SOURCE = r"""
template <int N> __global__ __launch_bounds__(256) void scale(float* x) {}
extern "C" __global__ void __launch_bounds__(128, 2) turn(int n) {}
__device__ void helper(int n) {}
"""
'''


def test_kernels_in_cuda_inside_a_text_are_the_kernels_own() -> None:
    assert find_compiled(Snapshot(files=(("kernel.py", CUDA),))) == {"scale", "turn"}


def test_only_compiled_functions_are_the_kernels_own() -> None:
    assert find_compiled(Snapshot(files=(("kernel.py", KERNEL),))) == {"_product", "_sum", "_third"}


@pytest.mark.parametrize(
    ("times", "own", "is_foreign"),
    [
        ({"_product": 90.0, "_sum": 10.0}, 1.0, False),
        ({"_product": 98.0, "Memset (Device)": 2.0}, 0.98, False),
        (
            {
                "_product": 98.0,
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>": 2.0,
            },
            0.98,
            False,
        ),
        ({"_product": 1.0, "nvjet_hsh_128x256_64x4_2x1": 99.0}, 0.01, True),
        ({"_product_of_the_vendor": 100.0}, 0.0, True),  # a name that only begins like ours
        ({"_product": 80.0, "void at::native::reduce_kernel<512>": 20.0}, 0.8, True),
        ({"void ours::_product<256, pair<int, float> >(float const*, int)": 60.0, "_sum(int)": 40.0}, 1.0, False),
        ({"void at::native::_product<256>(float const*)": 100.0}, 0.0, True),  # the library's, under our name
    ],
)
def test_what_ran_is_sorted_by_name(times: dict[str, float], own: float, is_foreign: bool) -> None:
    seen = read_seen("forward", times, frozenset({"_product", "_sum"}))
    assert seen.own == pytest.approx(own)
    assert (sum(share for _name, share in seen.foreign) > FOREIGN_SHARE) is is_foreign


def test_nothing_seen_is_not_a_pass() -> None:
    assert read_seen("forward", {}, frozenset({"_product"})).own is None
