"""What happened between two commits: counts, dates, pull requests, diffs, tags, pins over time."""
