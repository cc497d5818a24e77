"""Next steps of a report are not steps that a later round took."""

from __future__ import annotations

import pytest

from layline.campaign.folder.report import drop_done

CASES = [
    (2, "vectorise the inner loop", [(3, "Vectorise the inner loop")], []),
    (2, "vectorise", [(3, "vectorise the backward pass")], []),
    (2, "even less work", [(3, "vectorise")], ["even less work"]),
    (
        3,
        "vectorise",
        [(3, "vectorise"), (2, "vectorise")],
        ["vectorise"],
    ),  # written with the round, or after one that did
    (2, "prefetch the next tile of b", [(3, "prefetch next tile of b")], []),
]


@pytest.mark.parametrize(("number", "text", "tried", "left"), CASES)
def test_what_a_later_round_says_it_took_is_left_out(
    number: int, text: str, tried: list[tuple[int, str]], left: list[str]
) -> None:
    assert list(drop_done([(number, text)], tried)) == left
