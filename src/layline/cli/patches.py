"""`layline patches …`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from layline.cli.filters import filter_options, read_filters
from layline.cli.patches_drift import patches_diff, patches_drift, patches_retarget
from layline.cli.show import at_option, config_option, deliver, format_option, show, worktree_option

_STYLES = ("binding-replacement", "function-wrapping", "config-rewrite", "env-lifecycle", "source-rewrite")


@click.group()
def patches() -> None:
    """What does each monkey patch replace, when is it on, how is it ported?"""


@patches.command("list")
@click.argument("backend", required=False)
@at_option
@worktree_option
@click.option("--phase", default=None, help="Only patches of this phase.")
@click.option("--style", type=click.Choice(_STYLES), default=None, help="Only patches with an effect of this style.")
@click.option("--active/--inactive", default=None, help="Only patches that are, or are never, registered.")
@filter_options(*_STYLES, "dead", "never-active")
@format_option("text", "json", "md", "csv", "html")
@config_option
def patches_list(
    backend: str | None,
    at: str,
    worktree: bool,
    phase: str | None,
    style: str | None,
    active: bool | None,
    limit: int | None,
    format_: str,
    output: Path | None,
    config: Path | None,
    **filters: Any,
) -> int:
    """Every patch of BACKEND (or of all backends): target, guard, place, phase and priority."""
    from layline.app import patches as app_patches
    from layline.app.workspace import open_workspace

    wanted = app_patches.Filter(phase=phase, style=style, active=active, wanted=read_filters(filters))
    workspace = open_workspace(config, at=at, worktree=worktree)
    answer = app_patches.patches_list(workspace, backend, wanted)
    if format_ in {"csv", "html"}:
        deliver(app_patches.render_list(workspace, answer, format_), output)
        return 0
    return show(answer, format_, output, limit=limit)


@patches.command("show")
@click.argument("patch_id", metavar="ID")
@click.option("--backend", default=None, help="Only look in this backend.")
@at_option
@worktree_option
@format_option("text", "json", "md")
@config_option
def patches_show(
    patch_id: str,
    backend: str | None,
    at: str,
    worktree: bool,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """One patch in depth: logic, places, upstream beside ours, rivals, history."""
    from layline.app.patches_show import patches_show as deep_dive
    from layline.app.workspace import open_workspace

    return show(deep_dive(open_workspace(config, at=at, worktree=worktree), patch_id, backend), format_, output)


@patches.command("find")
@click.argument("word")
@click.option("--backend", default=None, help="Only this backend.")
@at_option
@format_option("text", "json", "md")
@config_option
def patches_find(
    word: str, backend: str | None, at: str, format_: str, output: Path | None, config: Path | None
) -> int:
    """Where WORD stands: ids, descriptions, targets, guards, config keys, implementation names."""
    from layline.app.patches_find import patches_find as find
    from layline.app.workspace import open_workspace

    return show(find(open_workspace(config, at=at), word, backend), format_, output)


@patches.command("notes")
@click.argument("file", type=click.Path(path_type=Path))
@at_option
@format_option("text", "json", "md")
@config_option
def patches_notes(file: Path, at: str, format_: str, output: Path | None, config: Path | None) -> int:
    """Hold the tables of hand-written patch notes (FILE) against the code."""
    from layline.app.patches_find import patches_notes as notes
    from layline.app.workspace import open_workspace

    return show(notes(open_workspace(config, at=at), file), format_, output)


@patches.command("port")
@click.argument("patch_id", metavar="ID")
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Write a bundle that installs into this folder.",
)
@click.option("--backend", default=None, help="Only look in this backend.")
@at_option
@format_option("text", "json", "md")
@config_option
def patches_port(
    patch_id: str, to: Path | None, backend: str | None, at: str, format_: str, output: Path | None, config: Path | None
) -> int:
    """How to bring patch ID into another framework: the plan, and with --to a bundle that installs."""
    from layline.app.patches_port import patches_port as port
    from layline.app.workspace import open_workspace

    return show(port(open_workspace(config, at=at), patch_id, to=to, backend=backend), format_, output)


for command in (patches_drift, patches_diff, patches_retarget):
    patches.add_command(command)
