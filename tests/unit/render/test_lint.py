from __future__ import annotations

import pytest

from layline.render.lint import find_markdown_problems

GOOD = "# T\n\n## A\n\n| a | b |\n|---|---|\n| x \\| y | [z](<https://e.org/a>) |\n\n```\n# no heading\n| a |\n```\n"


def test_a_good_document_has_no_problem() -> None:
    assert list(find_markdown_problems(GOOD)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# T\n\n### A\n", "line 3: a heading of level 3 after one of level 1"),
        ("# T\n\n| a | b |\n|---|---|\n| x |\n", "line 5: a row of 1 cells in a table of 2"),
        ("# T\n\n[x](javascript:alert)\n", "line 3: a link to javascript:alert"),
        ("# T\n\n```\nopen\n", "a fence is never closed"),
        ("words\n", "there is no title"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, problem: str) -> None:
    assert list(find_markdown_problems(text)) == [problem]
