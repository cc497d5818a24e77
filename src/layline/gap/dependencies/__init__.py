"""What an upstream needs to be installed and run, by rank of evidence, at two commits."""

from layline.gap.dependencies.compare import Change, Difference, compare_declarations
from layline.gap.dependencies.conflicts import Conflict, find_conflicts
from layline.gap.dependencies.model import Declaration, Kind, LockedSet, Rank, Unread
from layline.gap.dependencies.reading import Declarations, read_declarations

__all__ = [
    "Change",
    "Conflict",
    "Declaration",
    "Declarations",
    "Difference",
    "Kind",
    "LockedSet",
    "Rank",
    "Unread",
    "compare_declarations",
    "find_conflicts",
    "read_declarations",
]
