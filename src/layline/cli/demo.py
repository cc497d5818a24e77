"""`layline demo`."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layline.cli.group import command
from layline.cli.main import layline
from layline.cli.progress import show_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.sample import Sample
    from layline.sample.demo import Outcome
    from layline.sample.tour import TourStep

_OUR_BUG = 3


@command()
@click.argument("directory", type=click.Path(path_type=Path), default="layline-demo")
@click.option("--walk/--no-walk", default=True, show_default=True, help="Run every command on the sample, too.")
@click.option("--quick", is_flag=True, help="Skip what takes long to measure.")
def demo(directory: Path, walk: bool, quick: bool) -> int:
    """Write the embedded sample and walk through the commands.

    It goes into DIRECTORY, by default ./layline-demo. The sample is Harbor, a small framework layered over the
    upstreams Keel, Spar and Rivet. A second demo replaces the first; a directory that no demo made is refused.
    """
    from layline.app import demo as app_demo
    from layline.sample import demo as sample_demo
    from layline.sample.tour import STEPS

    with show_progress() as progress:
        sample = app_demo.demo(directory.absolute(), progress)
    click.echo(f"Harbor, Keel, Spar and Rivet are in {directory}; commands run in {directory / 'harbor'}.")
    if not walk:
        return 0
    outcomes: list[Outcome] = []
    for outcome in _walk(sample, [step for step in STEPS if is_known(step) and not (quick and step.measures)]):
        outcomes.append(outcome)
        _show(outcome)
    sample_demo.write_transcript(sample, outcomes)
    failed = [outcome for outcome in outcomes if not outcome.is_expected]
    click.echo(
        f"\n{len(outcomes)} commands, {len(failed)} with an unexpected result; the whole output is in "
        f"{directory / sample_demo.TRANSCRIPT}."
    )
    return _OUR_BUG if failed else 0


def _walk(sample: Sample, steps: list[TourStep]) -> Iterator[Outcome]:
    """Run the steps in their order; of two neighbours that only read, the second is begun beside the first."""
    from layline.cli.forked import import_commands, start_forked
    from layline.sample.demo import show_step, start_anew, start_step

    import_commands()
    begun: dict[int, Callable[[], Outcome]] = {}
    excused = False
    for at, step in enumerate(steps):
        if step.measures and excused:
            continue  # what follows a measurement that could not be made has nothing to stand on
        click.echo("\n" + _style(step.asks, bold=True))
        click.echo(_style(f"$ {show_step(step)}", fg="cyan"))
        for number in (at, at + 1):
            if number not in begun and (number == at or _may_run_beside(steps, number)):
                clock = steps[number].is_timed
                begun[number] = start_step(sample, steps[number], start_anew if clock else start_forked)
        outcome = begun[at]()
        excused = excused or outcome.is_excused
        yield outcome


def _may_run_beside(steps: list[TourStep], number: int) -> bool:
    return number < len(steps) and steps[number].reads and steps[number - 1].reads


def is_known(step: TourStep) -> bool:
    """True if the command of a step exists, and what it needs is installed; other steps are left out."""
    if not all(map(_is_installed, step.needs)):
        return False
    group: click.Command | None = layline
    for word in step.command:
        if not isinstance(group, click.Group):
            break
        group = group.get_command(click.Context(group), word)
    return group is not None


def _is_installed(need: str) -> bool:
    kind, _, name = need.rpartition(":")
    return shutil.which(name) is not None if kind == "program" else importlib.util.find_spec(name) is not None


def _show(outcome: Outcome) -> None:
    lines = outcome.output.splitlines()
    click.echo("\n".join(lines[: outcome.step.lines]))
    if len(lines) > outcome.step.lines:
        click.echo(_style(f"… {len(lines) - outcome.step.lines} more lines", dim=True))
    if outcome.exit_code > 1:
        click.echo(outcome.complaint, err=True, nl=False)
    if not outcome.is_expected:
        expected = " or ".join(map(str, outcome.step.exit_codes))
        click.echo(f"exit code {outcome.exit_code}, expected {expected}", err=True)


def _style(text: str, **how: Any) -> str:
    return text if "NO_COLOR" in os.environ else click.style(text, **how)
