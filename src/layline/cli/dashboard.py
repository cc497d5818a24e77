"""`layline dashboard …`."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from layline.cli.group import Choice, group
from layline.cli.show import config_option, date_option, format_option, show


@group()
def dashboard() -> None:
    """One static site from the records, with their PDFs."""


@dashboard.command("index")
@click.option(
    "--only",
    type=Choice(["backend-gap", "weekly", "monthly"]),
    default=None,
    help="Only records of this kind.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if an index is out of date.")
@date_option
@format_option("text", "json", "md")
@config_option
def index(only: str | None, check: bool, today: date, format_: str, output: Path | None, config: Path | None) -> int:
    """Check every record and write the generated indexes."""
    from layline.app.dashboard_index import dashboard_index

    return show(dashboard_index(config, only=only, check=check, today=today), format_, output)


@dashboard.command("build")
@click.option(
    "--output-dir",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the site: a new one, or one from an earlier build.",
)
@click.option("--no-pdf", is_flag=True, help="Leave the PDFs out.")
@date_option
@format_option("text", "json", "md")
@config_option
def build(output_dir: Path, no_pdf: bool, today: date, format_: str, output: Path | None, config: Path | None) -> int:
    """Build the site: check records, render pages, put them in place."""
    from layline.app.dashboard_build import dashboard_build
    from layline.cli.progress import show_progress

    with show_progress() as progress:
        answer = dashboard_build(output_dir, config, pdf=not no_pdf, today=today, progress=progress)
    return show(answer, format_, output)


@dashboard.command("check")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@format_option("text", "json", "md")
def check(folder: Path, format_: str, output: Path | None) -> int:
    """Check links and data of a built site; exit 1 if anything is wrong."""
    from layline.app.dashboard_check import dashboard_check

    return show(dashboard_check(folder), format_, output)
