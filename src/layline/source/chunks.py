"""A file cut into the definitions that it holds, each with the lines of its own.

A word that is looked for stands in some definitions. While these say the same, a change elsewhere in the file says
nothing about it, unless lines are told.
"""

from __future__ import annotations

from dataclasses import dataclass

from layline.source.definitions import ROW_FIRST, ROW_KIND, ROW_LAST, ROW_QUALNAME, Module
from layline.source.stars import split_words

_WITH_BODY = (0, 1)
"""Functions and classes, as `parsing` numbers kinds."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The lines of one definition, without those of the definitions in it; of the file for what stands in none."""

    qualname: str
    text: str
    words: frozenset[bytes]


def cut_chunks(data: bytes, module: Module | None, known: dict[bytes, bytes]) -> tuple[Chunk, ...]:
    """In the order in which they begin; one for the whole of a file whose lines cannot be told apart. `known`: words
    that chunks share.
    """
    text = data.decode("utf-8-sig", "replace")
    if module is None or "\r" in text or "\f" in text:
        return (_make("", [text], known),)
    lines = text.split("\n")
    rows = [row for row in module.rows if row[ROW_KIND] in _WITH_BODY]
    rows.sort(key=lambda row: (row[ROW_FIRST], -row[ROW_LAST]))
    owners = [-1] * len(lines)
    for number, row in enumerate(rows):  # inner ones begin later
        first, last = row[ROW_FIRST] - 1, min(row[ROW_LAST], len(lines))
        owners[first:last] = [number] * (last - first)
    held: dict[int, list[str]] = {}
    for owner, line in zip(owners, lines, strict=True):
        held.setdefault(owner, []).append(line)
    return tuple(_make(str(rows[one][ROW_QUALNAME]) if one >= 0 else "", held[one], known) for one in sorted(held))


def _make(qualname: str, lines: list[str], known: dict[bytes, bytes]) -> Chunk:
    text = "\n".join(lines)
    words = set(split_words(text.encode("utf-8", "surrogatepass")))
    return Chunk(qualname, text, frozenset(known.setdefault(word, word) for word in words))
