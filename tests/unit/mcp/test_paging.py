from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layline.core.evidence import Alert, Severity
from layline.core.report import Answer, Paragraph, Report, Section
from layline.core.word import Word
from layline.mcp.paging import BUDGET, pack, shorten_around, size


def _answer(rows: list[dict[str, str]]) -> Answer:
    report = Report(
        title="Patches",
        alerts=(Alert(severity=Severity.BREAKS, message="one is dead"),),
        sections=(Section(title="", blocks=(Paragraph("All of them."),)),),
    )
    return Answer(report=report, data={"schema": "layline.x/1", "rows": rows, "few": [1]})


@given(st.lists(st.integers(min_value=0, max_value=3000), min_size=2, max_size=60))
def test_following_the_handles_gives_every_row_once(lengths: list[int]) -> None:
    answer = _answer([{"id": str(number), "text": "x" * length} for number, length in enumerate(lengths)])
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        packed = pack(answer, offset=offset)
        assert size(packed.data) <= BUDGET + 2_000
        assert packed.page is not None
        seen += [row["id"] for row in packed.data["rows"]]
        offset = packed.page.next_offset
    assert seen == [str(number) for number in range(len(lengths))]


def test_the_summary_says_what_matters() -> None:
    packed = pack(_answer([{"id": "a"}, {"id": "b"}]))
    assert packed.summary == "Patches\nerror: one is dead\nAll of them."


def test_long_texts_say_how_long_they_were() -> None:
    packed = pack(_answer([{"id": "a", "text": "x" * 5000}, {"id": "b"}]))
    assert packed.data["rows"][0]["text"].endswith("… (5000 characters)")


def test_an_offset_past_the_end_is_an_empty_page() -> None:
    packed = pack(_answer([{"id": "a"}, {"id": "b"}]), offset=9)
    assert packed.page is not None
    assert (packed.page.shown, packed.page.next_offset) == (0, None)


@pytest.mark.parametrize(
    ("text", "most", "told"),
    [
        ("short fp8", 40, "short fp8"),
        ("a b c d e f fp8_recipe g h " + "i" * 40, 30, "… c d e f fp8_recipe g h…"),
        ("nothing of it " + "i " * 40, 20, "nothing of it i i i…"),
    ],
)
def test_a_long_text_is_cut_where_the_word_stands(text: str, most: int, told: str) -> None:
    assert shorten_around(text, Word("fp8"), most) == told
