"""Texts that are searched again and again."""

from __future__ import annotations

import pytest

from layline.source.packed import PackedTexts

TEXT = 'def go_fast(x):\n    """Größe."""\n    return x.speed["limit"]\n'.encode()


@pytest.mark.parametrize(
    ("words", "held"),
    [
        (["go_fast"], True),
        (["fast"], True),  # part of a word, as `in` finds it
        (["Größe"], True),
        (["limit", "absent"], True),
        (["absent"], False),
        (["fastx"], False),
        ([], False),
    ],
)
def test_a_text_is_told_by_its_words(words: list[str], held: bool) -> None:
    texts = PackedTexts()
    texts.put("a", TEXT)
    plain = [word.encode() for word in words]
    assert texts.holds("a", plain) is held is any(word in TEXT for word in plain)
    assert "a" in texts
    assert texts.read("a") == TEXT
