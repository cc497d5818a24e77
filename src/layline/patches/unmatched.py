"""What to say where filters leave nothing: which of them fits no row, and what may be meant."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.patches.wanted import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from layline.patches.wanted import Wanted


def say_unmatched(
    wanted: Wanted, paths: Iterable[str], targets: Iterable[str], fits: Callable[[Wanted], bool]
) -> Iterator[str]:
    """Lines about the filters; `fits`: whether any row passes these alone."""
    asked = (
        ("--path", "path", wanted.path, replace(ALL, path=wanted.path), paths, "/"),
        ("--target", "target", wanted.target, replace(ALL, target=wanted.target), targets, "."),
    )
    told = False
    for option, noun, text, alone, names, mark in asked:
        if text is None or fits(alone):
            continue
        near = _find_near(text, names, mark)
        yield f"{option} {text}: no {noun} here has this text.{f' Did you mean {near}?' if near else ''}"
        told = True
    if not told:
        yield "No row passes all filters."


def _find_near(text: str, names: Iterable[str], mark: str) -> str | None:
    """The name, or the part of one, that is spelled most like the text."""
    known = {part for name in names for part in (name, *name.split(mark))}
    near = difflib.get_close_matches(text, sorted(known), n=1, cutoff=0.7)
    return near[0] if near else None
