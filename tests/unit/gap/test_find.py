"""In which order `gap find` lists what names a word."""

from __future__ import annotations

import pytest

from layline.gap.changes import UpstreamChange
from layline.gap.find import Touching, find_matches

TITLES = (
    (1, "Add fused-moe tuning configs"),
    (2, "Rename FusedMoE to FusedMoEFactory"),
    (3, "Fix fused moe scales"),
    (4, "Add support of old FusedMoE layers"),
)
ORDERS = [
    # (the word, numbers of the changes in order)
    ("FusedMoE", [4, 2, 1, 3]),  # a name of code: as it is spelled first
    ("fused moe", [1, 4, 2, 3]),  # what brings something new first
]


@pytest.mark.parametrize(("word", "numbers"), ORDERS)
def test_a_name_as_code_spells_it_comes_first(word: str, numbers: list[int]) -> None:
    changes = [
        Touching(
            change=UpstreamChange(
                number=number, title=title, kind="", date="2026-01-01", commits=(str(number),), area="core", files=1
            ),
            paths=(),
        )
        for number, title in TITLES
    ]
    assert [match.change.number for match in find_matches(changes, word)] == numbers
