"""Where somebody's word is found, and where only its letters are."""

from __future__ import annotations

import pytest

from layline.core.word import Word


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("MoE", "fused_moe/layer.py"),
        ("moe", "class MoELayer"),
        ("moe", "DeepSeekMoE"),
        ("deep_ep", "DeepEP"),
        ("DeepEP", "enable deep-ep for dispatch"),
        ("parallel.crew", "keel.parallel.crew_size"),
        ("use turbo", "use_turbo_deepep"),
    ],
)
def test_a_word_is_found_however_it_is_spelt(word: str, text: str) -> None:
    assert Word(word).stands_in(text)


@pytest.mark.parametrize(
    ("word", "text"), [("moe", "demo/example.py"), ("moe", "memo even"), ("rope", "mirror/open.py"), ("moe", "")]
)
def test_letters_of_two_words_are_not_a_word(word: str, text: str) -> None:
    assert not Word(word).stands_in(text)
