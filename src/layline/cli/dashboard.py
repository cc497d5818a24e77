"""`layline dashboard …`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.show import config_option, format_option, show


@click.group()
def dashboard() -> None:
    """One static site from the records, with their PDFs."""


@dashboard.command("index")
@click.option(
    "--only",
    type=click.Choice(["backend-gap", "weekly", "monthly"]),
    default=None,
    help="Just the records of one kind.",
)
@format_option("text", "json", "md")
@config_option
def index(only: str | None, format_: str, output: Path | None, config: Path | None) -> int:
    """Validate every record and (re)write the generated indexes."""
    from layline.app.dashboard_index import dashboard_index

    return show(dashboard_index(config, only=only), format_, output)
