"""`layline skills …`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.group import group
from layline.cli.show import format_option, show


@group()
def skills() -> None:
    """Skills that tell an AI agent how to use Layline."""


@skills.command("list")
@format_option("text", "json", "md")
def skills_list(format_: str, output: Path | None) -> int:
    """List the skills and when each is used."""
    from layline.app import skills as app_skills

    return show(app_skills.skills_list(), format_, output)


@skills.command("install")
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path), default=".")
@click.option(
    "--into",
    "places",
    multiple=True,
    metavar="DIR",
    help="Below FOLDER; default: the agents' folders that exist (.claude, .cursor, .agents).",
)
@format_option("text", "json")
def skills_install(folder: Path, places: tuple[str, ...], format_: str, output: Path | None) -> int:
    """Copy the skills to where the agents of FOLDER look.

    A skill of the same name that Layline did not write stays as it is.
    """
    from layline.app import skills as app_skills

    return show(app_skills.skills_install(folder, places=places), format_, output)
