"""`fleet` and `impact`: every project of an organisation, and what one upstream commit breaks in them."""

from __future__ import annotations

from pathlib import Path

from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.upgrade.fleet import build_fleet_answer, find_members
from layline.upgrade.impact import build_impact_answer, find_hits


def fleet(file: Path, *, progress: Progress = silent) -> Answer:
    """Ask every backend of every project; what cannot be read is said, and the others are answered."""
    return build_fleet_answer(*find_members(file, progress))


def impact(ref: str, fleet: Path, *, progress: Progress = silent) -> Answer:
    """Judge the commit against its first parent (or B against A for `A..B`) in every project that has it."""
    return build_impact_answer(ref, *find_hits(ref, fleet, progress))
