"""The frozen CSV is read strictly; the specification's worked example gives its figures."""

from __future__ import annotations

import re

import pytest

from layline.campaign.values.bench_csv import HEADER_LINE, parse_bench_csv
from layline.campaign.values.scores import (
    compare_tables,
    compute_aggregates,
    compute_score,
    find_inconsistencies,
    find_low_snr,
)
from layline.errors import RecordError


def row(label: str, m: int, n: int, k: int, forward: float, backward: float | None, *, snr: float = 40.0) -> str:
    fwd_ms = 2 * m * n * k / (forward * 1e12) * 1e3
    if backward is None:
        return f"{label},1,{m},{n},{k},PASS,{forward},0.5,nan,nan,{fwd_ms},nan,{snr},nan,nan"
    bwd_ms = 4 * m * n * k / (backward * 1e12) * 1e3
    return f"{label},1,{m},{n},{k},PASS,{forward},0.5,{backward},0.5,{fwd_ms},{bwd_ms},{snr},{snr},{snr}"


def table(*rows: str, newline: str = "\r\n") -> bytes:
    return newline.join((HEADER_LINE, *rows, "")).encode()


EXAMPLE = table(
    row("a", 4096, 4096, 4096, 320, 160), row("b", 2048, 8192, 4096, 305, 152), row("c", 1024, 4096, 8192, 290, 145)
)


def test_the_specifications_example_gives_its_figures() -> None:
    aggregates = compute_aggregates(parse_bench_csv(EXAMPLE, where="x"))
    assert {name: round(value or 0, 2) for name, value in aggregates.items()} == {
        "Forward TFLOPS": 304.75,
        "Backward TFLOPS": 152.21,
        "Combined Step TFLOPS": 182.69,
    }
    assert not list(find_inconsistencies(parse_bench_csv(EXAMPLE, where="x")))


def test_either_line_ending_is_fine() -> None:
    one = parse_bench_csv(table(row("a", 64, 64, 64, 1, 1), newline="\n"), where="x")
    assert one.rows[0].number("M") == 64


def test_a_forward_only_file_scores_by_its_forward_mean() -> None:
    found = parse_bench_csv(table(row("a", 64, 64, 64, 2, None), row("b", 64, 64, 64, 8, None)), where="x")
    assert compute_aggregates(found) == {
        "Forward TFLOPS": pytest.approx(4.0),
        "Backward TFLOPS": None,
        "Combined Step TFLOPS": pytest.approx(4.0),
    }


def test_one_failed_shape_rejects_the_candidate() -> None:
    failed = "b,1,64,64,64,FAIL,nan,nan,nan,nan,nan,nan,nan,nan,nan"
    found = parse_bench_csv(table(row("a", 64, 64, 64, 2, 2), failed), where="x")
    assert compute_score(found) == 0.0
    assert compute_aggregates(found)["Forward TFLOPS"] == pytest.approx(2.0)


def test_another_operator_keeps_label_check_and_stddev() -> None:
    data = b"label,rows,cols,Check,Forward GB/s,Forward GB/s_stddev,out_err\na,8,8,PASS,12.5,0.1,0\n"
    found = parse_bench_csv(data, where="x")
    assert found.metrics == ("Forward GB/s",)
    assert compute_score(found) == pytest.approx(12.5)


GOOD = row("a", 64, 64, 64, 2, 2)
REFUSED = [
    (b"", "is empty"),
    (table(GOOD)[:-1].rstrip(b"\r\n"), "cut short"),
    (table(GOOD)[:-40], "cut short"),
    (table(GOOD, newline="\n") + b"b,1,64\n", "line 3 has 3 fields"),
    (table(), "no shape"),
    (b"\xef\xbb\xbf" + EXAMPLE, "byte-order mark"),
    (EXAMPLE.replace(b"\r\n", b"\n", 1), "lines end in different ways"),
    (EXAMPLE.replace(b"label,B,", b"label,model,B,", 1), "`model` added"),
    (EXAMPLE.replace(b"out_snr,da_snr", b"da_snr,out_snr", 1), "another order"),
    (EXAMPLE.replace(b",db_snr", b"", 1), "`db_snr` missing"),
    (EXAMPLE.replace(b"label,", b'"label",', 1), "other bytes"),
    (table(GOOD, GOOD), "appears 2 times"),
    (table(GOOD.replace("PASS", "pass")), "Check is 'pass'"),
    (table(GOOD.replace(",2,", ",nan,", 1)), "on a shape that passed"),
    (table(GOOD.replace(",2,", ",inf,", 1)), "not a finite number"),
    (table(GOOD.replace(",2,", ",-2,", 1)), "must be positive"),
    (table(GOOD.replace(",64,", ",6x,", 1)), "not a number"),
    (table(GOOD.replace(",64,", ",64.5,", 1)), "not a whole number"),
    (table(GOOD, row("b", 64, 64, 64, 2, None)), "without a backward time"),
    (b"label,Check,GB/s\na,PASS,1\n", "no metric with a `_stddev`"),
    (b"label,GB/s,GB/s_stddev\na,1,0\n", "no `Check` column"),
    (EXAMPLE.replace(b"a,1,", b"\0,1,", 1), "NUL byte"),
]


@pytest.mark.parametrize(("data", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_is_not_exactly_the_frozen_file_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(RecordError, match=re.escape(said)):
        parse_bench_csv(data, where="x.csv")


def test_a_rate_that_is_not_work_over_time_is_named() -> None:
    lied = parse_bench_csv(table(GOOD.replace(",2,0.5", ",3,0.5", 1)), where="x")
    assert [line.split(":")[0] for line in find_inconsistencies(lied)] == ["a"]


def test_a_pass_below_the_gate_is_named() -> None:
    low = parse_bench_csv(
        table(row("a", 64, 64, 64, 2, 2, snr=24.0), row("b", 64, 64, 64, 2, 2, snr=float("inf"))), where="x"
    )
    assert len(list(find_low_snr(low, 25))) == 3


def test_differences_are_relative_and_name_regressions() -> None:
    before = parse_bench_csv(table(row("a", 64, 64, 64, 2, 2), row("b", 64, 64, 64, 2, 2)), where="x")
    after = parse_bench_csv(table(row("a", 64, 64, 64, 2.2, 2.2), row("b", 64, 64, 64, 1.9, 1.9)), where="y")
    assert [(item.label, round(item.change, 3), item.is_regression) for item in compare_tables(before, after)] == [
        ("a", 0.1, False),
        ("b", -0.05, True),
    ]


@pytest.mark.parametrize("other", [table(GOOD), b"label,Check,GB/s,GB/s_stddev\na,PASS,1,0\n"])
def test_other_shapes_and_other_harnesses_are_never_compared(other: bytes) -> None:
    with pytest.raises(RecordError):
        compare_tables(parse_bench_csv(EXAMPLE, where="x"), parse_bench_csv(other, where="y"))
