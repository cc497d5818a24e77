"""`layline init` and `layline doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.show import at_option, config_option, format_option, show


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, exists=True, path_type=Path), default=".")
@click.option(
    "--git",
    type=click.Path(exists=True, path_type=Path),
    default=None,
    help="The downstream's clone or bare mirror; default: FOLDER.",
)
@at_option
@click.option("--force", is_flag=True, help="Replace an existing layline.toml.")
@format_option("text", "json", "md")
def init(folder: Path, git: Path | None, at: str, force: bool, format_: str, output: Path | None) -> int:
    """Write FOLDER/layline.toml by looking at the project: submodules, patch and integration folders, other pins.

    What is ambiguous is written as commented alternatives; commands that need the choice ask for it by name.
    """
    from layline.app import init as app_init

    return show(app_init.init(folder, git=git, at=at, force=force), format_, output)


@click.command()
@at_option
@click.option(
    "--pins", is_flag=True, help="Only the pins: each is readable and unambiguous; needs no upstream objects."
)
@format_option("text", "json", "md")
@config_option
def doctor(at: str, pins: bool, format_: str, output: Path | None, config: Path | None) -> int:
    """Say what is configured, what is found, what is missing and how to get it (exit 1 if something is missing)."""
    from layline.app import doctor as app_doctor
    from layline.app.workspace import open_workspace

    return show(app_doctor.doctor(open_workspace(config, at=at), pins=pins), format_, output)


@click.command()
@click.argument("name", type=click.Choice(["config"]), default="config")
@format_option("json", "md", "text")
def schema(name: str, format_: str, output: Path | None) -> int:
    """Print the JSON Schema called NAME (`config`: layline.toml; editors complete and check with it)."""
    from layline.app import schema as app_schema

    return show(app_schema.schema(name), format_, output)
