"""The final report of a campaign: facts in reading order, from the state alone. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from layline.campaign.command.transfer import find_missing
from layline.campaign.devices.roof import say_share
from layline.campaign.folder.training_report import find_training_section
from layline.campaign.folder.transfer_check import attribute, bucket_of
from layline.campaign.ledger.rules import is_ineffective, read_score
from layline.campaign.ledger.state import Settled
from layline.campaign.values.manifest import Measuring
from layline.campaign.values.markdown import number
from layline.core.evidence import Alert, Severity, Skipped
from layline.core.report import Bullets, Chart, Paragraph, Report, Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from layline.campaign.folder.transfer_check import Attribution
    from layline.campaign.ledger.state import Round, Run, State
    from layline.campaign.values.verdict import Verdict
    from layline.core.report import Block


AGAIN = "`layline campaign report` measures the two again, on other values"
SAID, ALIKE = 6, 0.75
"""Letters from which a text within another is the same, and the likeness from which two are."""


def build_report(state: State) -> Report:
    """Head-to-head first; the product of the rounds' gains is never the headline."""
    headline = find_headline(state)
    attribution = attribute(state, headline or 0.0)
    return Report(
        title=f"Campaign {state.manifest.name}: {'final report' if state.termination else 'report so far'}",
        sections=(
            Section(title="Baseline against best", blocks=tuple(_head_to_head(state))),
            Section(title="Rounds", blocks=tuple(_rounds(state))),
            Section(title="Effective directions", blocks=(_directions(state, Settled.ACCEPTED),)),
            Section(title="Ineffective directions", blocks=(_ineffective(state),)),
            Section(title="Could not be decided", blocks=(_undecided(state),)),
            Section(title="Next three steps", blocks=(_next_steps(state),)),
            Section(
                title="Real-training applicability audit",
                blocks=tuple(_applicability(attribution, measured=headline is not None)),
            ),
            Section(title="What the machine allows", blocks=tuple(_roof(state))),
            Section(title="Termination check", blocks=(_termination(state),)),
            Section(title="How it was measured", blocks=(Bullets(tuple(_conditions(state))),)),
            *find_training_section(state.training),
        ),
        alerts=(*_tell_refused(state), *(_alerts(attribution) if headline is not None else ())),
        skipped=tuple(_skipped(state)),
        meta=(
            ("operator", state.manifest.target_op),
            ("language", state.manifest.target_lang),
            ("hardware", state.manifest.target_gpu),
            ("began", state.created_at),
            ("ledger", state.head),
        ),
    )


def find_headline(state: State) -> float | None:
    """The gain of the best over the baseline, both measured in one run."""
    if state.head_to_head is None or state.head_to_head[1].interval is None:
        return None
    return state.head_to_head[1].interval.estimate


def _head_to_head(state: State) -> Iterator[Block]:
    if state.head_to_head is None:
        going = state.baseline is None or state.best.number > 1
        yield Paragraph(
            "Not measured yet: this is measured once the campaign has been stopped."
            if going
            else "No round was accepted: the best is the baseline."
        )
        return
    run, verdict = state.head_to_head
    if verdict.interval is not None:
        interval = verdict.interval
        yield Paragraph(
            f"{interval.estimate:+.1%} on the primary metric ({interval.confidence:.2%} one-sided bounds "
            f"{interval.lower:+.1%} "
            f"to {interval.upper:+.1%}), baseline and best measured together on {run.at} in {interval.pairs} "
            "process pairs."
        )
    if verdict.shapes:
        yield _tabulate(verdict)
    yield from _tell_gates(run, verdict)
    if state.refused_before:
        yield Bullets(tuple(f"An earlier run, on {at}, gave no figure: {why}" for at, why in state.refused_before))


def _tabulate(verdict: Verdict) -> Table:
    rows = tuple(
        (
            gain.shape,
            f"{gain.best_ms:.4f}",
            f"{gain.candidate_ms:.4f}",
            f"{gain.gain.estimate:+.1%}",
            f"{gain.gain.lower:+.1%} … {gain.gain.upper:+.1%}",
        )
        for gain in verdict.shapes
    )
    columns = ("shape", "baseline ms", "best ms", "gain", "bounds, for all shapes at once")
    return Table(columns=columns, rows=rows, numeric=frozenset({1, 2, 3}))


def _tell_gates(run: Run, verdict: Verdict) -> Iterator[Block]:
    failed = run.measurement.failed_gates
    if verdict.interval is None:
        yield Paragraph(f"On {run.at} the best was refused, so there is no figure: {verdict.reason}")
    if failed:
        rows = tuple((gate.property, gate.reason, "; ".join(gate.evidence)) for gate in failed)
        yield Table(columns=("property", "reason", "evidence"), rows=rows)
    elif verdict.interval is not None:
        yield Paragraph("Gates in that run: all passed.")
    if verdict.interval is None:
        yield Paragraph(f"{AGAIN}; a property that fails again is the kernel's.")


def _tell_refused(state: State) -> Iterator[Alert]:
    """A report without its figure says so first."""
    if state.head_to_head is not None and find_headline(state) is None:
        why = state.head_to_head[1].reason
        message = f"The best was refused when it was measured against the baseline: {why} {AGAIN}."
        yield Alert(severity=Severity.BREAKS, message=message)


def _rounds(state: State) -> Iterator[Block]:
    accepted, rolled = (
        sum(item.settled is which for item in state.rounds) for which in (Settled.ACCEPTED, Settled.ROLLED_BACK)
    )
    yield Paragraph(f"{len(state.rounds)} rounds: the baseline, {accepted} accepted, {rolled} rolled back.")
    yield from build_charts(state)
    rows = tuple(
        (str(item.number), str(item.settled), item.change, _gain(item), f"rounds/round-{item.number}/summary.md")
        for item in state.rounds
    )
    yield Table(
        columns=("round", "status", "change", "gain over the best", "details"), rows=rows, numeric=frozenset({0, 3})
    )


def build_charts(state: State) -> Iterator[Chart]:
    """Gains with their intervals, which kernel came from which, and rounds × shapes."""
    judged = [item for item in state.rounds if item.verdict is not None and item.verdict.interval is not None]
    if not judged:
        return
    names = [f"{item.number}{'' if item.settled is Settled.ACCEPTED else ' ✗'}" for item in judged]
    bounds = [item.verdict.interval for item in judged if item.verdict and item.verdict.interval]
    series = (
        ("gain", tuple((name, 100 * item.estimate) for name, item in zip(names, bounds, strict=True))),
        ("low", tuple((name, 100 * item.lower) for name, item in zip(names, bounds, strict=True))),
        ("high", tuple((name, 100 * item.upper) for name, item in zip(names, bounds, strict=True))),
    )
    yield Chart(
        kind="intervals", title="Gain of each round over the best of its time (✗ rolled back)", series=series, unit="%"
    )
    yield _draw_lineage(state)
    rows = tuple(
        (f"round {item.number}", tuple((gain.shape, 100 * gain.gain.estimate) for gain in item.verdict.shapes))
        for item in judged
        if item.verdict
    )
    yield Chart(kind="heat", title="Gain by round and shape", series=rows, unit="%")


def _draw_lineage(state: State) -> Chart:
    """Every settled round at the one whose kernel it changed; the start at itself."""
    rounds = tuple(
        (
            f"{item.number}{' ✗' if item.settled is Settled.ROLLED_BACK else ''}",
            ((float(item.number if item.settled is Settled.BASELINE else item.best), _read_gain(item)),),
        )
        for item in state.rounds
        if item.settled is not None
    )
    return Chart(kind="lineage", title="Which kernel came from which (✗ rolled back)", series=rounds, unit="%")


def _read_gain(item: Round) -> float:
    interval = item.verdict.interval if item.verdict else None
    return 100 * interval.estimate if interval else 0.0


def _gain(item: Round) -> str:
    interval = item.verdict.interval if item.verdict else None
    return f"{interval.estimate:+.2%} (≥ {interval.lower:+.2%})" if interval else "–"


def _directions(state: State, which: Settled) -> Bullets | Paragraph:
    found = [item for item in state.rounds if item.settled is which]
    items = tuple(
        f"round {item.number}, {item.change}: {_gain(item)}. {' '.join(item.texts('attribution'))}".strip()
        for item in found
    )
    return Bullets(items) if items else Paragraph("None.")


def _ineffective(state: State) -> Table | Paragraph:
    found = [item for item in state.rounds if is_ineffective(item)]
    if not found:
        return Paragraph("None was shown to be ineffective.")
    rows = tuple(
        (
            item.change,
            f"round-{item.number}",
            " ".join(item.texts("diagnosis")) or (item.verdict.reason if item.verdict else ""),
        )
        for item in found
    )
    return Table(columns=("direction", "round", "why it failed"), rows=rows)


def _undecided(state: State) -> Bullets | Paragraph:
    """Rolled back without being shown not to help: a quieter machine or more pairs may decide otherwise."""
    found = [item for item in state.rounds if item.settled is Settled.ROLLED_BACK and not is_ineffective(item)]
    return (
        Bullets(tuple(f"round {item.number}, {item.change}: {_gain(item)}" for item in found))
        if found
        else Paragraph("Nothing.")
    )


def _next_steps(state: State) -> Bullets | Paragraph:
    """The newest directions and next steps people wrote down and nobody tried since, three at most; Layline invents
    none.
    """
    written = [
        (item.number, text)
        for item in reversed(state.rounds)
        for kind in ("next", "direction")
        for text in item.texts(kind)
    ]
    tried = [(item.number, text) for item in state.rounds for text in (item.change, item.hypothesis)]
    chosen = tuple(dict.fromkeys(drop_done(written, tried)))[:3]
    return (
        Bullets(chosen, ordered=True)
        if chosen
        else Paragraph("None written down yet (`layline campaign note … --next`).")
    )


def drop_done(written: Iterable[tuple[int, str]], tried: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Steps that no later round says it took, in about the same words."""
    for round_, text in written:
        if not any(later > round_ and _is_same(text, done) for later, done in tried):
            yield text


def _is_same(one: str, other: str) -> bool:
    short, long = sorted((" ".join(text.lower().split()) for text in (one, other)), key=len)
    within = len(short) >= SAID and short in long
    return within or SequenceMatcher(None, short, long).ratio() >= ALIKE


def _applicability(found: Attribution, *, measured: bool) -> Iterator[Block]:
    if not measured:
        yield Paragraph("No head-to-head figure: there is no gain to share among the rounds.")
        return
    rows = [
        (
            "Structural kernel work",
            "K1 / K2 / K3 / K4",
            f"{found.structural_benchmark:+.2%}",
            f"{found.structural:+.2%}",
        ),
        ("Bounded weight cache", "W1", f"{found.weight_benchmark:+.2%}", f"{found.weight:+.2%}"),
        ("Benchmark-only residual", "must be 0", f"{found.residual:+.2%}", "+0 %"),
        ("Total", "head-to-head", f"{found.headline:+.2%}", f"{found.real:+.2%}"),
    ]
    yield Table(
        columns=("source", "buckets", "benchmark gain", "real-training-equivalent gain"),
        rows=tuple(rows),
        numeric=frozenset({2, 3}),
    )
    yield Bullets(
        (
            f"Headline benchmark improvement: {found.headline:+.2%}",
            f"Real-training-equivalent improvement: {found.real:+.2%}",
            f"Inflation gap: {found.gap:+.2%}",
            f"Verdict: {found.verdict}",
        )
    )


def _roof(state: State) -> Iterator[Block]:
    if state.ceilings is None:
        yield Paragraph("Not measured.")
        return
    flops, moved, points = state.ceilings
    yield Paragraph(
        f"{state.ceiling_of}: {flops / 1e9:.1f} GFLOP/s of arithmetic, {moved / 1e9:.1f} GB/s of copying, measured "
        "with this report."
    )
    kernels = tuple((label, ((intensity, rate / 1e9),)) for label, intensity, rate in points)
    yield Chart(
        kind="roofline",
        title=f"{state.ceiling_of} under its roof (GFLOP/s over FLOP per byte)",
        series=(("roof", ((moved / 1e9, flops / 1e9),)), *kernels),
        unit="GFLOP/s",
    )
    rows = tuple(
        (label, f"{intensity:.1f}", f"{rate / 1e9:.2f}", say_share(rate / min(flops, intensity * moved), 1))
        for label, intensity, rate in points
    )
    yield Table(
        columns=("kernel and shape", "FLOP per byte", "GFLOP/s", "share of the roof"),
        rows=rows,
        numeric=frozenset({1, 2, 3}),
    )


def _alerts(found: Attribution) -> Iterator[Alert]:
    if found.residual or found.gap > 0.01:
        told = "is not shown to transfer" if found.unsimulated and not found.residual else "does not all transfer"
        yield Alert(severity=Severity.LOOK, message=f"The headline {told}: {found.verdict}.")


def _termination(state: State) -> Table | Paragraph:
    if state.termination is None:
        return Paragraph("The campaign is still going on.")
    rows = tuple((name, "yes" if holds else "no", why) for name, holds, why in state.termination.checks)
    return Table(columns=("condition", "holds", "why"), rows=rows)


def _conditions(state: State) -> Iterator[str]:
    manifest = state.manifest
    yield (
        f"Measuring: {manifest.measuring}; primary metric: {manifest.primary_metric}; least gain worth having: "
        f"{manifest.min_effect:.1%}."
    )
    if manifest.measuring is Measuring.COMMAND:
        yield from find_missing(manifest.transfer_command)
    run = state.head_to_head[0] if state.head_to_head else state.rounds[0].last_run if state.rounds else None
    if run is not None:
        machine = run.measurement.environment
        yield (
            f"Machine: {machine.cpu}, {machine.cores} cores, load {machine.load_before:.1f} to "
            f"{machine.load_after:.1f}, contended: {'yes' if machine.is_contended else 'no'}."
        )
        if machine.sandbox:
            yield f"Confined by: {', '.join(machine.sandbox)}."
        for weakness in machine.weaker:
            yield f"Not confined: {weakness}."
    if state.acceptance:
        told = "; ".join(state.acceptance[key] for key in ("suite", "benchmark") if key in state.acceptance)
        yield f"Accepted in the project at {state.acceptance['commit'][:12]}; {told}."
    baseline = read_score(state, state.rounds[0]) if state.baseline else None
    yield f"Baseline score as measured in round 1: {number(baseline)}."


def _skipped(state: State) -> Iterator[Skipped]:
    if state.ceilings is not None and state.ceiling_of != "One core" and state.training is None:
        yield Skipped(
            "training loop before and after",
            "not run yet: `layline campaign report` on a machine with the accelerator does",
        )
    for item in state.rounds:
        unsaid = [kind for kind in ("attribution", "next") if item.settled is Settled.ACCEPTED and not item.texts(kind)]
        if unsaid:
            yield Skipped(
                f"{' and '.join(unsaid)} of round {item.number}", "not written down yet (`layline campaign note`)"
            )
        if item.settled is Settled.ACCEPTED and item.verdict and item.verdict.transferred is None:
            yield Skipped(
                f"transfer of round {item.number} ({bucket_of(item)})", "not simulated, so its gain is not called real"
            )
