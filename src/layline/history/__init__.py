"""What happened between two commits: counts, dates, pull requests, diffs, tags, pins over time."""

from layline.history.changes import Diff, FileChange, read_diff
from layline.history.commits import (
    Distance,
    compare_commits,
    count_commits,
    find_tip_at,
    read_bodies,
    read_commit,
    read_commits,
    read_line_log,
    read_log,
    say_count,
)
from layline.history.pins import PinnedCommit, find_pin_moves, read_pin
from layline.history.tags import find_other_tags, find_releases, is_version, nearest_tag
from layline.history.touched import read_touched_files

__all__ = [
    "Diff",
    "Distance",
    "FileChange",
    "PinnedCommit",
    "compare_commits",
    "count_commits",
    "find_other_tags",
    "find_pin_moves",
    "find_releases",
    "find_tip_at",
    "is_version",
    "nearest_tag",
    "read_bodies",
    "read_commit",
    "read_commits",
    "read_diff",
    "read_line_log",
    "read_log",
    "read_pin",
    "read_touched_files",
    "say_count",
]
