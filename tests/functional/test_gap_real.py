"""Known figures of public projects; needs local clones, off by default."""

from __future__ import annotations

import pytest

from conftest import real_repository
from layline.gap.churn import measure_churn
from layline.gap.dependencies import compare_declarations, read_declarations
from layline.git import open_repository
from layline.history.changes import read_diff
from layline.history.commits import compare_commits
from layline.source.tree import Tree


@pytest.mark.real
@pytest.mark.parametrize(
    ("variable", "pin", "tip", "figures"),
    [
        ("LAYLINE_REAL_TORCHTITAN", "5fb7cc2e", "fc54b897", (493, 447, 56071, 17716)),
        ("LAYLINE_REAL_MEGATRON", "d3528a21", "0d98cb83", (403, 1300, 615916, 326835)),
    ],
)
def test_published_figures(variable: str, pin: str, tip: str, figures: tuple[int, int, int, int]) -> None:
    repository = open_repository(real_repository(variable))
    old, new = repository.resolve(pin), repository.resolve(tip)
    diff = read_diff(repository, old, new)
    assert (compare_commits(repository, old, new).behind, len(diff.files), diff.insertions, diff.deletions) == figures
    churn = measure_churn(diff, {})
    assert sum(one.files for one in churn) == len(diff.files)
    assert sum(one.insertions for one in churn) == diff.insertions


@pytest.mark.real
def test_dependencies_that_a_published_record_called_unchanged() -> None:
    repository = open_repository(real_repository("LAYLINE_REAL_MEGATRON"))
    sides = [read_declarations(Tree(repository, repository.resolve(ref))) for ref in ("d3528a21", "0d98cb83")]
    rows = [row for row in compare_declarations(*sides) if row.file == "pyproject.toml"]
    found = {(row.name, row.changes[0].value) for row in rows}
    assert {("python", "floor raised"), ("causal-conv1d", "moved"), ("nvtx", "dropped")} <= found
