"""Edits of ours that follow no name: a parameter handed on or called otherwise, a text that we search for."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from layline.upgrade.parameters import pass_parameter
from layline.upgrade.renamed import Renamed, rename_parameters
from layline.upgrade.texts import NewText, exchange_text
from layline.upgrade.values import MendKind


@dataclass(frozen=True, slots=True)
class Handed:
    """New optional parameters of upstream's, and the function of ours that can hand them on."""

    line: int
    """Of its `def`."""
    parameters: tuple[tuple[str, str], ...]
    """Name and default."""
    originals: frozenset[str] = frozenset()
    """What it calls upstream's function by."""


Change = Handed | Renamed | NewText


def kind_of(change: Change) -> MendKind:
    match change:
        case Handed():
            return MendKind.PARAMETER_PASSED
        case Renamed():
            return MendKind.PARAMETER_RENAMED
        case NewText():
            return MendKind.ANCHOR_UPDATED


def say_change(change: Change) -> str:
    match change:
        case Handed(parameters=parameters):
            return f"takes {', '.join(f'{name}={default}' for name, default in parameters)} and passes it on"
        case Renamed(names=names):
            told = ", ".join(f"{old} → {new}" for old, new in names)
            return f"upstream renamed the parameter: {told}"
        case NewText():
            return "upstream changed this text in one place, and our text has that place only once"


def carry_out(change: Change, original: str, text: str) -> str:
    """The file with the change made, or as it is where that is unclear; lines of a change are those of `original`."""
    match change:
        case Handed(parameters=parameters, originals=originals):
            for name, default in parameters:
                line = map_line(original, text, change.line)
                text = pass_parameter(text, line, name, default, originals) or text
            return text
        case Renamed():
            moved = replace(change, line=map_line(original, text, change.line))
            return rename_parameters(text, moved) or text
        case NewText():
            return exchange_text(text, change) or text


def map_line(before: str, after: str, line: int) -> int:
    """Where a line of the old text stands in the new one."""
    old, new = before.split("\n"), after.split("\n")
    for _, low, high, start, end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if low < line <= high:
            return start + (line - low) if high - low == end - start else start + 1
    return line
