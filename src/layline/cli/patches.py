"""`layline patches …`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layline.cli.complete import backend_argument, backend_option, patch_argument
from layline.cli.filters import filter_options, read_filters
from layline.cli.group import Choice, group
from layline.cli.progress import show_progress
from layline.cli.show import at_option, config_option, deliver, format_option, show, worktree_option

if TYPE_CHECKING:
    from layline.workspace.open import Workspace

_STYLES = ("binding-replacement", "function-wrapping", "config-rewrite", "env-lifecycle", "source-rewrite")


@group()
def patches() -> None:
    """List monkey patches: what they replace, when they are on."""


@patches.command("list")
@backend_argument
@at_option
@worktree_option
@click.option("--phase", default=None, help="Only patches of this phase.")
@click.option("--style", type=Choice(_STYLES), default=None, help="Only patches with an effect of this style.")
@click.option("--active/--inactive", default=None, help="Only patches that are active, or never active.")
@filter_options(*_STYLES, "dead-at-pin", "never-active", "state")
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
    """List every patch of BACKEND, or of all backends: one line each.

    Warnings come first: dead patches, and patches that are never active.
    """
    from layline.app import patches as app_patches
    from layline.patches.listed import Filter
    from layline.workspace.open import open_workspace

    wanted = Filter(phase=phase, style=style, active=active, wanted=read_filters(filters))
    workspace = open_workspace(config, at=at, worktree=worktree)
    key = _key(workspace, backend)
    with show_progress() as progress:
        answer = app_patches.patches_list(workspace, key, wanted, progress=progress)
    if format_ in {"csv", "html"}:
        from layline.app.patches_render import render_list

        deliver(render_list(workspace, answer, format_), output)
        return 0
    return show(answer, format_, output, limit=limit)


@patches.command("show")
@patch_argument
@backend_option
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
    """Show one patch in depth: logic, upstream beside ours, history.

    PATCH is an id of `patches list`, an upstream name that is patched, or file:line of ours.
    """
    from layline.app.patches_read import patches_show as deep_dive
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at, worktree=worktree)
    with show_progress() as progress:
        answer = deep_dive(workspace, patch_id, _key(workspace, backend), progress=progress)
    return show(answer, format_, output)


@patches.command("find")
@click.argument("word")
@backend_option
@at_option
@format_option("text", "json", "md")
@config_option
def patches_find(
    word: str, backend: str | None, at: str, format_: str, output: Path | None, config: Path | None
) -> int:
    """Find WORD in ids, targets, conditions and config keys."""
    from layline.app.patches_read import patches_find as find
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at)
    with show_progress() as progress:
        answer = find(workspace, word, _key(workspace, backend), progress=progress)
    return show(answer, format_, output)


@patches.command("notes")
@click.argument("file", type=click.Path(path_type=Path))
@at_option
@format_option("text", "json", "md")
@config_option
def patches_notes(file: Path, at: str, format_: str, output: Path | None, config: Path | None) -> int:
    """Compare hand-written patch notes (FILE) with the code."""
    from layline.app.patches_read import patches_notes as notes
    from layline.workspace.open import open_workspace

    return show(notes(open_workspace(config, at=at), file), format_, output)


@patches.command("port")
@patch_argument
@click.option(
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Write an installable bundle to this folder.",
)
@backend_option
@at_option
@format_option("text", "json", "md")
@config_option
def patches_port(
    patch_id: str, to: Path | None, backend: str | None, at: str, format_: str, output: Path | None, config: Path | None
) -> int:
    """Plan how to bring one patch into another framework.

    PATCH is an id of `patches list`, an upstream name that is patched, or file:line of ours. With --to, an installable
    bundle is written.
    """
    from layline.app.patches_read import patches_port as port
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at)
    with show_progress() as progress:
        answer = port(workspace, patch_id, to=to, backend=_key(workspace, backend), progress=progress)
    return show(answer, format_, output)


def _key(workspace: Workspace, backend: str | None) -> str | None:
    return workspace.settings.choose(backend) if backend else None


patches.late = {
    "drift": "layline.cli.patches_drift:patches_drift",
    "diff": "layline.cli.patches_drift:patches_diff",
    "retarget": "layline.cli.patches_drift:patches_retarget",
    "trace": "layline.cli.patches_trace:patches_trace",
    "matrix": "layline.cli.upgrade_watch:patches_matrix",
}
