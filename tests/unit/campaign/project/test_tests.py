"""Which words select the tests of one operator and backend."""

from __future__ import annotations

import pytest

from layline.campaign.project.tests import choose_selection

SOURCE = """
@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("backend", [None, Backend.CK, Backend.TRITON])
def test_gemm_fp8_tensorwise(m, backend): ...

@pytest.mark.parametrize("backend", [Backend.CK], ids=["CK"])
def test_gemm_fp8_blockwise(backend): ...

def test_gemm_fp8_tensorwise_graph(): ...
"""


@pytest.mark.parametrize(
    ("words", "backend", "selected"),
    [
        (["fp8", "tensorwise"], "CK", ["tensorwise", "Backend.CK"]),  # the word is in Backend, too
        (["fp8", "tensorwise"], "HIPBLASLT", ["tensorwise"]),  # no test is given it
        (["fp8", "blockwise"], "CK", ["blockwise"]),  # given nothing else
        (["fp8"], "TRITON", ["TRITON"]),  # every test has the word
        (["rowwise"], "NONE", []),
    ],
)
def test_words_that_select(words: list[str], backend: str, selected: list[str]) -> None:
    assert choose_selection(SOURCE, words, backend) == selected


NAMED = """
@pytest.mark.parametrize("backend", [BackendType.CK, BackendType.TRITON])
def test_grouped(backend): ...
"""


def test_a_backend_whose_name_is_in_every_tests_name_is_selected_by_the_whole_of_it() -> None:
    """`-k` looks for a word inside others, in either case: CK is in BackendType."""
    assert choose_selection(NAMED, [], "CK") == ["BackendType.CK"]
    assert choose_selection(NAMED, [], "TRITON") == ["TRITON"]


def test_a_file_that_cannot_be_read_selects_nothing() -> None:
    assert choose_selection("def (", ["fp8"], "CK") == []
