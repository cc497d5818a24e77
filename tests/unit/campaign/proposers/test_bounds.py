"""What holds a kernel back: the class follows from the roof, the cost of an empty call and the other shapes."""

from __future__ import annotations

import pytest

from layline.campaign.measure.counters import parse_counters
from layline.campaign.operators import load_operator
from layline.campaign.proposers.bounds import BottleneckKind, Bound, _Figures, _read_bound, _say_device, _say_scaling

ROOF = (100e9, 10e9)
CASES = [
    # ms, FLOPs, bytes, cost of empty calls, share of the best shape's rate → class
    (0.011, 1e6, 1e4, 0.0, 1.0, BottleneckKind.ROOF),
    (0.05, 1e6, 1e4, 0.02, 0.9, BottleneckKind.OVERHEAD),
    (1.0, 1e6, 1e6, 0.01, 0.9, BottleneckKind.MEMORY),
    (0.10, 1e6, 1e4, 0.01, 0.3, BottleneckKind.SHAPE),
    (0.10, 1e6, 1e4, 0.01, 0.9, BottleneckKind.COMPUTE),
]


@pytest.mark.parametrize(("ms", "flops", "moved", "overhead", "share", "kind"), CASES)
def test_one_shape_is_classified(
    ms: float, flops: float, moved: float, overhead: float, share: float, kind: BottleneckKind
) -> None:
    one = _Figures(shape="s", ms=ms, flops=flops, moved=moved, overhead_ms=overhead)
    found, reading = _read_bound(one, share, one.rate / min(ROOF[0], one.intensity * ROOF[1]), ROOF)
    assert found is kind
    assert "of the measured roof" in reading


def test_without_ceilings_nothing_is_claimed() -> None:
    one = _Figures(shape="s", ms=0.1, flops=1e6, moved=1e4, overhead_ms=0.0)
    assert _read_bound(one, 0.9, None, None)[0] is BottleneckKind.UNKNOWN


SCALING = [
    ((1.0, 2.0, 4.0), "efficiency grows with size"),
    ((4.0, 4.1, 4.2), "hardly depends on the shape"),
    ((4.0, 1.0, 4.0), "depends on extents"),
]


@pytest.mark.parametrize(("rates", "says"), SCALING)
def test_scaling_over_shapes_is_read(rates: tuple[float, ...], says: str) -> None:
    bounds = [Bound(shape=str(at), rate=rate, intensity=1.0, reading="") for at, rate in enumerate(rates)]
    figures = {one.shape: _Figures(shape=one.shape, ms=1.0, flops=1e6, moved=1.0, overhead_ms=0.0) for one in bounds}
    assert says in next(_say_scaling(figures, bounds))


COUNTERS = [
    (
        "100,,cycles,1,100.00,,\n250,,instructions,1,100.00,,\n3,,cache-misses,1,100,,\n4,,branch-misses,1,100,,\n",
        4,
        "",
    ),
    ("<not supported>,,cycles,0,100.00,,\n5,,branch-misses,1,100,,\n", 1, "not available on this machine"),
    ("", 0, "is not allowed to count here"),
]


@pytest.mark.parametrize(("text", "count", "says"), COUNTERS)
def test_counters_that_are_missing_are_named(text: str, count: int, says: str) -> None:
    counted = parse_counters(text)
    assert len(counted.counters) == count
    assert bool(counted.missing) == bool(says)
    assert says in " ".join(counted.missing)


def test_a_devices_counters_are_told_against_what_must_move() -> None:
    operator = load_operator("rmsnorm_bf16")
    shape = operator.shapes[0]
    needed = operator.passes[0].bytes_moved(shape)
    seen = {
        "ns": 140_000.0,
        "read_bytes": needed,
        "written_bytes": needed / 2,
        "dram_percent": 91.0,
        "registers": 64.0,
        "kernels": 1.0,
    }
    analysis = {"shape": shape.label, "counters": {f"forward.{name}": value for name, value in seen.items()}}
    (told,) = _say_device(analysis, operator)
    assert f"forward on {shape.label}): 140 µs in 1 kernel(s)" in told
    assert "1.50 times what must move" in told
    assert "device memory 91 %; 64 registers" in told


@pytest.mark.parametrize("counters", [{}, {"cycles": 1.0}, {"forward.ns": 1.0}])
def test_counters_that_are_not_a_devices_tell_nothing(counters: dict[str, float]) -> None:
    operator = load_operator("rmsnorm_bf16")
    assert list(_say_device({"shape": operator.shapes[0].label, "counters": counters}, operator)) == []
