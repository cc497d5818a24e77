"""`layline patches trace`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.complete import backend_option
from layline.cli.group import command
from layline.cli.progress import show_progress
from layline.cli.show import at_option, config_option, format_option, show, worktree_option


@command("trace")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND")
@backend_option
@at_option
@worktree_option
@format_option("text", "json", "md")
@config_option
def patches_trace(
    words: tuple[str, ...],
    backend: str | None,
    at: str,
    worktree: bool,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Run COMMAND and compare what it really patches with the list.

    This is the only command that runs your code: in your environment, with your rights. Every rebinding of an upstream
    module or class is noted; exit 1 if one is not in the list, or COMMAND fails.
    """
    from layline.app.patches_read import patches_trace as trace
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at, worktree=worktree)
    key = workspace.settings.choose(backend) if backend else None
    with show_progress() as progress:
        answer = trace(workspace, words, key, progress=progress)
    return show(answer, format_, output)
