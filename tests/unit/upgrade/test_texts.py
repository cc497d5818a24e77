"""Texts that a patch searches for in upstream's source: what became of them, and the edit of ours."""

from __future__ import annotations

import pytest

from layline.upgrade.texts import NewText, exchange_text, find_new_text, merge

FOUND = [
    # (text, upstream before, upstream after, the text now; None: nobody can say)
    ("b = 2", "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 30\nc = 3\n", "b = 30"),
    ("f(b)", "a\nx = f(b)\nc\n", "a\nx = f(b, d)\nc\n", "f(b, d)"),
    ("b\nc\n", "a\nb\nc\nd\n", "a\nb\nb2\nc\nd\n", "b\nb2\nc\n"),
    ("f(b)", "a\nx = f(b)\nc\n", "a\ny = f(b, d)\nc\n", None),  # the line around it changed, too
    ("b = 2", "a\nb = 2\nb = 2\n", "a\nb = 3\nb = 2\n", None),  # it stood there twice
    ("b = 2", "a\nb = 2\nc\n", "a\nb = 3\nc\nb = 3\n", None),  # the new text stands there twice
    ("b = 2", "a\nb = 2\nc\n", "a\nc\n", None),  # it is gone
    ("b = 2", "a\nb = 2\nc\n", "a2\nb = 3\nc2\n", "b = 3"),  # its neighbours changed a little, too
    ("b = 2", "a\nb = 2\nc\n", "x\nb = 3\nc2\n", None),  # or were exchanged
    ("b = 2", "a\nb = 2\nc\n", "a\nb = 2\nc\nd\n", None),  # it is still there
]


@pytest.mark.parametrize(("text", "then", "now", "wanted"), FOUND)
def test_the_text_that_took_its_place(text: str, then: str, now: str, wanted: str | None) -> None:
    found = find_new_text(text, then, now)
    assert (found.new if found is not None else None) == wanted


MERGED = [
    # (upstream's text then, ours in its place, upstream's now, both; None: they meet)
    ("x = f(a)", "x = g(a)", "x = f(a, b)", "x = g(a, b)"),
    ("if a and b:", "if a and b and c:", "if a2 and b:", "if a2 and b and c:"),
    ("x = f(a)", "x = g(a)", "x = h(a)", None),
    ("x = f(a)", "", "x = f(a, b)", None),
]


@pytest.mark.parametrize(("old", "ours", "theirs", "wanted"), MERGED)
def test_two_changes_of_one_text(old: str, ours: str, theirs: str, wanted: str | None) -> None:
    assert merge(old, ours, theirs) == wanted


EDITED = [
    # (ours, ours after; None: it is left alone)
    ('s = s.replace("x = f(a)", "x = g(a)")  # ours\n', 's = s.replace("x = f(a, b)", "x = g(a, b)")  # ours\n'),
    (
        "s = s.replace(\n    'x = f(a)',\n    'x = g(a)',\n)\n",
        "s = s.replace(\n    'x = f(a, b)',\n    'x = g(a, b)',\n)\n",
    ),
    ('s.replace("x = f(a)", "x = g(a)"); s.replace("x = f(a)", "y")\n', None),
    (
        'OLD = "x = f(a)"\nNEW = "x = g(a)"\ns.replace(OLD, NEW)\n',
        'OLD = "x = f(a, b)"\nNEW = "x = g(a, b)"\ns.replace(OLD, NEW)\n',
    ),
    ('OLD = "x = f(a)"\nOLD = "y"\ns.replace(OLD, "x = g(a)")\n', None),
    ('s.replace("x = f(a)", ours)\n', None),
    ('s.replace("x = f(a)", "")\n', None),
    ('ANCHOR = "x = f(a)"\n', None),
]


@pytest.mark.parametrize(("text", "wanted"), EDITED)
def test_what_is_searched_for_and_what_is_put_there_follow_upstream(text: str, wanted: str | None) -> None:
    assert exchange_text(text, NewText("x = f(a)", "x = f(a, b)")) == wanted
