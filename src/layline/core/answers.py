"""What answers share as JSON. Each room declares its own answers beside it (`answers.py`); `app.schema` publishes them.

A field may be added to an answer, never renamed or removed. The declarations are for type checkers and for `layline
schema`: nobody imports them to answer a question.
"""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class Skipped(TypedDict):
    """What could not be read."""

    what: str
    why: str


class Place(TypedDict):
    """Where a fact was read."""

    repo: str
    commit: str
    path: str | None
    lines: list[int] | None
    link: str | None


class NamedCommit(TypedDict):
    """A commit of upstream that is to blame."""

    commit: str
    date: str
    pull_request: int | None
    subject: str


class OfCommit(TypedDict):
    """An answer about a commit; there may be edits that it does not know."""

    uncommitted: NotRequired[list[str]]
    worktree: NotRequired[bool]
    pin_guessed: NotRequired[bool]
    """`init` guessed the pin: no file of the project names one."""
