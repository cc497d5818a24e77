"""`layline watch|impact`, `patches matrix` and `gap trend`: the same judgements over many commits and projects."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from layline.cli.complete import backend_argument
from layline.cli.group import command
from layline.cli.show import (
    at_option,
    config_option,
    date_option,
    executor_option,
    fetch_option,
    format_option,
    parse_month,
    show,
)


@command("matrix")
@backend_argument
@at_option
@click.option(
    "--refs",
    default=None,
    metavar="WHICH",
    help="tags (since the pin), all-tags (since our first commit), weekly, A..B, refs by name (A,B) or a file; default: tags.",
)
@click.option(
    "--every", type=click.IntRange(min=1), default=None, metavar="N", help="Judge only every Nth of them; 1 judges all."
)
@executor_option
@click.option("--limit", type=click.IntRange(min=1), default=None, help="Show at most this many effects.")
@format_option("text", "json", "md", "html")
@config_option
def patches_matrix(
    backend: str | None,
    at: str,
    refs: str | None,
    every: int | None,
    executor: str | None,
    limit: int | None,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Show each patch against many upstream commits.

    `weekly` is the last first-parent commit of each ISO week (UTC). Without --every, at most 12 refs are judged, spread
    evenly; the answer says out of how many. Judged refs are kept: a second run continues where the first stopped.
    """
    from layline.app.many import ask_matrix, spread
    from layline.app.over_time import patches_matrix as answer_matrix
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config, at=at)
    key = workspace.settings.choose(backend)
    with show_progress() as progress:
        if (where := executor or workspace.settings.executor.where) is not None:
            spread(where, ask_matrix(workspace, key, refs, every), progress)
        answer = answer_matrix(workspace, key, refs=refs, every=every, progress=progress)
    return show(answer, format_, output, limit=limit)


@command("trend")
@backend_argument
@click.option("--since", default=None, metavar="YYYY-MM[-DD]", help="First day; default: one year ago.")
@executor_option
@format_option("text", "json", "md", "html")
@config_option
def gap_trend(
    backend: str | None,
    since: str | None,
    executor: str | None,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Show commits behind, patches and what breaks, month by month."""
    from layline.app.many import ask_trend, spread
    from layline.app.over_time import gap_trend as answer_trend
    from layline.cli.progress import show_progress
    from layline.workspace.open import open_workspace

    workspace = open_workspace(config)
    key = workspace.settings.choose(backend)
    first = parse_month(since) if since else None
    with show_progress() as progress:
        if (where := executor or workspace.settings.executor.where) is not None:
            spread(where, ask_trend(workspace, key, first), progress)
        answer = answer_trend(workspace, key, since=first, progress=progress)
    return show(answer, format_, output)


@command("watch")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Where the last answer is kept; default: the cache.",
)
@click.option(
    "--badge",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Also write a shields.io endpoint here.",
)
@fetch_option
@date_option
@format_option("text", "json", "md", "github")
@config_option
def watch(
    state: Path | None,
    badge: Path | None,
    fetch: bool,
    today: date,
    format_: str,
    output: Path | None,
    config: Path | None,
) -> int:
    """Show only what is new since the last answer.

    Places that broke or were mended, tips that became safe, patches that can be deleted. Exit 1 if something is new.
    """
    from layline.app.over_time import watch as answer_watch
    from layline.cli.progress import show_progress
    from layline.workspace.open import fetch_backend, open_workspace

    workspace = open_workspace(config)
    for key in workspace.settings.backends if fetch else ():
        fetch_backend(workspace, key)
    with show_progress() as progress:
        answer = answer_watch(workspace, today=today, state=state, badge=badge, progress=progress)
    return show(answer, format_, output)


@command("impact")
@click.argument("ref", metavar="UPSTREAM-REF")
@click.option(
    "--fleet",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="TOML file of projects, as `layline fleet` reads it.",
)
@executor_option
@format_option("text", "json", "md")
def impact(ref: str, fleet: Path, executor: str | None, format_: str, output: Path | None) -> int:
    """Say which downstreams an upstream commit breaks, and where.

    UPSTREAM-REF is compared with its first parent; A..B compares two commits. Exit 1 if something breaks.
    """
    from layline.app.fleet import impact as answer_impact
    from layline.app.many import ask_impact, spread
    from layline.cli.progress import show_progress

    with show_progress() as progress:
        if executor is not None:
            spread(executor, ask_impact(ref, fleet), progress)
        answer = answer_impact(ref, fleet, progress=progress)
    return show(answer, format_, output)


@command("fleet")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@executor_option
@format_option("text", "json", "md", "html")
def fleet(file: Path, executor: str | None, format_: str, output: Path | None) -> int:
    """Show every project of FILE and what breaks in it: one page.

    FILE lists one [[project]] for each: `config` is the path of its layline.toml; `name` and `git` are optional.
    Exit 1 if something breaks.
    """
    from layline.app.fleet import fleet as answer_fleet
    from layline.app.many import ask_fleet, spread
    from layline.cli.progress import show_progress

    with show_progress() as progress:
        if executor is not None:
            spread(executor, ask_fleet(file), progress)
        answer = answer_fleet(file, progress=progress)
    return show(answer, format_, output)
