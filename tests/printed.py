"""Where the words of a PDF stand, measured on the finished pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class Word:
    """A run of characters without a space, with its box in points."""

    page: int
    text: str
    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Word, by: float = 0.5) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.top, other.top) - max(self.bottom, other.bottom)
        return across > by and down > by


def read_words(pdf: bytes) -> tuple[Word, ...]:
    """Every word of every page, from the outlines of its glyphs."""
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    document = pdfium.PdfDocument(pdf)
    return tuple(word for number, page in enumerate(document, 1) for word in _read_page(number, page.get_textpage()))


def find_overlaps(words: tuple[Word, ...]) -> list[tuple[str, str]]:
    """Pairs of words that are printed over one another."""
    pages = {word.page for word in words}
    return [
        (one.text, other.text)
        for page in sorted(pages)
        for one, other in combinations([word for word in words if word.page == page], 2)
        if one.overlaps(other)
    ]


def find_outside(words: tuple[Word, ...], left: float, right: float) -> list[str]:
    """Words that reach beyond the margins (in points)."""
    return [word.text for word in words if word.left < left - 0.5 or word.right > right + 0.5]


def _read_page(number: int, page: Any) -> Iterator[Word]:
    boxes: list[tuple[float, float, float, float]] = []
    letters = ""
    for index in range(page.count_chars()):
        letter = page.get_text_range(index, 1)
        box = page.get_charbox(index)
        jumped = bool(boxes) and not _follows(boxes[-1], box)
        if letters and (not letter.strip() or jumped):
            yield _join(number, letters, boxes)
            letters, boxes = "", []
        if letter.strip() and box[2] > box[0]:
            letters += letter
            boxes.append(box)
    if letters:
        yield _join(number, letters, boxes)


def _follows(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether a glyph continues a word: beside the last one on its line, or a part of the same ligature."""
    same_line = min(one[3], other[3]) - max(one[1], other[1]) > -4
    return same_line and (one[0] <= other[0] < one[2] + 4 and other[2] >= one[2] - 0.1)


def _join(number: int, letters: str, boxes: list[tuple[float, float, float, float]]) -> Word:
    return Word(
        number,
        letters,
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
