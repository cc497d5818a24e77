"""`layline upgrade plan|apply|check`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.complete import backend_argument
from layline.cli.group import group
from layline.cli.show import at_option, config_option, format_option, show, worktree_option


@group()
def upgrade() -> None:
    """What does moving a pin take, and does everything fit afterwards?"""


@upgrade.command("check")
@backend_argument
@at_option
@worktree_option
@click.option("--pin", default=None, metavar="REF", help="Upstream commit to check against; default: the pin.")
@click.option("--limit", type=click.IntRange(min=1), default=None, help="Show at most so many places.")
@format_option("text", "json", "md", "sarif", "github")
@config_option
def upgrade_check(
    backend: str | None,
    at: str,
    worktree: bool,
    pin: str | None,
    limit: int | None,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Check every import, target, call and anchor of ours against the pin.

    Nothing is compared with an older commit: each place fits that upstream tree or it does not. Exit 1 if one does not.
    """
    from layline.app.upgrade_check import upgrade_check as answer_check
    from layline.app.workspace import open_workspace
    from layline.cli.progress import show_progress

    workspace = open_workspace(config, at=at, worktree=worktree)
    key = workspace.settings.choose(backend)
    with show_progress() as progress:
        answer = answer_check(workspace, key, pin=pin, progress=progress)
    return show(answer, format_, output, limit=limit)
