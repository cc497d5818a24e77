"""How alike two pieces of code are, over normalised syntax trees: 0 nothing in common, 1 the same."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from layline.source.fingerprint import normalise, strip_docstring

_GRAM = 4
SMALL = 40
"""Trees of fewer words than this are alike by chance."""

Shingles = Counter[tuple[str, ...]]


def read_shingles(node: ast.stmt) -> Shingles:
    """All runs of four words of the normalised body; the name and signature of the outermost definition do not
    count.
    """
    words: list[str] = []
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            for item in strip_docstring(body):
                normalise(item, words)
        case ast.Assign(value=value):
            normalise(value, words)
        case _:
            normalise(node, words)
    grams = zip(*(words[start:] for start in range(_GRAM)), strict=False)
    return Counter(grams) if len(words) >= _GRAM else Counter([tuple(words)])


def count_shared(one: Shingles, two: Shingles) -> int:
    """Runs that both have, repeats counted: the size of `one & two` without making it."""
    fewer, more = (one, two) if len(one) <= len(two) else (two, one)
    find = more.get
    return sum(min(number, find(gram, 0)) for gram, number in fewer.items() if gram in more)


def compare_shingles(one: Shingles, two: Shingles) -> float:
    """Shared runs over all runs (Jaccard, counting repeats)."""
    return compare_counts(count_shared(one, two), one, two)


def compare_counts(shared: int, one: Shingles, two: Shingles) -> float:
    """The same where the shared runs are counted already."""
    total = one.total() + two.total() - shared
    return shared / total if total else 1.0


def share_kept(one: Shingles, two: Shingles) -> float:
    """How much of `one` is found in `two`: near 1 when `two` grew out of it."""
    return share_count(count_shared(one, two), one)


def share_count(shared: int, one: Shingles) -> float:
    total = one.total()
    return shared / total if total else 1.0


def compare_lines(one: str, two: str) -> float:
    """How much of the larger text is in the other, by lines of code; short texts are alike by chance."""
    first, second = (
        Counter(line for text in source.splitlines() if (line := text.strip()) and not line.startswith("#"))
        for source in (one, two)
    )
    larger, smaller = max(first.total(), second.total()), min(first.total(), second.total())
    return (first & second).total() / larger if smaller >= SMALL else 0.0


def compare_names(one: Iterable[str], two: Iterable[str]) -> float:
    first, second = set(one), set(two)
    return len(first & second) / len(first | second) if first | second else 1.0
