"""The end of a campaign: verify, log, report, acceptance in the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.app.campaign_pictures import draw_pictures
from layline.campaign.bench import Trial
from layline.campaign.folder.report import build_report, find_headline
from layline.campaign.ledger.state import Phase
from layline.campaign.loop.finish import (
    NO_SUITE,
    choose_suite,
    encode_report,
    find_benchmark,
    find_obstacles,
    record_head_to_head,
    record_roof,
    record_training,
    run_benchmark,
    run_suite,
)
from layline.campaign.rounds import Campaign, check_frozen
from layline.campaign.session.open import read_campaign, write_campaign
from layline.campaign.session.places import clock, quiet
from layline.campaign.session.publish import publish
from layline.campaign.told.ended import build_accepted, build_log, build_verified
from layline.campaign.verify import find_deviations
from layline.core.report import Answer
from layline.errors import BenchError
from layline.files import write_atomically
from layline.render.html import render_page
from layline.render.markdown import render_markdown
from layline.render.pdf import render_pdf
from layline.render.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.executors import Executor


def campaign_verify(chosen: str | None = None) -> Answer:
    """Ledger chain, derived files, commits, verdicts judged again, the working kernel."""
    campaign = read_campaign(chosen)
    found = tuple(find_deviations(campaign))
    return build_verified(campaign, found)


def campaign_measure(chosen: str | None = None, *, full: bool = False, progress: Callable[[str], None] = quiet) -> str:
    """The kernel as it stands, alone: its figures as CSV. Nothing is recorded and nothing is judged."""
    campaign = read_campaign(chosen, progress)
    check_frozen(campaign)
    state, kernel = campaign.state, campaign.read_kernel()
    labels = campaign.bench.labels if full or not state.representative else state.representative
    start = state.kernel(state.rounds[0].kernel) if state.rounds else kernel
    with campaign.ledger.lock():  # a second measurement beside it would disturb both
        measured = campaign.bench.measure(Trial(best=kernel, candidate=None, start=start, labels=labels, alpha=0.01))
    if not measured.csv:
        failed = [f"{gate.property}: {gate.reason}" for gate in measured.measurement.failed_gates]
        raise BenchError(f"The kernel has no figures: {' '.join(failed) or measured.measurement.problem}")
    return measured.csv


def campaign_log(chosen: str | None = None) -> Answer:
    """Everything that happened, entry by entry."""
    return build_log(read_campaign(chosen))


def campaign_report(
    chosen: str | None = None,
    *,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> Answer:
    """REPORT: baseline against best in one run, then the whole story; before the end, the story so far."""
    campaign = read_campaign(chosen)
    if campaign.state.phase in (Phase.REPORT, Phase.REPORTED):
        with write_campaign(chosen, now=now, progress=progress, executor=executor) as campaign:
            progress("measuring baseline against best on every shape, head-to-head")
            before = campaign.state.head_to_head
            record_head_to_head(campaign)
            progress("measuring the machine's ceilings")
            record_roof(campaign)
            record_training(campaign)
            if campaign.state.reported_at is None or campaign.state.head_to_head != before:
                campaign.record("reported", headline=find_headline(campaign.state))
            progress("drawing the pictures, writing the report")
            _write_report(campaign)
    state = campaign.state
    return Answer(report=build_report(state), data=encode_report(campaign))


def _write_report(campaign: Campaign) -> None:
    publish(campaign)
    shown = []
    for name, title, drawing in draw_pictures(campaign.state):
        write_atomically(campaign.folder / "pictures" / name, drawing)
        shown.append(f"![{title}](pictures/{name})\n")
    text = render_markdown(build_report(campaign.state))
    pictures = "\n## Pictures\n\n" + "\n".join(shown) if shown else ""
    write_atomically(campaign.folder / "report.md", text + pictures)


def render_report(answer: Answer, chosen: str | None, format_: str) -> bytes:
    """The report as a page, or as paper, with its pictures."""
    if format_ != "pdf":
        return render_page(answer.report).encode()
    state = read_campaign(chosen).state
    sheet = Sheet(title=answer.report.title, date=(state.reported_at or state.created_at)[:10])
    return render_pdf(render_markdown(answer.report), sheet)


def campaign_accept(
    suite: str | None, chosen: str | None = None, *, no_suite: bool = False, now: Callable[[], str] = clock
) -> Answer:
    """Back in the project: report reviewed, diff clean, full suite green, its own benchmark runs; then it is accepted."""
    with write_campaign(chosen, now=now) as campaign:
        state = campaign.state
        command = choose_suite(suite, state, no_suite=no_suite)
        problems = [*find_obstacles(campaign), *(run_suite(campaign, command) if command else ())]
        problems = problems or [*run_benchmark(campaign)]
        told = f"`{command}` passed" if command else NO_SUITE
        benchmark = find_benchmark(state)
        if not problems:
            ran = {"benchmark": f"ran to its end: `{benchmark}`"} if benchmark else {}
            campaign.record("accepted", commit=campaign.tree.head(), suite=told, **ran)
            _write_report(campaign)
        return build_accepted(campaign, problems, command, campaign.state.acceptance)
