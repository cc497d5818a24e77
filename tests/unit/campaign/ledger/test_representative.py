"""Representative shapes: PASS only, small and large, the variable ones, a skewed one for grouped operators."""

from __future__ import annotations

import pytest

from layline.campaign.ledger.representative import choose_rows
from layline.campaign.values.bench_csv import HEADER_LINE, parse_bench_csv


def row(label: str, size: int, *, deviation: float = 0.01, check: str = "PASS") -> str:
    time = 2 * size**3 / 1e9
    return f"{label},1,{size},{size},{size},{check},1.0,{deviation},1.0,{deviation},{time},{2 * time},40,40,40"


CASES = [
    ([("a", 64, 0.01), ("b", 128, 0.01)], False, ("a", "b")),
    ([("a", 64, 0.01), ("b", 96, 0.01), ("c", 128, 0.01), ("d", 256, 0.01)], False, ("a", "c", "d")),
    ([(f"s{n}", 64 + 16 * n, 0.2 if n == 7 else 0.01) for n in range(12)], False, ("s0", "s6", "s7", "s11")),
    ([(f"s{n}", 64 + 16 * n, 0.01 * n) for n in range(40)], False, ("s0", "s20", "s37", "s38", "s39")),
    (
        [("uniform", 64, 0.01), ("x", 96, 0.01), ("skewed", 100, 0.01), ("y", 128, 0.01), ("z", 256, 0.01)],
        True,
        ("uniform", "skewed", "z"),
    ),
]


@pytest.mark.parametrize(("shapes", "grouped", "chosen"), CASES)
def test_the_choice(shapes: list[tuple[str, int, float]], grouped: bool, chosen: tuple[str, ...]) -> None:
    text = "\n".join((HEADER_LINE, *(row(label, size, deviation=deviation) for label, size, deviation in shapes), ""))
    assert choose_rows(parse_bench_csv(text.encode(), where="x"), grouped=grouped) == chosen


def test_a_shape_that_fails_is_never_chosen() -> None:
    rows = (row("a", 64), row("b", 128), row("c", 256), row("d", 512, check="FAIL"))
    table = parse_bench_csv("\n".join((HEADER_LINE, *rows, "")).encode(), where="x")
    assert "d" not in choose_rows(table, grouped=False)


def test_core_shapes_are_always_among_them() -> None:
    rows = [row(f"s{number}", 64 + 16 * number) for number in range(12)]
    table = parse_bench_csv("\n".join((HEADER_LINE, *rows, "")).encode(), where="x")
    chosen = choose_rows(table, grouped=False, core=("s3", "s4"))
    assert {"s0", "s3", "s4", "s11"} <= set(chosen)
    assert len(chosen) <= 5
    full = tuple(f"s{number}" for number in range(1, 6))
    assert choose_rows(table, grouped=False, core=full) == full
