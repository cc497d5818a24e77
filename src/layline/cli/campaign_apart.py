"""`layline campaign …` that needs no campaign: operators, one verdict, a foreign folder, a draft."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from layline.cli.campaign import campaign, tell_progress
from layline.cli.group import Choice
from layline.cli.show import deliver, format_option, show


@campaign.command()
@click.argument("folder")
@click.option(
    "--repo",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Read FOLDER from this repository instead of the disk.",
)
@click.option("--at", default="HEAD", show_default=True, help="With --repo: the commit to read.")
@format_option("text", "json", "md")
def audit(folder: str, repo: Path | None, at: str, format_: str, output: Path | None) -> int:
    """Check a campaign FOLDER written by others against the rules."""
    from layline.app.campaign_audit import campaign_audit

    return show(campaign_audit(folder, repo=repo, at=at), format_, output)


@campaign.command()
@click.argument("name", required=False)
@click.option("--start", default=None, help="Print (or save with -o) this starting kernel of operator NAME.")
@format_option("text", "json", "md")
def operators(name: str | None, start: str | None, format_: str, output: Path | None) -> int:
    """List the operators that come with Layline."""
    from layline.app.campaign_operators import campaign_operators, find_start

    if name and start and format_ == "text":
        deliver(find_start(name, start), output)
        return 0
    return show(campaign_operators(name, start), format_, output)


@campaign.command("check-operator")
@click.argument("operator")
@format_option("text", "json", "md")
def check_operator(operator: str, format_: str, output: Path | None) -> int:
    """Check an operator FILE of your own before kernels are judged by it."""
    from layline.app.campaign_judge import campaign_check_operator

    return show(campaign_check_operator(operator, progress=tell_progress), format_, output)


@campaign.command()
@click.argument("candidate", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--against",
    required=True,
    help="The kernel to compare with: a file, or the name of a starting kernel of the operator.",
)
@click.option("--operator", required=True, help="A shipped operator, an operator file, or kernelbench:DIR/level1/23.")
@click.option("--shape", "shapes", multiple=True, help="Shape to measure on; repeat for several. All by default.")
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), default=None, help="Also write the answer as JSON."
)
@format_option("text", "json", "md")
def judge(candidate: Path, save: Path | None, format_: str, output: Path | None, **chosen: Any) -> int:
    """Judge one kernel against another, without a campaign."""
    from layline.app.campaign_judge import campaign_judge

    answer = campaign_judge(candidate, progress=tell_progress, **chosen)
    if save is not None:
        show(answer, "json", save)
    return show(answer, format_, output)


@campaign.command()
@click.option("--op", "operator", required=True, help="Operator with its precision, e.g. gemm_fp8_blockwise.")
@click.option("--backend", required=True, help="Kernel library or language: TRITON, CK, HIPBLASLT, TURBO, FLYDSL, C.")
@click.option("--gpu", required=True, help="Architecture: gfx942, gfx950 or another, or cpu.")
@click.option("--new-kernel", is_flag=True, help="The kernel is written from scratch, or needs much trial and error.")
@click.option("--python", "python", default=sys.executable, help="Interpreter of the environment that runs the kernel.")
@click.option("--kernel", default=None, help="Kernel source file.")
@click.option("--test", default=None, help="Focused test command.")
@click.option("--bench", default=None, help="Focused benchmark command.")
@click.option("--quick", default=None, help="Quick validation command (`--summary-csv` is appended).")
@click.option("--metric", default=None, help="Primary metric, e.g. `Combined Step TFLOPS`.")
@click.option("--lang", default=None, help="Implementation language.")
@click.option(
    "--mode",
    default=None,
    type=Choice(["repo", "workspace"]),
    help="Choose execution_mode yourself; default: as recommended.",
)
@click.option("--rebuild", default=None, help="Rebuild command after a change.")
@click.option("--target", default=None, help="Performance target.")
@click.option(
    "--draft",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Write the draft manifest here, and its harness into the tree; what you filled in before is kept.",
)
@format_option("text", "json", "md")
def handoff(
    operator: str,
    backend: str,
    gpu: str,
    new_kernel: bool,
    python: str,
    draft: Path | None,
    format_: str,
    output: Path | None,
    **options: str | None,
) -> int:
    """Check every prerequisite and write a draft manifest."""
    from layline.app.campaign_handoff import campaign_handoff, write_harness
    from layline.campaign.handoff_request import Request
    from layline.campaign.told.handoff import read_earlier_draft

    request = Request(operator=operator, backend=backend, gpu=gpu, options=options, new_kernel=new_kernel)
    earlier = read_earlier_draft(draft) if draft is not None else None
    answer = campaign_handoff(request, python=python, earlier=earlier)
    if draft is not None:
        deliver(answer.data["draft"], draft)
        write_harness(answer)
    return show(answer, format_, output)
