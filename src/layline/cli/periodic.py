"""`layline periodic …`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layline.cli.group import group
from layline.cli.show import config_option, fetch_option, format_option, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.core.report import Answer

since_option = click.option(
    "--since",
    default=None,
    metavar="TIME",
    help="Start here instead of at the start of the period.",
)
until_option = click.option(
    "--until",
    default=None,
    metavar="TIME",
    help="Look only up to this moment, e.g. 2026-05-08T09:01 in the configured time zone.",
)
write_option = click.option(
    "--write/--no-write", default=True, show_default=True, help="Write the report and its record, or only show them."
)
couplings_option = click.option(
    "--couplings", is_flag=True, help="Also count the places of ours that break at each tip (slower; needs `packages`)."
)
replace_option = click.option(
    "--replace", "replace_foreign", is_flag=True, help="Replace files that Layline did not write."
)


@group()
def periodic() -> None:
    """Weekly and monthly engineering reports from git history alone."""


@periodic.command("weekly")
@click.option(
    "--week",
    "period",
    default=None,
    metavar="YYYY-Www",
    help="The ISO week; default: that of --until, else of the newest commit.",
)
@since_option
@until_option
@couplings_option
@write_option
@replace_option
@fetch_option
@format_option("text", "json", "md")
@config_option
def weekly(**options: Any) -> int:
    """Write the report of one ISO week.

    Merged pull requests, pins that moved, distance to upstream, findings.
    """
    from layline.app.periodic import periodic_weekly

    return _run(periodic_weekly, **options)


@periodic.command("monthly")
@click.option(
    "--month",
    "period",
    default=None,
    metavar="YYYY-MM",
    help="The month; default: that of --until, else of the newest commit.",
)
@since_option
@until_option
@couplings_option
@write_option
@replace_option
@fetch_option
@format_option("text", "json", "md")
@config_option
def monthly(**options: Any) -> int:
    """Write the report of one month.

    Merged pull requests, pins that moved, distance to upstream, findings.
    """
    from layline.app.periodic import periodic_monthly

    return _run(periodic_monthly, **options)


def _run(
    report: Callable[..., Answer],
    *,
    config: Path | None,
    fetch: bool,
    format_: str,
    output: Path | None,
    write: bool,
    replace_foreign: bool,
    **span: Any,
) -> int:
    from layline.periodic.run import Span
    from layline.workspace.open import fetch_backend, open_workspace

    workspace = open_workspace(config)
    for key, backend in workspace.settings.backends.items() if fetch else ():
        if backend.objects is None and backend.upstream is not None:
            fetch_backend(workspace, key)
    return show(report(workspace, Span(**span), write=write, replace_foreign=replace_foreign), format_, output)
