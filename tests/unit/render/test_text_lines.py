"""Where lines of a report break at 80 columns: between words, never inside a name, and code not at all."""

from __future__ import annotations

import pytest

from layline.core.evidence import Skipped
from layline.core.listing import Listing
from layline.core.report import Bullets, Code, Paragraph, Report, Section
from layline.render.inline import tell_shortly
from layline.render.listing import render_listing
from layline.render.text import render_text

LONG = "transformers.models.lfm2_moe.modeling_lfm2_moe.Lfm2MoeShortConv.slow_forward.and_more"
CODE = f"-    return {LONG}({LONG})  # as it was"
BLOCKS = [
    (Paragraph(f"The target is {LONG} today."), f"The target is\n{LONG}\ntoday."),
    (Bullets((f"first: {LONG} is gone",)), f"  - first:\n    {LONG}\n    is gone"),
    (Bullets(("one", "two"), ordered=True), "  1. one\n  2. two"),
    (Code(CODE, "diff"), f"    {CODE}"),
]


@pytest.mark.parametrize(("block", "expected"), BLOCKS)
def test_lines_break_between_words(block: Paragraph | Bullets | Code, expected: str) -> None:
    text = render_text(Report(title="t", sections=(Section(title="", blocks=(block,)),)), width=80)
    assert text == f"t\n{expected}\n"


SKIPPED = [
    # how many, the lines below "Skipped"
    (2, ["  a0: why", "  a1: why"]),
    (3, ["  3 things were not read or not listed. `-v` says which and why; so does `--format json`."]),
]


@pytest.mark.parametrize(("number", "lines"), SKIPPED)
def test_much_that_was_skipped_is_one_line(number: int, lines: list[str]) -> None:
    skipped = tuple(Skipped(f"a{at}", "why") for at in range(number))
    texts = (
        render_text(Report(title="t", sections=(), skipped=skipped), tell=tell_shortly),
        render_listing(Listing(title="t", skipped=skipped), tell=tell_shortly),
    )
    assert [text.splitlines()[-len(lines) :] for text in texts] == [lines, lines]
