"""The definitions of a file around given words, parsed alone: most of a large file is not what one looks for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from layline.core.evidence import Skipped
from layline.source.definitions import ROW_FIRST, ROW_KIND, ROW_LAST, Module
from layline.source.parsing import parse_tree

_WITH_BODY = (0, 1)
"""Functions and classes, as `parsing` numbers kinds."""


def parse_around(data: bytes, module: Module, words: re.Pattern[bytes]) -> list[tuple[ast.Module, int]] | Skipped:
    """Syntax trees that together hold every statement with one of the words, each with what its line numbers lack.

    Whole functions and classes are cut out by the lines that the index has of them; where a word stands outside any, or
    lines and names may be written in another way than they are counted, the whole file is parsed.
    """
    spans = find_spans(data, module, words)
    cut = list(_parse_spans(data.decode("utf-8-sig").split("\n"), spans)) if spans is not None else [None]
    parts = [item for item in cut if item is not None]
    if len(parts) == len(cut):
        return parts
    whole = parse_tree("", data)
    return whole if isinstance(whole, Skipped) else [(whole, 0)]


def find_around(data: bytes, module: Module, words: re.Pattern[bytes]) -> Iterator[ast.Module]:
    """The same trees, the smallest first, each parsed when it is asked for: the first mostly answers."""
    spans = find_spans(data, module, words)
    lines = data.decode("utf-8-sig").split("\n") if spans is not None else []
    for item in _parse_spans(lines, sorted(spans, key=lambda span: span[1] - span[0])) if spans is not None else [None]:
        if item is not None:
            yield item[0]
            continue
        whole = parse_tree("", data)
        if not isinstance(whole, Skipped):
            yield whole
        return


def find_spans(data: bytes, module: Module, words: re.Pattern[bytes]) -> list[tuple[int, int]] | None:
    """First and last lines of the definitions that hold a word, none inside another; None where that is not enough."""
    if b"\r" in data or not _has_plain_names(data):
        return None
    known = sorted(
        (row[ROW_LAST] - row[ROW_FIRST], row[ROW_FIRST], row[ROW_LAST])
        for row in module.rows
        if row[ROW_KIND] in _WITH_BODY
    )
    found: set[tuple[int, int]] = set()
    for line in _find_lines(data, words):
        around = next(((first, last) for _, first, last in known if first <= line <= last), None)
        if around is None:
            return None
        found.add(around)
    return [
        one
        for one in sorted(found)
        if not any(other != one and other[0] <= one[0] and one[1] <= other[1] for other in found)
    ]


def _find_lines(data: bytes, words: re.Pattern[bytes]) -> Iterator[int]:
    line, place = 1, 0
    for match in words.finditer(data):
        line += data.count(b"\n", place, match.start())
        place = match.start()
        yield line


def _has_plain_names(data: bytes) -> bool:
    """False if a name may be spelled with letters that Python reads as others (`ｆ` is `f`)."""
    if data.isascii():
        return True
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return not any(f"a{character}".isidentifier() for character in set(text) if not character.isascii())


def _parse_spans(lines: list[str], spans: Iterable[tuple[int, int]]) -> Iterator[tuple[ast.Module, int] | None]:
    for first, last in spans:
        cut = "\n".join(lines[first - 1 : last])
        # under an `if` a block can be parsed as it is indented
        nested = cut[:1].isspace()
        tree = parse_tree("", (f"if 1:\n{cut}\n" if nested else cut).encode("utf-8", "surrogatepass"))
        yield None if isinstance(tree, Skipped) else (tree, first - 2 if nested else first - 1)
