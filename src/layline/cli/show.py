"""How an answer reaches the reader: options shared by all commands, printing, saving."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from layline.cli.group import Choice, find_talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.core.report import Answer

Function = TypeVar("Function", bound="Callable[..., Any]")

config_option = click.option(
    "-c",
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="layline.toml to use; default: the nearest one here or in a folder above.",
)
at_option = click.option("--at", default="HEAD", show_default=True, help="Commit of the downstream to read.")
worktree_option = click.option("--worktree", is_flag=True, help="Read the files on disk, with uncommitted edits.")
to_option = click.option("--to", default=None, help="Upstream ref to compare with; default: the configured `ref`.")
executor_option = click.option(
    "--executor",
    default=None,
    metavar="WHERE",
    help="Where to work: local:N processes, ray://HOST:PORT or auto; default: in this process.",
)
fetch_option = click.option(
    "--fetch", is_flag=True, help="First download upstream's newest commits; nothing else uses the network."
)
_MONTH = re.compile(r"\d{4}-\d{2}")
_day = click.option(
    "--date",
    "today",
    default=None,
    metavar="YYYY-MM-DD",
    callback=lambda _, __, text: parse_date(text),
    help="Date of the answer; default: today.",
)


def date_option(function: Function) -> Function:
    return _day(function)


def parse_date(text: str | None) -> date:
    """The day a user names; today (UTC) where none is named: the one place that asks the clock."""
    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a date; write YYYY-MM-DD.") from None


def parse_month(text: str) -> date:
    """A day, or the first day of a month."""
    return parse_date(f"{text}-01" if _MONTH.fullmatch(text) else text)


def format_option(*formats: str) -> Callable[[Function], Function]:
    """`--format` and `-o`, with the formats that apply to this command."""

    def add(function: Function) -> Function:
        option = click.option(
            "--format",
            "format_",
            type=Choice(formats),
            default=formats[0],
            show_default=True,
            help="How to show the answer.",
        )
        output = click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, path_type=Path),
            default=None,
            help="Save to a file instead of printing.",
        )
        return option(output(function))

    return add


def show(answer: Answer, format_: str, output: Path | None = None, *, limit: int | None = None) -> int:
    """Print or save an answer; the exit code it asks for. `limit`: so many findings of a list at most."""
    if limit is not None and answer.listing is not None:
        from layline.core.listing import limit_listing

        answer = replace(answer, listing=limit_listing(answer.listing, limit))
    terminal = output is None and sys.stdout.isatty()
    text = render(answer, format_, terminal=terminal, whole=output is not None or find_talk() == "verbose")
    deliver(text, output)
    if terminal and answer.listing is not None and (hint := offer_file(text, os.get_terminal_size().lines)):
        click.echo(hint, err=True)
    return 1 if answer.needs_person else 0


def offer_file(text: str, lines: int) -> str | None:
    """What is said below a list that a screen of so many lines does not hold."""
    told = text.count("\n")
    return f"layline: {told} lines; `-o FILE` saves them." if told > lines else None


def render(answer: Answer, format_: str, *, terminal: bool = False, whole: bool = True) -> str:
    """`whole`: with everything that was skipped, also in text."""
    match format_:
        case "json":
            from layline import codec

            return codec.to_json(dict(answer.data))
        case "md":
            from layline.render.markdown import render_markdown

            return render_markdown(answer.report)
        case "sarif":
            from layline import __version__
            from layline.render.sarif import render_sarif

            return render_sarif(answer, version=__version__)
        case "github":
            from layline.render.annotations import render_annotations

            return render_annotations(answer.findings, answer.notices)
        case "html":
            from layline.render.html import render_page

            return render_page(answer.report)
        case _:
            return _render_text(answer, terminal=terminal, whole=whole)


def _render_text(answer: Answer, *, terminal: bool, whole: bool) -> str:
    from layline.render.inline import tell_shortly, tell_skipped
    from layline.render.listing import render_listing
    from layline.render.text import render_text

    width = find_width(terminal=terminal)
    tell = tell_skipped if whole else tell_shortly
    color = terminal and "NO_COLOR" not in os.environ
    if answer.listing is not None:
        return render_listing(answer.listing, width=width, color=color, tell=tell)
    return render_text(answer.report, width=width, color=color, tell=tell)


def find_width(*, terminal: bool) -> int | None:
    """Columns to wrap at: what COLUMNS says, else the terminal's; None in a pipe, where nothing is wrapped."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if not terminal:
        return None
    return click.get_current_context().terminal_width or os.get_terminal_size().columns


def deliver(text: str, output: Path | None) -> None:
    """Print, or save: a reader of a file sees the old one or the new one, never half of it."""
    if output is None:
        click.echo(text, nl=False)
        return
    from layline.files import write_named

    write_named(output, text)
