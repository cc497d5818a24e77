"""The first line of `patches drift` for none, one and many places."""

from __future__ import annotations

import pytest

from layline.patches.drift.lines import Places, say_broken

BROKEN = [
    (Places(0, 0, 0, 0), "no patched place can be judged"),
    (Places(1, 0, 0, 0), "the one patched place does not break"),
    (Places(1, 1, 0, 0), "the one patched place breaks"),
    (Places(5, 0, 1, 0), "none of 5 patched places break"),
    (Places(5, 1, 0, 0), "1 of 5 patched places breaks"),
    (Places(5, 2, 0, 3), "2 of 5 patched places break"),
]


@pytest.mark.parametrize(("places", "said"), BROKEN)
def test_the_count_reads_like_a_sentence(places: Places, said: str) -> None:
    assert say_broken(places) == said
