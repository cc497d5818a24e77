"""One tool: a plain function that returns an `Answer`, and what an agent is told about it."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from layline.app.workspace import Workspace, open_workspace
from layline.core.report import Answer
from layline.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class Does:
    """What a tool may do, said honestly. No tool opens a connection."""

    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False


READS = Does(reads_only=True, repeatable=True)
"""Writes nothing but Layline's own cache."""
WRITES = Does(repeatable=True)
"""Writes files of its own, in place; what others wrote is refused."""
ADDS = Does()
"""Appends to a record that only grows; twice is two entries."""
ACTS = Does(destroys=True)
"""Changes the user's repository: accepts or rolls back an edit."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a server was started with; every call opens the workspace anew, so edits are seen."""

    config: Path | None
    today: date | None = None
    """Pinned by tests; None asks the clock."""

    def workspace(self, at: str = "HEAD") -> Workspace:
        return open_workspace(self.config, at=at)

    def day(self, text: str | None = None) -> date:
        if text is None:
            return self.today or datetime.now(UTC).date()
        try:
            return date.fromisoformat(text)
        except ValueError:
            raise Error(f"{text!r} is not a date.", hint="Write YYYY-MM-DD.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The function takes the session, a `Progress` and, by keyword, what the agent fills in."""

    function: Callable[..., Answer]
    does: Does
    of: str | None = None
    """The list of the answer that is paged; default: its longest."""
    paged: bool = True
    limit: int = 50

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def inputs(self) -> list[inspect.Parameter]:
        """What the agent fills in, with types that are real types."""
        hints = typing.get_type_hints(self.function)
        own = [item for item in inspect.signature(self.function).parameters.values() if item.kind is item.KEYWORD_ONLY]
        found = [item.replace(annotation=hints[item.name]) for item in own]
        if self.paged:
            found += [_input("offset", 0), _input("limit", self.limit)]
        return found


def _input(name: str, default: int) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=int)
