"""`layline campaign …`."""

from __future__ import annotations

from pathlib import Path

import click

from layline.cli.show import format_option, show


@click.group()
def campaign() -> None:
    """Push one kernel toward the hardware limit, in honest rounds."""


@campaign.command()
@click.argument("folder")
@click.option("--repo", type=click.Path(file_okay=False, path_type=Path), default=None, help="Read FOLDER from this repository instead of the disk.")  # fmt: skip
@click.option("--at", default="HEAD", show_default=True, help="With --repo: the commit to read.")
@format_option("text", "json", "md")
def audit(folder: str, repo: Path | None, at: str, format_: str, output: Path | None) -> int:
    """Hold a foreign campaign FOLDER against the rules and list the violations with evidence."""
    from layline.app.campaign_audit import campaign_audit

    return show(campaign_audit(folder, repo=repo, at=at), format_, output)
