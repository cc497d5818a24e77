"""Whatever bytes a campaign's files hold, the answer is a value or one sentence; never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layline.campaign.audit import CampaignFolder, find_violations
from layline.campaign.ledger.ledger import parse_ledger
from layline.campaign.ledger.lessons import parse_lessons
from layline.campaign.values.bench_csv import HEADER_LINE, BenchTable, parse_bench_csv
from layline.campaign.values.manifest import parse_manifest
from layline.campaign.values.scores import compute_aggregates, compute_score, find_inconsistencies
from layline.errors import Error
from layline.yaml_text import parse_yaml

CELLS = st.one_of(
    st.sampled_from(["PASS", "FAIL", "nan", "inf", "-", "", "0", "1", "1e308", "-1", "64", "0x1", '"', "1_0"]),
    st.text(max_size=6),
)
ROWS = st.lists(st.lists(CELLS, min_size=14, max_size=16).map(",".join), max_size=4)


@given(st.one_of(st.binary(max_size=300), ROWS.map(lambda rows: "\n".join((HEADER_LINE, *rows, "")).encode())))
def test_any_csv_is_a_table_or_a_sentence(data: bytes) -> None:
    try:
        table = parse_bench_csv(data, where="x")
    except Error:
        return
    assert isinstance(table, BenchTable)
    assert compute_score(table) >= 0
    compute_aggregates(table)
    list(find_inconsistencies(table))


@given(
    st.one_of(
        st.text(max_size=200),
        st.recursive(
            st.none() | st.text(max_size=5), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner)
        ).map(str),
    )
)
def test_any_manifest_is_read_or_refused(text: str) -> None:
    with pytest.raises(Error):
        parse_manifest(text, where="x")


@pytest.mark.parametrize(
    "text", ["a: &x [1]\nb: *x\n", "[" * 5000, "? {a: b}\n: c\n", "a: 2026-99-99", "!!python/name:os.system x"]
)
def test_tricks_of_yaml_are_refused_or_plain(text: str) -> None:
    try:
        parse_yaml(text, where="x")
    except Error:
        return


@given(st.binary(max_size=200))
def test_any_ledger_is_a_chain_or_a_sentence(content: bytes) -> None:
    try:
        parse_ledger(content, where="x")
    except Error:
        return


PATHS = (
    "manifest.yaml",
    "logs/optimize.md",
    "logs/performance_trend.md",
    "rounds/round-1/summary.md",
    "rounds/round-1/artifacts/benchmark.csv",
    "rounds/round-2-x/kernel_snapshot/k.py",
)


@given(st.dictionaries(st.sampled_from(PATHS), st.text(max_size=120)), st.text(max_size=80))
def test_any_folder_can_be_audited(texts: dict[str, str], tips: str) -> None:
    folder = CampaignFolder("x", tuple(texts), texts, tips, "tips.md")
    assert all(item.rule and item.message for item in find_violations(folder))
    parse_lessons(tips)
