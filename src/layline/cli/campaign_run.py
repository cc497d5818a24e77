"""`layline campaign run`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from layline.cli import campaign_apart  # noqa: F401  adds its commands to the group
from layline.cli.campaign import campaign, recording, tell_progress
from layline.cli.show import executor_option, format_option, show

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(_context: click.Context, _option: click.Parameter, text: str | None) -> float | None:
    """`90s`, `30m`, `1.5h` → seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if not found:
        raise click.BadParameter(f"{text!r} is not a duration; write 90s, 30m or 1h.")
    return float(found[1]) * _UNITS[found[2]]


@campaign.command("run")
@click.option(
    "--proposer",
    required=True,
    metavar="search|command:PROGRAM",
    help="Who proposes: the built-in search, or a program run once per round.",
)
@click.option("--rounds", type=click.IntRange(1), default=None, help="Stop after this many rounds.")
@click.option(
    "--budget",
    default=None,
    callback=parse_duration,
    metavar="TIME",
    help="Stop after this long, e.g. 30m; the current round is finished first.",
)
@click.option(
    "--time-limit",
    default="10m",
    show_default=True,
    callback=parse_duration,
    metavar="TIME",
    help="Time limit for one answer of the program.",
)
@click.option(
    "--pass-env",
    "passed",
    multiple=True,
    metavar="NAME",
    help="Environment variable to pass to the program; it gets no others.",
)
@executor_option
@click.option("--parallel", type=click.IntRange(2), default=None, metavar="N", help="The same as --executor local:N.")
@recording
@format_option("text", "json", "md")
def run(
    proposer: str,
    rounds: int | None,
    budget: float | None,
    time_limit: float,
    passed: tuple[str, ...],
    executor: str | None,
    parallel: int | None,
    chosen: str | None,
    format_: str,
    output: Path | None,
) -> int:
    """Run rounds unattended: propose, measure, accept or roll back.

    Run it again to go on where it stopped.
    """
    from layline.app.campaign_run import campaign_run
    from layline.campaign.loop.unattended import Limits

    if executor is not None and parallel is not None:
        raise click.UsageError("Choose one of --executor and --parallel.")
    limits = Limits(rounds=rounds, budget_s=budget, time_limit_s=time_limit)
    where = f"local:{parallel}" if parallel is not None else executor
    answer = campaign_run(proposer, chosen, limits=limits, passed=passed, executor=where, progress=tell_progress)
    return show(answer, format_, output)


@campaign.command()
@executor_option
@recording
@format_option("text", "json", "md")
def move(executor: str | None, chosen: str | None, format_: str, output: Path | None) -> int:
    """Continue this campaign on another kind of machine.

    It measures the best kernel there first; until then rounds are refused.
    """
    from layline.app.campaign import campaign_move
    from layline.executors import open_wanted

    with open_wanted(executor) as opened:
        answer = campaign_move(chosen, progress=tell_progress, executor=opened)
    return show(answer, format_, output)
