"""Where lines of a report break at 80 columns: between words, never inside a name, and code not at all."""

from __future__ import annotations

import pytest

from layline.core.report import Bullets, Code, Paragraph, Report, Section
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
