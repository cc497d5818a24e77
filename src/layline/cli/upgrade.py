"""`layline upgrade plan|apply|check`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.complete import backend_argument
from layline.cli.group import group
from layline.cli.show import at_option, config_option, format_option, show, to_option, worktree_option


@group()
def upgrade() -> None:
    """Plan a move of the pin, make the mechanical edits, check the result."""


@upgrade.command("plan")
@backend_argument
@to_option
@click.option("--safe", is_flag=True, help="Stop before the first commit that breaks a place of ours.")
@at_option
@format_option("text", "json", "md")
@config_option
def upgrade_plan(
    backend: str | None,
    to: str | None,
    safe: bool,
    at: str,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Plan the steps from the pin to another upstream commit.

    Each step ends at a commit that breaks places of ours, with the edits that are proven and those a person must make.
    """
    from layline.app.upgrade import upgrade_plan as answer_plan
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    if safe and to is not None:
        raise click.UsageError("Use --to or --safe, not both.")
    workspace = open_workspace(config, at=at)
    key = workspace.settings.choose(backend)
    with show_progress() as progress:
        answer = answer_plan(workspace, key, to=to, safe=safe, progress=progress)
    return show(answer, format_, output)


@upgrade.command("apply")
@backend_argument
@to_option
@click.option("--step", type=click.IntRange(min=1), default=None, help="Stop after this step; default: the last.")
@click.option("--branch", default=None, help="Branch to write; default: layline/upgrade-BACKEND.")
@click.option("--test", default=None, metavar="COMMAND", help="Run this in a copy of each step's files.")
@format_option("text", "json", "md")
@config_option
def upgrade_apply(
    backend: str | None,
    to: str | None,
    step: int | None,
    branch: str | None,
    test: str | None,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Commit the mechanical edits of a plan to a new branch.

    One commit for each culprit moves the pin and makes its edits; an interrupted run goes on where it stopped. The
    current branch, its files and hooks are not touched. Exit 1 if something is left for a person.
    """
    from layline.app.upgrade import upgrade_apply as answer_apply
    from layline.cli.progress import show_progress
    from layline.upgrade.apply import ApplyOptions
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config)
    key = workspace.settings.choose(backend)
    options = ApplyOptions(to=to, step=step, branch=branch, test=test)
    with show_progress() as progress:
        answer = answer_apply(workspace, key, options, progress)
    return show(answer, format_, output)


@upgrade.command("check")
@backend_argument
@at_option
@worktree_option
@click.option("--pin", default=None, metavar="REF", help="Upstream commit to check against; default: the pin.")
@click.option("--limit", type=click.IntRange(min=1), default=None, help="Show at most this many places.")
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
    """Check that all places of ours fit the pin: imports, calls, patches.

    Each place fits that upstream tree or it does not. With --pin, places that `patches drift` finds broken at that
    commit count, too. Exit 1 if one does not fit.
    """
    from layline.app.upgrade_check import upgrade_check as answer_check
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at, worktree=worktree)
    key = workspace.settings.choose(backend)
    with show_progress() as progress:
        answer = answer_check(workspace, key, pin=pin, progress=progress)
    return show(answer, format_, output, limit=limit)
