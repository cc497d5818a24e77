from __future__ import annotations

import pytest

from layline.coupling.threeway import _find_hunks
from layline.upgrade.edits import Edit, apply_edits, render_patch

OLD = "a\nb\nc\nd\ne\n"
HUNKS = [
    # upstream now, ours, (first, last, conflict)
    (OLD, OLD, []),
    ("a\nB\nc\nd\ne\n", OLD, [(2, 2, False)]),
    ("a\nB\nc\nd\ne\n", "a\nX\nc\nd\ne\n", [(2, 2, True)]),
    ("a\nB\nc\nd\nE\n", "a\nX\nc\nd\ne\n", [(2, 2, True), (5, 5, False)]),
    ("a\nb\nnew\nc\nd\ne\n", OLD, [(3, 2, False)]),
    ("a\nb\nnew\nc\nd\ne\n", "a\nb\nmine\nc\nd\ne\n", [(3, 2, True)]),
    ("", OLD, [(1, 5, False)]),
]


@pytest.mark.parametrize(("now", "ours", "expected"), HUNKS)
def test_hunks(now: str, ours: str, expected: list[tuple[int, int, bool]]) -> None:
    assert [(hunk.first, hunk.last, hunk.is_conflict) for hunk in _find_hunks(OLD, now, ours)] == expected


def test_edits_count_bytes_as_the_syntax_tree_does() -> None:
    text = "é = old.f; old.g\n"
    assert apply_edits(text, [Edit(1, 5, 8, "new"), Edit(1, 12, 15, "newer")]) == "é = new.f; newer.g\n"


def test_a_file_without_a_last_line_break_can_be_patched() -> None:
    assert render_patch("a.py", "x", "y") == (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ "
        "No newline at end of file\n"
    )
    assert render_patch("a.py", "x", "x") == ""
