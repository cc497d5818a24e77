"""Texts that are searched again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from histories import History
from layline.git import Blob, open_repository
from layline.source import Part, Tree, build_index, open_cache
from layline.source.cache import Cache
from layline.source.index import ModuleEntry
from layline.source.packed import WORDS, PackedTexts

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


def test_words_are_kept_and_only_texts_that_hold_them_are_read_again(empty_cache: Path) -> None:
    first = PackedTexts(Cache(empty_cache, WORDS))
    assert first.find_unknown(["a", "b"]) == ["a", "b"]
    first.put("a", TEXT)
    first.save()
    again = PackedTexts(Cache(empty_cache, WORDS))
    assert again.find_unknown(["a", "b"]) == ["b"]
    assert again.holds("a", ["Größe".encode()])
    assert not again.holds("a", [b"absent"])
    assert not again.holds("b", [b"fast"])
    assert "a" not in again
    again.put("a", TEXT)
    assert again.read("a") == TEXT


def test_a_search_reads_no_file_that_was_searched_before_in_vain(tmp_path: Path, empty_cache: Path) -> None:
    history = History.start(tmp_path / "up")
    history.commit("one", {"up/a.py": "fast = 1\n", "up/b.py": "slow = 1\n", "up/c.py": "fast = 1\n"})
    parts = [Part(tree=Tree(open_repository(history.path), history.commits[-1]), packages=("up",))]

    def search(word: str) -> tuple[list[str], list[str]]:
        index, read = build_index(parts, open_cache()), list[str]()
        stream = index.stream_blobs

        def note(entries: Iterable[ModuleEntry]) -> Iterator[Blob | str]:
            listed = list(entries)
            read.extend(one.name for one in listed)
            return stream(listed)

        index.stream_blobs = note  # type: ignore[method-assign]
        return [name for name, _ in index.read_all([word])], read

    assert search("fast") == (["up.a", "up.c"], ["up.a", "up.b"])  # two have one blob
    assert search("fast") == (["up.a", "up.c"], ["up.a"])
    assert search("slow") == (["up.b"], ["up.b"])
    assert search("none") == ([], [])
