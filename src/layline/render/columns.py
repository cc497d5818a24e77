"""How wide the columns of a printed table are, and where its words may break, so that no cell leaves its column.

Widths are in ems of the table's own text, estimated from the letters: an estimate that is a little too wide costs a
line
break, one that is too narrow prints one word over another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SEAMS = re.compile(r"(?<=[/._\-:,=(\[])(?=\w)|(?<=[a-z0-9])(?=[A-Z])")
"""Where a name may break without a hyphen."""
_JOINTS = re.compile(r"(?<=[/,=(\[])(?=\w)|(?<=\.)(?!\w{1,4}(?:[:#]|\Z))(?=\w)")
"""Where a name breaks first: between the parts of a path or an address, never before an ending such as `.py`."""
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]"), frozenset("mwMW@%—…→")
_MONO_EM = 0.5
"""A letter of code, whose face is set smaller than the text."""
_PADDING_EM = 1.25
_PIECES_EM = (12.0, 9.0, 7.0, 5.5, 4.0, 3.0, 2.0)
"""How wide a piece may be that stays together, the most generous first."""
_WHOLE_EM = 14.0
"""A part of a path that is no wider stays together wherever it fits."""
_WANTED_EM = 60.0
"""No column asks for more than this while others are short of room."""


@dataclass(frozen=True, slots=True)
class Run:
    """Words of one cell in one face."""

    text: str
    mono: bool = False


Cell = Sequence[Run]


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns in ems, and how much smaller the text must be set for all of them to stand on the page."""

    widths: tuple[float, ...]
    scale: float

    def room(self, column: int) -> float:
        """Ems that a column has between its paddings."""
        return self.widths[column] - _PADDING_EM


def width_of(text: str, *, mono: bool = False) -> float:
    """An upper estimate of the width of a text, in ems."""
    if mono:
        return _MONO_EM * len(text)
    return sum(map(_letter, text))


def split_pieces(text: str, room: float, *, mono: bool = False) -> Iterator[str]:
    """Yields a text without spaces in pieces that may stand on lines of their own, each as wide as `room` at most."""
    for part in _JOINTS.split(text):
        whole = width_of(part, mono=mono) <= min(room, _WHOLE_EM)
        for seam in [part] if whole else _SEAMS.split(part):
            yield from _cut(seam, room, mono=mono)


def _cut(text: str, room: float, *, mono: bool) -> Iterator[str]:
    piece = ""
    for letter in text:
        if piece and width_of(piece + letter, mono=mono) > room:
            yield piece
            piece = ""
        piece += letter
    if piece:
        yield piece


def lay_out(rows: Sequence[Sequence[Cell]], room: float) -> Layout:
    """Widths for a table that has `room` ems: what must stay together first, the rest by how much there is to read."""
    count = max(map(len, rows), default=0)
    wanted = [_typical([_longest(row[column]) for row in rows if column < len(row)]) for column in range(count)]
    for most in _PIECES_EM:
        needed = [
            max((_unbroken(row[column], most) for row in rows if column < len(row)), default=0.0) + _PADDING_EM
            for column in range(count)
        ]
        if sum(needed) <= room:
            return Layout(_share(needed, wanted, room), 1.0)
    scale = room / sum(needed) if needed else 1.0
    return Layout(tuple(needed), scale)


def _share(needed: list[float], wanted: list[float], room: float) -> tuple[float, ...]:
    more = [max(min(want + _PADDING_EM, _WANTED_EM) - need, 0.0) for need, want in zip(needed, wanted, strict=True)]
    spare = room - sum(needed)
    total = sum(more) or 1.0
    given = [need + spare * want / total for need, want in zip(needed, more, strict=True)]
    return tuple(given) if sum(more) else tuple(need * room / sum(needed) for need in needed)


def _typical(widths: Sequence[float]) -> float:
    """What most rows of a column have to say: one long cell must not take the room of all others."""
    return max(sum(widths) / len(widths), sorted(widths)[len(widths) // 2]) if widths else 0.0


def _longest(cell: Cell) -> float:
    return sum(width_of(run.text, mono=run.mono) for run in cell)


def _unbroken(cell: Cell, most: float) -> float:
    """The widest piece of a cell that cannot be broken when names break at their seams and past `most` ems."""
    pieces = (
        (piece, run.mono)
        for run in cell
        for word in run.text.split()
        for piece in split_pieces(word, most, mono=run.mono)
    )
    return max((width_of(piece, mono=mono) for piece, mono in pieces), default=0.0)


def _letter(letter: str) -> float:
    if letter in _NARROW:
        return 0.36
    if letter in _WIDE or ord(letter) > 0x2E80:
        return 1.0
    return 0.76 if letter.isupper() else 0.57
