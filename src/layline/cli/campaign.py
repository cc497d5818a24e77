"""`layline campaign …`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layline.cli.group import Choice, group
from layline.cli.show import Function, deliver, executor_option, format_option, show
from layline.errors import Error

if TYPE_CHECKING:
    from collections.abc import Iterable


@group()
def campaign() -> None:
    """Make a kernel faster in rounds that are measured and judged."""


def recording(function: Function) -> Function:
    """Options of every command that works on a campaign."""
    chosen = click.option(
        "--campaign", "chosen", default=None, help="Name or folder of the campaign; default: the campaign in progress."
    )
    return chosen(function)


def tell_progress(said: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{said}", nl=False, err=True)


@campaign.command()
@click.argument("name")
@click.option(
    "--from",
    "draft",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="A manifest, such as a draft that `campaign handoff` wrote.",
)
@click.option(
    "--operator",
    default=None,
    help="Operator to optimise with trusted measuring: a shipped one, an operator file, kernelbench:DIR/level1/23.",
)
@click.option(
    "--emit",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Only write the operator file, so that you can correct it by hand; begin nothing.",
)
@click.option("--kernel", "kernels", multiple=True, help="Kernel file that a round may change; repeat for several.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    help="Shape of the operator to optimise for; repeat for several. All by default.",
)
@click.option("--max-iterations", type=int, default=None)
@click.option("--target", default=None, help="`>500 TFLOPS`, `>60 % of peak`, `>= +20 %`.")
@click.option("--branch", default="auto", show_default=True, help="auto, none or a branch name.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation of the target.")
@format_option("text", "json", "md")
def new(
    name: str, draft: Path | None, yes: bool, emit: Path | None, format_: str, output: Path | None, **chosen: Any
) -> int:
    """Begin a campaign: target, branch, folder, manifest."""
    from layline.app.campaign import campaign_new
    from layline.campaign.loop.define import define_target, describe_target, emit_operator

    if emit is not None:
        click.echo(emit_operator(chosen["operator"], emit))
        return 0
    manifest = define_target(name, draft, **chosen)
    click.echo(describe_target(manifest), err=True)
    if not yes:
        _confirm_target()
    return show(campaign_new(manifest, draft=draft), format_, output)


def _confirm_target() -> None:
    """Ask; without anybody to answer, say so instead of hanging up."""
    try:
        confirmed = click.confirm("Is this the target?", err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise Error(
            "The target needs a confirmation, and there is no terminal to ask on.",
            hint="Pass --yes once the target is confirmed.",
        ) from None
    if not confirmed:
        raise Error(
            "Nothing was begun: the target was not confirmed.", hint="Change the draft or the options, then try again."
        )


@campaign.command()
@recording
@format_option("text", "json", "md")
def baseline(chosen: str | None, format_: str, output: Path | None) -> int:
    """Measure the starting kernel on every shape."""
    from layline.app.campaign import campaign_baseline

    return show(campaign_baseline(chosen, progress=tell_progress), format_, output)


BUCKETS = {
    "K1": "inside the kernel: tiles, instructions, pipelining",
    "K2": "a variant for a memory layout",
    "K3": "fewer launches by fusion",
    "K4": "data kept from forward to backward",
    "W1": "a cache of the weight (the gain is bounded)",
    "W2": "a cache of activations or gradients (refused: training never hits it)",
    "W3": "a memory of whole calls (also refused)",
}


class _Bucket(Choice):
    """A choice that says what it is about where it is asked for."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        del param, ctx
        return f"Say where the gain comes from:\n{_list_buckets()}"

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        del ctx
        return f"{value!r} is none of the places a gain can come from:\n{_list_buckets()}"


def _list_buckets() -> str:
    return "\n".join(f"  {name}  {what}" for name, what in BUCKETS.items())


@campaign.command("round")
@click.option("--hypothesis", required=True, help="What you expect to improve, and why; said before it is measured.")
@click.option("--change", required=True, help="The one change, in one line.")
@click.option(
    "--bucket",
    required=True,
    type=_Bucket(list(BUCKETS)),
    help="Where the gain comes from. K1: inside the kernel (tiles, instructions); K2: a variant for a memory layout; "
    "K3: fewer "
    "launches by fusion; K4: data kept from forward to backward; W1: a cache of the weight (gain is bounded); "
    "W2: a cache of activations or gradients, W3: of whole calls (both refused: training never hits them).",
)
@click.option("--expect", default=None, help="Expected effect, e.g. `+4 %`.")
@click.option("--full", is_flag=True, help="Validate on all target shapes right away.")
@click.option("--again", is_flag=True, help="Measure this kernel even if an earlier round measured it.")
@recording
@format_option("text", "json", "md")
def round_(
    chosen: str | None, format_: str, output: Path | None, full: bool, again: bool, bucket: str, **said: Any
) -> int:
    """Measure the current edit; accept (commit) it or roll it back."""
    from layline.app.campaign import campaign_round
    from layline.campaign.ledger.state import Level
    from layline.campaign.proposers import Proposal
    from layline.campaign.values.measurement import Bucket

    proposal = Proposal(bucket=Bucket(bucket), level=Level.FULL if full else Level.QUICK, **said)
    return show(campaign_round(proposal, chosen, again=again, progress=tell_progress), format_, output)


@campaign.command()
@click.argument("number", type=int)
@click.option("--diagnosis", multiple=True, help="Why a rolled-back change did not help.")
@click.option("--attribution", multiple=True, help="Why this change helped or not.")
@click.option("--next", "next", multiple=True, help="What to try next.")
@click.option("--lesson", multiple=True, help="What other campaigns can reuse.")
@click.option("--profile", multiple=True, help="The bottleneck, classified again.")
@click.option("--inspection", multiple=True, help="What the machine code shows.")
@click.option("--comparison", multiple=True, help="How it compares with the best known kernel.")
@click.option("--direction", multiple=True, help="A new direction to try (a stagnation review needs three).")
@recording
@format_option("text", "json", "md")
def note(number: int, chosen: str | None, format_: str, output: Path | None, **texts: tuple[str, ...]) -> int:
    """Note what round NUMBER taught."""
    from layline.app.campaign import campaign_note

    notes = [(kind, text) for kind, given in texts.items() for text in given]
    return show(campaign_note(number, notes, chosen), format_, output)


def watch(told: Iterable[str]) -> None:
    """The last few lines in place on a terminal; what is new of them elsewhere."""
    from rich.console import Console
    from rich.live import Live

    if not sys.stderr.isatty():
        last = ""
        for text in told:
            now = text.split("\n", 1)[-1]
            if now != last:
                click.echo(text, err=True)
            last = now
        return
    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as shown:
        for text in told:
            shown.update(text)


@campaign.command()
@recording
@click.option("--live", is_flag=True, help="Follow a measurement that runs in another terminal, then show the status.")
@format_option("text", "json", "md")
def status(live: bool, chosen: str | None, format_: str, output: Path | None) -> int:
    """Show where the campaign stands and what comes next."""
    from layline.app.campaign import campaign_status
    from layline.campaign.session.open import follow

    if live:
        watch(follow(chosen))
    return show(campaign_status(chosen), format_, output)


@campaign.command()
@click.argument("number", type=int)
@recording
@format_option("text", "json", "md")
def explain(number: int, chosen: str | None, format_: str, output: Path | None) -> int:
    """Measure the candidate of round NUMBER again, with all evidence."""
    from layline.app.campaign_explain import campaign_explain

    return show(campaign_explain(number, chosen, progress=tell_progress), format_, output)


@campaign.command()
@click.option(
    "--measure", "measures", is_flag=True, help="First measure the machine's ceilings and the best kernel's counters."
)
@recording
@format_option("text", "json", "md")
def brief(measures: bool, chosen: str | None, format_: str, output: Path | None) -> int:
    """Show the brief for the next round."""
    from layline.app.campaign_brief import campaign_brief

    return show(campaign_brief(chosen, measures=measures), format_, output)


@campaign.command()
@recording
@format_option("text", "json", "md")
def resume(chosen: str | None, format_: str, output: Path | None) -> int:
    """Continue a campaign after a crash."""
    from layline.app.campaign import campaign_resume

    return show(campaign_resume(chosen, progress=tell_progress), format_, output)


@campaign.command()
@click.option("--reason", default=None, help="Why you stop the campaign yourself.")
@recording
@format_option("text", "json", "md")
def stop(reason: str | None, chosen: str | None, format_: str, output: Path | None) -> int:
    """End the campaign: target reached, rounds used up, or a reason given."""
    from layline.app.campaign import campaign_stop

    return show(campaign_stop(reason, chosen), format_, output)


@campaign.command()
@click.option("--full", is_flag=True, help="All target shapes instead of the representative ones.")
@click.option(
    "--summary-csv",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Write the CSV here instead of printing it.",
)
@recording
def measure(full: bool, summary_csv: Path | None, chosen: str | None) -> int:
    """Measure the kernel as it is: figures as CSV, no verdict."""
    from layline.app.campaign_end import campaign_measure

    deliver(campaign_measure(chosen, full=full, progress=tell_progress), summary_csv)
    return 0


@campaign.command()
@recording
@format_option("text", "json", "md")
def log(chosen: str | None, format_: str, output: Path | None) -> int:
    """Show everything that happened, entry by entry."""
    from layline.app.campaign_end import campaign_log

    return show(campaign_log(chosen), format_, output)


@campaign.command()
@executor_option
@recording
@format_option("text", "json", "md", "html", "pdf")
def report(executor: str | None, chosen: str | None, format_: str, output: Path | None) -> int:
    """Write the final report: baseline against best, in one run."""
    from layline.app.campaign_end import campaign_report, render_report
    from layline.executors import open_wanted
    from layline.files import write_named

    with open_wanted(executor) as opened:
        answer = campaign_report(chosen, progress=tell_progress, executor=opened)
    if format_ not in ("html", "pdf"):
        return show(answer, format_, output)
    if output is None:
        raise Error(f"A report as {format_} can only be saved to a file.", hint="Name the file with -o.")
    write_named(output, render_report(answer, chosen, format_))
    return 0


@campaign.command()
@recording
@format_option("text", "json", "md")
def verify(chosen: str | None, format_: str, output: Path | None) -> int:
    """Compare folder, commits, verdicts and kernel with the ledger."""
    from layline.app.campaign_end import campaign_verify

    return show(campaign_verify(chosen), format_, output)


@campaign.command()
@click.option("--suite", default=None, help="Command of the project's full test suite; default: the manifest's.")
@click.option("--no-suite", is_flag=True, help="Accept without any test suite; the report says so.")
@recording
@format_option("text", "json", "md")
def accept(suite: str | None, no_suite: bool, chosen: str | None, format_: str, output: Path | None) -> int:
    """Accept the result into the project: test suite, clean diff."""
    from layline.app.campaign_end import campaign_accept

    return show(campaign_accept(suite, chosen, no_suite=no_suite), format_, output)
