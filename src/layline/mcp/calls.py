"""Running an app function for an agent: off the event loop, with progress, with the CLI's own error sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio.from_thread
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from layline.app.workspace import Workspace, open_workspace
from layline.core.progress import Progress
from layline.core.report import Answer
from layline.errors import Error
from layline.mcp.paging import Packed, pack

Job = Callable[[Progress], Answer]


@dataclass(frozen=True, slots=True)
class Session:
    """What a server was started with; every tool call opens the workspace anew, so edits are seen."""

    config: Path | None
    today: date | None = None
    """Pinned by tests; None asks the clock."""

    def workspace(self, at: str = "HEAD") -> Workspace:
        return open_workspace(self.config, at=at)

    def day(self, text: str | None) -> date:
        if text is None:
            return self.today or datetime.now(UTC).date()
        try:
            return date.fromisoformat(text)
        except ValueError:
            raise Error(f"{text!r} is not a date.", hint="Write YYYY-MM-DD.") from None


async def answer(
    context: Context[Any, Any], job: Job, *, of: str | None = None, offset: int = 0, limit: int = 50
) -> Packed:
    """Run a job in a thread; the second error boundary."""

    def report(what: str, done: int, total: int) -> None:
        anyio.from_thread.run(partial(context.report_progress, done, total or None, what))

    try:
        found = await anyio.to_thread.run_sync(job, report, abandon_on_cancel=True)
    except Error as error:
        raise ToolError(f"{error.message} Hint: {error.hint}" if error.hint else error.message) from None
    except (anyio.get_cancelled_exc_class(), ToolError):
        raise
    except Exception as error:
        raise ToolError(f"layline has a bug: {type(error).__name__}: {error}") from error
    return pack(found, of=of, offset=max(offset, 0), limit=min(max(limit, 1), 500))
