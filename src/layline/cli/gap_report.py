"""`layline gap report | verify | audit`."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from layline.cli.complete import backend_argument
from layline.cli.group import command, find_talk
from layline.cli.show import (
    at_option,
    config_option,
    date_option,
    executor_option,
    fetch_option,
    format_option,
    show,
    to_option,
)


@command("report")
@backend_argument
@click.option("--all", "every", is_flag=True, help="Every configured backend.")
@click.option("--replace", "take_over", is_flag=True, help="Replace reports and records that Layline did not make.")
@click.option("--no-patches", is_flag=True, help="Leave the patches out (see `layline patches drift`).")
@to_option
@at_option
@fetch_option
@executor_option
@date_option
@format_option("text", "json", "md")
@config_option
def gap_report(
    backend: str | None,
    every: bool,
    take_over: bool,
    no_patches: bool,
    to: str | None,
    at: str,
    fetch: bool,
    executor: str | None,
    today: date,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Write the gap report of BACKEND, its summary and its record.

    They are written below docs/backend-gap of the project; set `docs` in layline.toml to use another folder than docs.
    """
    from layline.app import gap_report as app
    from layline.cli.progress import show_progress
    from layline.files import name_path
    from layline.gap.files import find_folder
    from layline.workspace.open import fetch_backend, open_workspace

    if backend is not None and every:
        raise click.UsageError("Name one backend or use --all, not both.")
    workspace = open_workspace(config, at=at)
    keys = (
        tuple(workspace.settings.backends) if every else (workspace.settings.choose(backend, or_else=", or use --all"),)
    )
    for key in keys if fetch else ():
        fetch_backend(workspace, key)
    if find_talk() != "quiet":
        folder = find_folder(workspace.root / workspace.settings.project.docs)
        click.echo(f"layline: the files go to {name_path(folder)} (`docs` in layline.toml)", err=True)
    with show_progress() as progress:
        if (where := executor or workspace.settings.executor.where) is not None:
            from layline.app.many import ask_gaps, spread
            from layline.gap.written import Wanted

            wanted = Wanted(to=to, today=today, take_over=take_over, patches=not no_patches)
            spread(where, ask_gaps(workspace, keys, wanted), progress)
        answer = app.gap_report(
            workspace, keys, to=to, today=today, take_over=take_over, patches=not no_patches, progress=progress
        )
    return show(answer, format_, output)


@command("verify")
@click.argument("records", nargs=-1, type=click.Path(dir_okay=False, path_type=Path), metavar="[RECORD]...")
@format_option("text", "json", "md")
@config_option
def gap_verify(records: tuple[Path, ...], format_: str, output: Path | None, config: Path | None) -> int:
    """Recompute every fact of our reports from its evidence.

    Exit 1 if a fact changed, is gone or cannot be reached.
    """
    from layline.app import gap_verify as app
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    with show_progress() as progress:
        answer = app.gap_verify(open_workspace(config), tuple(path.resolve() for path in records), progress=progress)
    return show(answer, format_, output)


@command("audit")
@click.argument(
    "records",
    nargs=-1,
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RECORD...",
)
@at_option
@format_option("text", "json", "md")
@config_option
def gap_audit(records: tuple[Path, ...], at: str, format_: str, output: Path | None, config: Path | None) -> int:
    """Compare published records, made by anyone, with git.

    Exit 1 if git contradicts a field.
    """
    from layline.app import gap_audit as app
    from layline.workspace.open import open_workspace

    return show(app.gap_audit(open_workspace(config, at=at), records), format_, output)
