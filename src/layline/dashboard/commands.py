"""Where the figures of a record can be checked: the page that shows them, and the command that counts them again."""

from __future__ import annotations

import shlex
from urllib.parse import quote, urlsplit

from layline.core.records import TimeWindow

_HOST = "github.com"


def audit_command(file: str) -> str:
    """Holds every field of a record against git, whoever wrote it."""
    return f"layline gap audit {shlex.quote(file)}"


def verify_command(file: str) -> str:
    """Counts every fact of a gap record again from its evidence file."""
    return f"layline gap verify {shlex.quote(file)}"


def merged_link(repository: str | None, window: TimeWindow) -> str | None:
    """The forge's own list of what was merged in a window; only GitHub's way of asking is known."""
    if repository is None or urlsplit(repository).hostname != _HOST:
        return None
    asked = f"is:pr is:merged merged:{window.start}..{window.end}"
    return f"{repository.removesuffix('/').removesuffix('.git')}/pulls?q={quote(asked, safe='')}"
