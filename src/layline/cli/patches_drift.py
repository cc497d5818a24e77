"""`layline patches drift|diff|retarget`."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import click

from layline.cli.complete import backend_argument, patch_argument
from layline.cli.filters import filter_options, read_filters
from layline.cli.group import Choice, command
from layline.cli.show import (
    at_option,
    config_option,
    date_option,
    deliver,
    fetch_option,
    format_option,
    show,
    to_option,
    worktree_option,
)
from layline.patches.drift.kinds import DRIFT_KINDS


@command("drift")
@backend_argument
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Every configured backend; one that cannot be read is skipped and named.",
)
@to_option
@click.option(
    "--from",
    "since",
    default=None,
    metavar="REV",
    help="Upstream tag or commit to compare from, as if you pinned it; for a pull request that moves the pin, give the old pin.",
)
@at_option
@worktree_option
@click.option("--dead", is_flag=True, help="Only dead patches, which do nothing at the pin; exit 1 if there is one.")
@click.option("--culprits", is_flag=True, help="Name the upstream commit that caused each finding.")
@click.option(
    "--fail-on",
    type=Choice(("error", "warning", "none", "breaks", "look")),
    default="error",
    show_default=True,
    metavar="WORD",
    help="Exit with 1 from this severity on: error, warning or none.",
)
@click.option(
    "--baseline", type=click.Path(dir_okay=False, path_type=Path), default=None, help="TOML file of accepted findings."
)
@filter_options(*DRIFT_KINDS)
@fetch_option
@date_option
@format_option("text", "md", "json", "sarif", "github")
@config_option
def patches_drift(
    backend: str | None,
    every: bool,
    to: str | None,
    since: str | None,
    at: str,
    worktree: bool,
    dead: bool,
    culprits: bool,
    fail_on: str,
    baseline: Path | None,
    limit: int | None,
    fetch: bool,
    today: date,
    format_: str,
    output: Path | None,
    config: Path | None,
    **filters: Any,
) -> int:
    """Say which patches of BACKEND still fit upstream's newest code.

    Exit 1 when something breaks (--fail-on chooses).
    """
    from layline.app.patches_drift import patches_drift as answer_drift
    from layline.app.patches_drift import patches_drift_all
    from layline.cli.progress import show_progress
    from layline.patches.drift.ask import DriftOptions
    from layline.workspace.open import fetch_backend, open_workspace

    if backend is not None and every:
        raise click.UsageError("Name one backend or use --all, not both.")
    if since is not None and (every or dead):
        raise click.UsageError("--from needs one backend, and cannot be used with --dead.")
    workspace = open_workspace(config, at=at, worktree=worktree)
    keys = (
        tuple(workspace.settings.backends) if every else (workspace.settings.choose(backend, or_else=", or use --all"),)
    )
    for key in keys if fetch else ():
        fetch_backend(workspace, key)
    options = DriftOptions(
        to=to,
        culprits=culprits,
        fail_on={"error": "breaks", "warning": "look"}.get(fail_on, fail_on),
        baseline=baseline,
        today=today,
        since=since,
        dead=dead,
        wanted=read_filters(filters),
    )
    with show_progress() as progress:
        if every:
            answer = patches_drift_all(workspace, options, progress=progress)
        else:
            answer = answer_drift(workspace, keys[0], options, progress=progress)
    return show(answer, format_, output, limit=limit)


@command("diff")
@patch_argument
@to_option
@at_option
@format_option("text", "md", "json")
@config_option
def patches_diff(patch_id: str, to: str | None, at: str, format_: str, output: Path | None, config: Path | None) -> int:
    """Compare one patch three ways: upstream at pin and tip, our code.

    PATCH is an id of `patches list`, an upstream name that is patched, or file:line of ours.
    """
    from layline.app.patches_read import patches_diff as answer_diff
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at)
    with show_progress() as progress:
        answer = answer_diff(workspace, patch_id, to=to, progress=progress)
    return show(answer, format_, output)


@command("retarget")
@backend_argument
@to_option
@at_option
@format_option("diff", "text", "md", "json")
@config_option
def patches_retarget(
    backend: str | None, to: str | None, at: str, format_: str, output: Path | None, config: Path | None
) -> int:
    """Print the edit for moved and renamed targets as a diff.

    It is ready for `git apply`; what cannot be edited is listed on stderr.
    """
    from layline.app.patches_read import patches_retarget as answer_retarget
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at)
    with show_progress() as progress:
        answer, diff = answer_retarget(workspace, workspace.settings.choose(backend), to=to, progress=progress)
    if format_ != "diff":
        return show(answer, format_, output)
    deliver(diff, output)
    if not diff:
        click.echo(answer.report.title, err=True)
    for item in answer.report.skipped:
        click.echo(f"not edited: {item}", err=True)
    return 0
