"""The end of a campaign: verify, log, report, acceptance in the project."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.app.campaign import find_dirt
from layline.app.campaign_analyze import find_ceilings
from layline.app.campaign_open import read_campaign, write_campaign
from layline.app.campaign_pictures import draw_pictures
from layline.app.campaign_places import clock, quiet
from layline.app.campaign_publish import publish
from layline.app.campaign_show import encode_state
from layline.campaign.bench import Trial
from layline.campaign.devices.roof import find_points
from layline.campaign.folder.report import build_report, find_headline
from layline.campaign.folder.transfer_check import attribute
from layline.campaign.ledger.state import Level, Phase, Settled
from layline.campaign.measure.accelerator import has_device
from layline.campaign.measure.gpu.train import REPLACED, train
from layline.campaign.rounds import Campaign, check_frozen, encode_measured
from layline.campaign.trusted import TrustedBench, to_snapshot
from layline.campaign.values.measurement import Arm, Status
from layline.campaign.verify import find_deviations
from layline.core.evidence import Alert, Severity
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table
from layline.errors import BenchError, ConfigError
from layline.files import write_atomically
from layline.render.html import render_page
from layline.render.markdown import render_markdown
from layline.render.pdf import render_pdf
from layline.render.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.campaign import answers
    from layline.campaign.ledger.state import State

NO_SUITE = "no suite was run (--no-suite)"


def campaign_verify(chosen: str | None = None) -> Answer:
    """Ledger chain, derived files, commits, verdicts judged again, the working kernel."""
    campaign = read_campaign(chosen)
    found = tuple(find_deviations(campaign))
    entries = campaign.ledger.read().entries
    said = f"{len(entries)} ledger entries form one chain; head {campaign.state.head}."
    blocks = (
        (Paragraph(said), Bullets(found))
        if found
        else (Paragraph(said), Paragraph("Everything is as the ledger says."))
    )
    report = Report(
        title=f"Campaign {campaign.state.manifest.name}: verification",
        sections=(Section(title="", blocks=blocks),),
        alerts=tuple(Alert(severity=Severity.LOOK, message=item) for item in found),
    )
    data: answers.CampaignVerify = {
        "schema": "layline.campaign-verify/1",
        "entries": len(entries),
        "head": campaign.state.head,
        "deviations": list(found),
    }
    return Answer(report=report, data=data, needs_person=bool(found))


def campaign_measure(chosen: str | None = None, *, full: bool = False, progress: Callable[[str], None] = quiet) -> str:
    """The kernel as it stands, alone: its figures as CSV. Nothing is recorded and nothing is judged."""
    campaign = read_campaign(chosen, progress)
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
    campaign = read_campaign(chosen)
    entries = [entry for entry in campaign.ledger.read().entries if entry.kind != "content"]
    rows = tuple(
        (str(entry.n), entry.at, entry.kind, str(entry.data.get("round", "")), _gist(entry.data), entry.hash[:12])
        for entry in entries
    )
    table = Table(columns=("n", "time", "what", "round", "gist", "hash"), rows=rows, numeric=frozenset({0, 3}))
    data: answers.Log = {
        "schema": "layline.campaign-log/1",
        "entries": [
            {
                "n": entry.n,
                "at": entry.at,
                "kind": entry.kind,
                "round": entry.data.get("round"),
                "gist": _gist(entry.data),
                "hash": entry.hash,
            }
            for entry in entries
        ],
    }
    return Answer(
        report=Report(
            title=f"Campaign {campaign.state.manifest.name}: log", sections=(Section(title="", blocks=(table,)),)
        ),
        data=data,
    )


def _gist(data: dict[str, Any]) -> str:
    for key in ("change", "settled", "text", "reason", "branch"):
        if data.get(key):
            return str(data[key])
    if "verdict" in data:
        return f"{data['verdict']['outcome']}: {data['verdict']['reason']}"
    return str(data["measurement"]["status"]) if "measurement" in data else ""


def campaign_report(
    chosen: str | None = None, *, now: Callable[[], str] = clock, progress: Callable[[str], None] = quiet
) -> Answer:
    """REPORT: baseline against best in one run, then the whole story; before the end, the story so far."""
    campaign = read_campaign(chosen)
    if campaign.state.phase in (Phase.REPORT, Phase.REPORTED):
        with write_campaign(chosen, now=now, progress=progress) as campaign:
            progress("measuring baseline against best on every shape, head-to-head")
            _compare(campaign)
            progress("measuring what the machine allows")
            _find_roof(campaign)
            _train(campaign, progress)
            if campaign.state.reported_at is None:
                campaign.record("reported", headline=find_headline(campaign.state))
            progress("drawing the pictures, writing the report")
            _write_report(campaign)
    state = campaign.state
    return Answer(report=build_report(state), data=_encode_report(campaign))


def _compare(campaign: Campaign) -> None:
    """Measure baseline and best head-to-head on every shape, once."""
    state = campaign.state
    if state.head_to_head is not None or state.best.number == 1:
        return
    check_frozen(campaign)
    start, best = state.kernel(state.rounds[0].kernel), state.kernel(state.best.kernel)
    trial = Trial(best=start, candidate=best, start=start, labels=campaign.bench.labels, alpha=0.01)
    measured = campaign.bench.measure(trial)
    if measured.measurement.status is Status.CONTROLS_FAILED:
        raise BenchError(
            "The head-to-head run's controls failed: it says nothing.",
            hint="Run `layline campaign report` again when the machine is quieter.",
        )
    verdict = campaign.bench.judge(measured.measurement, None)
    campaign.record("compared", level=Level.FULL.value, verdict=codec.encode(verdict), **encode_measured(measured))


def _find_roof(campaign: Campaign) -> None:
    """Measure what the machine allows, once, where the operator says how much work a shape is."""
    state = campaign.state
    run = state.head_to_head[0] if state.head_to_head else None
    if state.ceilings is not None or run is None or not isinstance(campaign.bench, TrustedBench):
        return
    found = find_ceilings(campaign.bench.operator)
    if found is None:
        return
    legs = ((Arm.BEST, "start"), (Arm.CANDIDATE, "best"))
    points = [point for leg, name in legs for point in find_points(campaign.bench.operator, run.measurement, leg, name)]
    listed = [{"label": point.label, "intensity": point.intensity, "rate": point.rate} for point in points]
    what = "The accelerator" if campaign.bench.operator.is_on_device else "One core"
    campaign.record("ceilings", flops_per_s=found.flops_per_s, bytes_per_s=found.bytes_per_s, points=listed, what=what)


def _train(campaign: Campaign, progress: Callable[[str], None]) -> None:
    """A real training loop with the starting kernel and with the best, once, where the operator has a place in one."""
    state, bench = campaign.state, campaign.bench
    is_done = state.training is not None and bool(state.training.sets)
    if is_done or state.best.number == 1 or not isinstance(bench, TrustedBench):
        return
    if bench.operator.name not in REPLACED or not has_device():
        return  # an archive may be reported on elsewhere; the report says what is missing
    start, best = (to_snapshot(state.kernel(item.kernel)) for item in (state.rounds[0], state.best))
    campaign.record("trained", training=codec.encode(train(bench.operator, start, best, progress=progress)))


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


def _encode_report(campaign: Campaign) -> dict[str, Any]:
    state = campaign.state
    found = attribute(state, find_headline(state) or 0.0)
    head = state.head_to_head[1] if state.head_to_head else None
    return {
        **encode_state(state),
        "schema": "layline.campaign-report/1",
        "head_to_head": codec.encode(head) if head else None,
        "roofline": _encode_roof(campaign),
        "attribution": {
            "S_benchmark": found.structural_benchmark,
            "S_real": found.structural,
            "W_benchmark": found.weight_benchmark,
            "W_real": found.weight,
            "R": found.residual,
            "headline": find_headline(state),
            "real": found.real,
            "inflation_gap": found.gap,
            "verdict": found.verdict,
        },
        "termination": [list(check) for check in state.termination.checks] if state.termination else None,
    }


def _encode_roof(campaign: Campaign) -> dict[str, Any] | None:
    """Ceilings and places under them: of the head-to-head run, or what ANALYZE measured with the run of the best."""
    state = campaign.state
    if state.ceilings is not None:
        flops, moved, points = state.ceilings
        listed = [{"label": label, "intensity": above, "flops_per_s": rate} for label, above, rate in points]
        return {"what": state.ceiling_of, "flops_per_s": flops, "bytes_per_s": moved, "points": listed}
    analysis, run = state.analysis or {}, state.best.last_run if state.baseline else None
    known = analysis.get("flops_per_s") and analysis.get("bytes_per_s")
    if not known or run is None or not isinstance(campaign.bench, TrustedBench):
        return None
    best = state.best
    compared = [(Arm.BEST, f"round {best.best}"), (Arm.CANDIDATE, f"round {best.number}")]
    shown = compared if 1 <= best.best < best.number else [(Arm.BEST, f"round {best.number}")]
    listed = [
        {"label": point.label, "intensity": point.intensity, "flops_per_s": point.rate}
        for leg, name in shown
        for point in find_points(campaign.bench.operator, run.measurement, leg, name)
    ]
    ceilings = {key: analysis[key] for key in ("flops_per_s", "bytes_per_s")}
    return {"what": state.ceiling_of, **ceilings, "points": listed}


def campaign_accept(
    suite: str | None, chosen: str | None = None, *, no_suite: bool = False, now: Callable[[], str] = clock
) -> Answer:
    """Back in the project: report reviewed, diff clean, full suite green; then the campaign is accepted."""
    with write_campaign(chosen, now=now) as campaign:
        state = campaign.state
        command = choose_suite(suite, state, no_suite=no_suite)
        problems = [*_find_obstacles(campaign), *(_run_suite(campaign, command) if command else ())]
        told = f"`{command}` passed" if command else NO_SUITE
        if not problems:
            campaign.record("accepted", commit=campaign.tree.head(), suite=told)
            _write_report(campaign)
        said = f"Accepted at {campaign.tree.head()}: {told}."
        blocks = (Bullets(tuple(problems)),) if problems else (Paragraph(said),)
        title = f"Campaign {state.manifest.name}: {'not accepted' if problems else 'accepted'}"
        data: answers.Accept = {
            "schema": "layline.campaign-accept/1",
            "accepted": not problems,
            "problems": problems,
            "suite": command,
        }
        report = Report(title=title, sections=(Section(title="", blocks=blocks),))
        return Answer(report=report, data=data, needs_person=bool(problems))


def choose_suite(suite: str | None, state: State, *, no_suite: bool) -> str | None:
    """The command that must be green; going without one is said, never assumed, and may be made good later."""
    was_without = state.phase is Phase.ACCEPTED and state.acceptance.get("suite") == NO_SUITE and suite
    if state.phase is not Phase.REPORTED and not was_without:
        raise ConfigError(f"The campaign is in {state.phase}.", hint="Acceptance follows `layline campaign report`.")
    if suite and no_suite:
        raise ConfigError("--suite and --no-suite exclude each other.")
    command = suite or state.manifest.test_command
    if not command and not no_suite:
        raise ConfigError(
            "No test suite is named, so nothing shows that the project still works with the new kernel.",
            hint="Give `--suite 'COMMAND'`, or `--no-suite` to accept without one; the report then says so.",
        )
    return None if no_suite else command


def _run_suite(campaign: Campaign, command: str) -> Iterator[str]:
    """What the project's suite has against it; nothing where it is green."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=campaign.tree.root, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        last = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()[-1:]
        yield f"the full suite failed ({done.returncode}): {last[0] if last else 'it said nothing'}"


def _find_obstacles(campaign: Campaign) -> list[str]:
    state, tree = campaign.state, campaign.tree
    found = list(find_deviations(campaign))
    dirty = [change.path for change in find_dirt(tree.find_changes(), state.origin.get("draft"))]
    if dirty:
        found.append(f"the diff is not clean: {', '.join(dirty[:5])}")
    last = [item.commit for item in state.rounds if item.settled is Settled.ACCEPTED and item.commit]
    if last and tree.head() != last[-1]:
        found.append(f"HEAD is {tree.head()[:12]}, the last accepted round is {last[-1][:12]}")
    if attribute(state, find_headline(state) or 0.0).residual:
        found.append("an accepted round cannot defend its transfer; roll it back first")
    return found
