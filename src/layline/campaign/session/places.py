"""Where campaigns live in a project, and the clock they are dated with."""

from __future__ import annotations

from datetime import UTC, datetime

WORKSPACE = "agent/workspace"
LESSONS = "agent/historical_experience"


def clock() -> str:
    """The current minute in UTC: the only place of a campaign that reads a clock."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def quiet(_said: str) -> None:
    """No progress shown."""
