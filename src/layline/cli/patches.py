"""`layline patches …`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.patches_drift import patches_diff, patches_drift, patches_retarget
from layline.cli.show import at_option, config_option, format_option, show

_STYLES = ("binding-replacement", "function-wrapping", "config-rewrite", "env-lifecycle", "source-rewrite")


@click.group()
def patches() -> None:
    """What does each monkey patch replace, when is it on, how is it ported?"""


@patches.command("list")
@click.argument("backend", required=False)
@at_option
@click.option("--phase", default=None, help="Only patches of this phase.")
@click.option("--style", type=click.Choice(_STYLES), default=None, help="Only patches with an effect of this style.")
@click.option("--active/--inactive", default=None, help="Only patches that are, or are never, registered.")
@format_option("text", "json", "md")
@config_option
def patches_list(
    backend: str | None, at: str, phase: str | None, style: str | None, active: bool | None,
    format_: str, output: Path | None, config: Path | None,
) -> int:  # fmt: skip
    """Every patch of BACKEND (or of all backends): target, guard, place, phase and priority."""
    from layline.app import patches as app_patches
    from layline.app.workspace import open_workspace

    wanted = app_patches.Filter(phase=phase, style=style, active=active)
    return show(app_patches.patches_list(open_workspace(config, at=at), backend, wanted), format_, output)


for command in (patches_drift, patches_diff, patches_retarget):
    patches.add_command(command)
