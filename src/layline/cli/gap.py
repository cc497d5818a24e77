"""`layline gap …`."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import click

from layline.cli.complete import backend_argument
from layline.cli.group import group
from layline.cli.show import (
    at_option,
    config_option,
    date_option,
    fetch_option,
    format_option,
    show,
    to_option,
    worktree_option,
)


@group()
def gap() -> None:
    """Show how far each pinned backend is behind its upstream."""


@gap.command("show")
@backend_argument
@click.option("--all", "every", is_flag=True, help="One line for each backend.")
@to_option
@at_option
@worktree_option
@click.option(
    "--evidence", is_flag=True, help="Show the command that reproduces each figure, and the rules it follows."
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="NAME>NUMBER",
    help="Exit with 1 when a figure is above a limit, e.g. 'behind>200'.",
)
@fetch_option
@date_option
@format_option("text", "json", "md")
@config_option
def gap_show(
    backend: str | None,
    every: bool,
    to: str | None,
    at: str,
    worktree: bool,
    evidence: bool,
    fail_on: tuple[str, ...],
    fetch: bool,
    today: date,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Show how far BACKEND is behind: commits, dates, versions, files.

    BACKEND is a key or label of layline.toml; it may be left out where only one is configured.
    """
    from layline.app import gap as app_gap
    from layline.workspace.open import fetch_backend, open_workspace

    if backend is not None and every:
        raise click.UsageError("Name one backend or use --all, not both.")
    workspace = open_workspace(config, at=at, worktree=worktree)
    chosen = workspace.settings.backends if every else (workspace.settings.choose(backend, or_else=", or use --all"),)
    for key in chosen if fetch else ():
        fetch_backend(workspace, key)
    if every:
        answer = app_gap.gap_show_all(workspace, to=to, today=today, fail_on=fail_on)
    else:
        answer = app_gap.gap_show(workspace, next(iter(chosen)), to=to, today=today, fail_on=fail_on)
    if not evidence:
        told = answer.report
        answer = replace(answer, report=replace(told, meta=told.meta[:1], sections=told.sections[:1]))
    return show(answer, format_, output)


@gap.command("find")
@click.argument("word")
@backend_argument
@to_option
@at_option
@fetch_option
@format_option("text", "json", "md")
@config_option
def gap_find(
    word: str,
    backend: str | None,
    to: str | None,
    at: str,
    fetch: bool,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Find what upstream did about WORD since the pin.

    It searches the titles of upstream's changes and the paths of the files they touch; for a name written as in code
    (save_every), also changes whose code adds or removes it. Changes that bring something new come first.
    """
    from layline.app.gap_find import gap_find as find
    from layline.workspace.open import fetch_backend, open_workspace

    workspace = open_workspace(config, at=at)
    if backend is not None and workspace.settings.knows(word) and not workspace.settings.knows(backend):
        word, backend = backend, word  # other commands take the backend first
    first = next(iter(workspace.settings.backends), "")
    key = workspace.settings.choose(backend, or_else=f", as in `layline gap find {word} {first}`")
    if fetch:
        fetch_backend(workspace, key)
    return show(find(workspace, key, word, to=to), format_, output)


gap.late = {
    "report": "layline.cli.gap_report:gap_report",
    "verify": "layline.cli.gap_report:gap_verify",
    "audit": "layline.cli.gap_report:gap_audit",
    "trend": "layline.cli.upgrade_watch:gap_trend",
}
