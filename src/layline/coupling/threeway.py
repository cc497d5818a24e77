"""The three-way view of a replaced body: upstream then, upstream now, ours; and where both changed the same lines."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from layline.change.compare import Comparison
from layline.coupling.anchors import read_source
from layline.coupling.drift_model import Drift, Sides
from layline.source import Symbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A run of lines of upstream's old body that upstream changed since."""

    first: int
    last: int
    """Lines counted from 1 in upstream's old body; `last` < `first` for a pure insertion before `first`."""
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_conflict: bool
    """We changed the same lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeWay:
    """One replaced symbol seen from three sides; texts are dedented."""

    row: Drift
    then: str
    now: str
    ours: str
    is_copy: bool
    hunks: tuple[Hunk, ...]
    """What upstream did since the pin, in order."""


def build_three_way(row: Drift, sides: Sides) -> ThreeWay | None:
    """The view of one row; None where there is no upstream source or no replacement to show."""
    comparison, effect = row.comparison, row.effect
    if comparison is None or effect is None:
        return None
    then = textwrap.dedent(read_source(sides.pin, comparison.before))
    now = textwrap.dedent(read_source(sides.tip, _symbol_now(comparison, sides)))
    replacement = sides.replacements.read(effect.replacement_at)
    ours = textwrap.dedent(replacement.text) + "\n" if replacement is not None else ""
    if not then and not ours:
        return None
    is_copy = row.copied is not None
    return ThreeWay(
        row=row,
        then=then,
        now=now,
        ours=ours,
        is_copy=is_copy,
        hunks=tuple(_find_hunks(then, now, ours if is_copy else then)),
    )


def _symbol_now(comparison: Comparison, sides: Sides) -> Symbol:
    if comparison.after.exists or comparison.new_home is None:
        return comparison.after
    return sides.tip.resolve(comparison.new_home)


def _find_hunks(then: str, now: str, ours: str) -> Iterator[Hunk]:
    old, new = then.splitlines(), now.splitlines()
    touched = [span for _, *span in _changes(old, ours.splitlines())]
    for _, start, end, low, high in _changes(old, new):
        conflict = any(_overlap((start, end), (mine[0], mine[1])) for mine in touched)
        yield Hunk(
            first=start + 1, last=end, removed=tuple(old[start:end]), added=tuple(new[low:high]), is_conflict=conflict
        )


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    yield from (code for code in matcher.get_opcodes() if code[0] != "equal")


def _overlap(one: tuple[int, int], two: tuple[int, int]) -> bool:
    """Half-open runs that share a line, or touch where one of them is an insertion."""
    if one[0] == one[1] or two[0] == two[1]:
        return one[0] <= two[1] and two[0] <= one[1]
    return one[0] < two[1] and two[0] < one[1]


def render_diff(before: str, after: str, names: tuple[str, str]) -> str:
    """A unified diff of two texts; empty where they are the same."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return "\n".join(lines)
