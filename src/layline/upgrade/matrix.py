"""Each patch against many upstream commits: from the answer for each commit to rows, first breaks and usable refs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from layline.core.evidence import Location
from layline.core.revision import Commit
from layline.upgrade.refs import Ref


class Fit(StrEnum):
    """How one patch does at one commit."""

    OK = "ok"
    LOOK = "look"
    BREAKS = "breaks"
    ABSENT = "absent"
    """The module of its target does not exist there."""

    @property
    def letter(self) -> str:
        return {"ok": "·", "look": "?", "breaks": "X", "absent": "-"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One effect at one commit."""

    effect: str
    patch: str
    target: str
    location: Location
    fit: Fit
    broken: bool = False
    """It breaks there; so does one whose module is absent, where it was there at the pin."""
    culprit: Commit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One effect at every commit."""

    patch: str
    target: str
    location: Location
    cells: tuple[Fit, ...]
    first_break: Ref | None
    """The first of those behind the pin at which it breaks."""
    culprit: Commit | None
    broken: tuple[bool, ...]
    """At which commits it breaks; one whose module is absent does where the pin has that module."""
    needs_after: Ref | None = None
    """The last of those that are not behind the pin at which it breaks: older code, or another branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    refs: tuple[Ref, ...]
    rows: tuple[Row, ...]
    elsewhere: tuple[tuple[Location, ...], ...]
    """Of each ref: places outside patches that break there."""
    failing: tuple[int, ...] = ()
    """Of each ref: places of ours that fail there as they do at the pin."""
    asked: int = 0
    """How many refs were meant; of many only some are judged."""

    def find_broken(self, number: int) -> set[Location]:
        """The lines of ours that break at that commit, in patches and outside."""
        return {row.location for row in self.rows if row.broken[number]} | set(self.elsewhere[number])

    @property
    def usable(self) -> tuple[Ref, ...]:
        """Where nothing breaks and nothing is absent: the downstream could be used with them as it is."""
        bad = {Fit.BREAKS, Fit.ABSENT}
        return tuple(
            ref
            for number, ref in enumerate(self.refs)
            if not self.elsewhere[number] and not any(row.cells[number] in bad for row in self.rows)
        )


def build_matrix(
    refs: Sequence[Ref],
    answers: Sequence[Sequence[Cell]],
    elsewhere: Sequence[tuple[Location, ...]],
    behind: Sequence[bool],
) -> Matrix:
    """Rows in the order of the first answer; an effect that an answer does not have is fine there.

    `behind`: whether the pin is in the history of a ref; only there something can have broken since.
    """
    found: dict[str, list[Cell | None]] = {}
    for number, cells in enumerate(answers):
        for cell in cells:
            found.setdefault(cell.effect, [None] * len(refs))[number] = cell
    rows = tuple(_build_row(refs, cells, behind) for cells in found.values())
    return Matrix(refs=tuple(refs), rows=rows, elsewhere=tuple(elsewhere))


def _build_row(refs: Sequence[Ref], cells: Sequence[Cell | None], behind: Sequence[bool]) -> Row:
    some = next(cell for cell in cells if cell is not None)
    broken = [number for number, cell in enumerate(cells) if cell is not None and cell.broken]
    first = next((number for number in broken if behind[number]), None)
    older = [number for number in broken if not behind[number]]
    worst = cells[first] if first is not None else None
    return Row(
        patch=some.patch,
        target=some.target,
        location=some.location,
        cells=tuple(cell.fit if cell is not None else Fit.OK for cell in cells),
        first_break=refs[first] if first is not None else None,
        culprit=worst.culprit if worst is not None else None,
        needs_after=refs[older[-1]] if older else None,
        broken=tuple(cell is not None and cell.broken for cell in cells),
    )
