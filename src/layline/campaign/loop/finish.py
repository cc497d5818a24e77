"""The end of a campaign: the head-to-head run, ceilings, training, and what stands in the way of acceptance."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from layline import codec
from layline.campaign.bench import Trial
from layline.campaign.devices.roof import find_points
from layline.campaign.folder.report import AGAIN, find_headline
from layline.campaign.folder.transfer_check import attribute
from layline.campaign.ledger.state import Level, Phase, Settled
from layline.campaign.loop.begin import find_dirt
from layline.campaign.rounds import Campaign, check_frozen, check_machine, encode_measured
from layline.campaign.told.status import encode_shared
from layline.campaign.trusted import TrustedBench, to_snapshot
from layline.campaign.values.manifest import Measuring
from layline.campaign.values.measurement import Arm, Status
from layline.campaign.verify import find_deviations
from layline.errors import BenchError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign import answers
    from layline.campaign.ledger.state import State


NO_SUITE = "no suite was run (--no-suite)"


def record_head_to_head(campaign: Campaign) -> None:
    """Measure baseline and best head-to-head on every shape, until there is a figure."""
    state = campaign.state
    if find_headline(state) is not None or state.best.number == 1:
        return
    check_frozen(campaign)
    check_machine(campaign)
    start, best = state.kernel(state.rounds[0].kernel), state.kernel(state.best.kernel)
    trial = Trial(best=start, candidate=best, start=start, labels=campaign.bench.labels, alpha=0.01)
    measured = campaign.bench.measure(trial)
    if measured.measurement.status is Status.CONTROLS_FAILED:
        raise BenchError(
            "The head-to-head run's controls failed, so its figures mean nothing.",
            hint="Run `layline campaign report` again when the machine is quieter.",
        )
    check_frozen(campaign)
    verdict = campaign.bench.judge(measured.measurement, None)
    campaign.record("compared", level=Level.FULL.value, verdict=codec.encode(verdict), **encode_measured(measured))


def record_roof(campaign: Campaign) -> None:
    """Measure what the machine allows, once, where the operator says how much work a shape is."""
    state = campaign.state
    run = state.head_to_head[0] if state.head_to_head else None
    if state.ceilings is not None or run is None or not isinstance(campaign.bench, TrustedBench):
        return
    found = campaign.bench.analyze(None, campaign.bench.operator.shapes[0]).ceilings
    if found is None:
        return
    legs = ((Arm.BEST, "start"), (Arm.CANDIDATE, "best"))
    points = [point for leg, name in legs for point in find_points(campaign.bench.operator, run.measurement, leg, name)]
    listed = [{"label": point.label, "intensity": point.intensity, "rate": point.rate} for point in points]
    what = "The accelerator" if campaign.bench.operator.is_on_device else "One core"
    campaign.record("ceilings", flops_per_s=found.flops_per_s, bytes_per_s=found.bytes_per_s, points=listed, what=what)


def record_training(campaign: Campaign) -> None:
    """A real training loop with the starting kernel and with the best, once, where the operator has a place in one."""
    state, bench = campaign.state, campaign.bench
    is_done = state.training is not None and bool(state.training.sets)
    if is_done or state.best.number == 1 or not isinstance(bench, TrustedBench):
        return
    found = bench.train(*(to_snapshot(state.kernel(item.kernel)) for item in (state.rounds[0], state.best)))
    if found is not None:  # an archive may be reported on elsewhere; the report says what is missing
        campaign.record("trained", training=codec.encode(found))


def encode_report(campaign: Campaign) -> answers.CampaignReport:
    state = campaign.state
    found = attribute(state, find_headline(state) or 0.0)
    head = state.head_to_head[1] if state.head_to_head else None
    return {
        **encode_shared(state),
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


def _encode_roof(campaign: Campaign) -> answers.Roofline | None:
    """Ceilings and places under them: of the head-to-head run, or what ANALYZE measured with the run of the best."""
    state = campaign.state
    if state.ceilings is not None:
        flops, moved, points = state.ceilings
        told: list[answers.RoofPoint] = [
            {"label": label, "intensity": above, "flops_per_s": rate} for label, above, rate in points
        ]
        return {"what": state.ceiling_of, "flops_per_s": flops, "bytes_per_s": moved, "points": told}
    analysis, run = state.analysis or {}, state.best.last_run if state.baseline else None
    known = analysis.get("flops_per_s") and analysis.get("bytes_per_s")
    if not known or run is None or not isinstance(campaign.bench, TrustedBench):
        return None
    best = state.best
    compared = [(Arm.BEST, f"round {best.best}"), (Arm.CANDIDATE, f"round {best.number}")]
    shown = compared if 1 <= best.best < best.number else [(Arm.BEST, f"round {best.number}")]
    listed: list[answers.RoofPoint] = [
        {"label": point.label, "intensity": point.intensity, "flops_per_s": point.rate}
        for leg, name in shown
        for point in find_points(campaign.bench.operator, run.measurement, leg, name)
    ]
    return {
        "what": state.ceiling_of,
        "flops_per_s": analysis["flops_per_s"],
        "bytes_per_s": analysis["bytes_per_s"],
        "points": listed,
    }


def choose_suite(suite: str | None, state: State, *, no_suite: bool) -> str | None:
    """The command that must be green; going without one is said, never assumed, and may be made good later."""
    was_without = state.phase is Phase.ACCEPTED and state.acceptance.get("suite") == NO_SUITE and suite
    if state.phase is not Phase.REPORTED and not was_without:
        raise ConfigError(f"The campaign is in {state.phase}.", hint="Acceptance follows `layline campaign report`.")
    if suite and no_suite:
        raise ConfigError("--suite and --no-suite cannot be used together.")
    command = suite or state.manifest.suite_command or state.manifest.test_command
    if not command and not no_suite:
        raise ConfigError(
            "No test suite is named, so nothing shows that the project still works with the new kernel.",
            hint="Give `--suite 'COMMAND'`, or `--no-suite` to accept without one; the report then says so.",
        )
    return None if no_suite else command


def run_suite(campaign: Campaign, command: str) -> Iterator[str]:
    """What the project's suite has against it; nothing where it is green."""
    yield from _run(campaign, command, "the full suite")


def run_benchmark(campaign: Campaign) -> Iterator[str]:
    """What the project's own benchmark, whole and as its people run it, has against a kernel that a command measured."""
    if command := find_benchmark(campaign.state):
        yield from _run(campaign, command, "the project's benchmark")


def find_benchmark(state: State) -> str | None:
    """Where the gate measures, the head-to-head run on every shape stands for it."""
    return state.manifest.benchmark_command if state.manifest.measuring is Measuring.COMMAND else None


def _run(campaign: Campaign, command: str, what: str) -> Iterator[str]:
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=campaign.tree.root, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        last = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()[-1:]
        yield f"{what} failed ({done.returncode}): {last[0] if last else 'it printed nothing'}"


def find_obstacles(campaign: Campaign) -> list[str]:
    state, tree = campaign.state, campaign.tree
    found = list(find_deviations(campaign))
    dirty = [change.path for change in find_dirt(tree.find_changes(), state.origin.get("draft"))]
    if dirty:
        found.append(f"the diff is not clean: {', '.join(dirty[:5])}")
    last = [item.commit for item in state.rounds if item.settled is Settled.ACCEPTED and item.commit]
    if last and tree.head() != last[-1]:
        found.append(f"HEAD is {tree.head()[:12]}, the last accepted round is {last[-1][:12]}")
    if state.head_to_head is not None and find_headline(state) is None:
        found.append(f"the best was refused against the baseline: {state.head_to_head[1].reason}; {AGAIN}")
    if attribute(state, find_headline(state) or 0.0).residual:
        found.append("an accepted round cannot show that its gain transfers to training; roll it back first")
    return found
