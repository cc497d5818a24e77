"""`rounds/round-N/summary.md`: one round with every section of the specification. Pure text from the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.folder.transfer_check import build_transfer_check
from layline.campaign.ledger.state import Level, Settled
from layline.campaign.values.bench_csv import DIMENSIONS
from layline.campaign.values.markdown import MINUS, number, one_line, percent, table
from layline.campaign.values.measurement import Outcome
from layline.campaign.values.scores import compute_aggregates, compute_score, geometric_mean, read_primary

if TYPE_CHECKING:
    from layline.campaign.ledger.state import Round, Run, State
    from layline.campaign.values.bench_csv import BenchTable
    from layline.campaign.values.verdict import Verdict


def build_summary(state: State, item: Round) -> str:
    """The canonical record of one settled round."""
    is_baseline = item.settled is Settled.BASELINE
    sections = [
        ("Hypothesis", one_line(item.hypothesis)),
        ("Single change", one_line(item.change)),
        ("Results", _results(state, item)),
        ("Decision", _decision(item)),
        (
            "Attribution",
            _noted(item, "attribution", "" if is_baseline else "Not written yet: `layline campaign note`."),
        ),
        ("Next direction", _noted(item, "next", "Not written yet: `layline campaign note`.")),
    ]
    if item.settled is Settled.ROLLED_BACK:
        sections.append(("Rollback Analysis", _rollback_analysis(item)))
    sections.append(("Real-training transfer check", build_transfer_check(state, item)))
    return "\n".join(f"## {title}\n\n{text}\n" for title, text in sections)


def _noted(item: Round, kind: str, otherwise: str) -> str:
    texts = item.texts(kind)
    if texts:
        return "\n\n".join(one_line(text) for text in texts)
    if kind == "attribution" and item.settled is Settled.BASELINE:
        return "Baseline round: there is nothing to attribute."
    return otherwise


def _results(state: State, item: Round) -> str:
    parts = ["### Validation", _validation(state, item)]
    run = item.last_run
    measured = run.table() if run else None
    if run is not None and measured is not None:
        parts += [_shape_table(state, item, run, measured), "### Aggregate", _aggregate(state, item, run, measured)]
    if item.verdict is not None:
        parts += _judgement(item.verdict)
    if item.integration is not None:
        parts.append(
            f"### Integration gate\n\n- {'passed' if item.integration[0] else 'FAILED'}: "
            f"{one_line(item.integration[1])}"
        )
    if run is not None:
        parts += _gates(run)
    return "\n\n".join(part for part in parts if part)


def _validation(state: State, item: Round) -> str:
    manifest = state.manifest
    runs = ", ".join(
        f"{run.level} ({run.measurement.status}, {run.measurement.pairs} process pairs)" for run in item.runs
    )
    run = item.last_run
    artifacts = "`artifacts/benchmark.csv` (candidate)"
    if run is not None and run.best_csv:
        artifacts += ", `artifacts/best.csv` (the opponent, measured in the same run)"
    elif item.settled is Settled.BASELINE:
        artifacts = "`artifacts/benchmark.csv` (the starting kernel), `artifacts/quick_baseline.log`"
    lines = [
        f"- Time: {item.settled_at}",
        f"- Validation level: {run.level if run else item.level}",
        f"- Measured: {runs or 'nothing'}",
        f"- Test command: {manifest.test_command or 'the operator’s fp64 oracle, on every timed call'}",
        f"- Benchmark command: {manifest.quick_command or f'layline, operator {manifest.operator}'}",
        f"- Raw artifacts: {artifacts if run and run.csv else 'none'}",
    ]
    return "\n".join(lines + [f"- Could not be measured before: {one_line(reason)}" for reason in item.unmeasured])


def _shape_table(state: State, item: Round, run: Run, measured: BenchTable) -> str:
    best = run.table(best=True)
    dimensions = [name for name in measured.header if name in DIMENSIONS and (name != "B" or not measured.is_gemm)]
    snr = [name for name in measured.header if name.endswith("_snr")]
    times = [name for name in measured.header if name.endswith("(ms)")]
    columns = ("Shape / label", *dimensions, "Result", *measured.metrics, *times, "Delta vs current best", *snr)
    gains = {gain.shape: gain.gain.estimate for gain in item.verdict.shapes} if item.verdict else {}
    rows = []
    for row in measured.rows:
        opponent = best.row(row.label) if best else None
        delta = gains.get(row.label)
        if delta is None and opponent is not None and item.settled is not Settled.BASELINE:
            now, was = (
                read_primary(row, measured, state.manifest.primary_metric),
                read_primary(opponent, measured, state.manifest.primary_metric),
            )
            delta = now / was - 1 if now and was else None
        sizes = [f"{row.number(name) or 0:.0f}" for name in dimensions]
        figures = [number(row.number(name)) for name in (*measured.metrics, *times)]
        rows.append(
            (row.label, *sizes, row.check, *figures, percent(delta), *(number(row.number(name)) for name in snr))
        )
    return table(columns, rows)


def _aggregate(state: State, item: Round, run: Run, measured: BenchTable) -> str:
    primary = state.manifest.primary_metric
    means = compute_aggregates(measured)
    lines = [f"- {name} (geomean): {number(value)}" for name, value in means.items()]
    lines.append(f"- Score ({primary}): {number(compute_score(measured, primary))}")
    lines.append(
        f"- vs baseline: {percent(compare_on_same_shapes(state, item, primary))} (stored figures, same shapes; a "
        "hint, not a claim)"
    )
    if item.verdict and item.verdict.interval:
        interval = item.verdict.interval
        lines.append(
            f"- vs current best: {percent(interval.estimate)} "
            f"({interval.confidence:.2%} one-sided bounds {percent(interval.lower)} … {percent(interval.upper)}, "
            f"{interval.pairs} process pairs, both measured in this run)"
        )
    if run.level is Level.QUICK:
        lines.append("- Shapes: the representative ones; full validation was not needed.")
    return "\n".join(lines)


def compare_on_same_shapes(state: State, item: Round, primary: str) -> float | None:
    """Relative change from the baseline's stored figures to this round's, over the shapes both have."""
    base, run = state.rounds[0].last_run, item.last_run
    before, after = (base.table() if base else None), (run.table() if run else None)
    if before is None or after is None or item.settled is Settled.BASELINE:
        return None
    ratios = []
    for row in after.rows:
        old = before.row(row.label)
        now, was = read_primary(row, after, primary), read_primary(old, before, primary) if old else None
        if now and was:
            ratios.append(now / was)
    mean = geometric_mean(ratios)
    return mean - 1 if mean else None


def _judgement(verdict: Verdict) -> list[str]:
    literal = verdict.amd_literal
    lines = [f"- Verdict: {verdict.outcome}: {one_line(verdict.reason)}"]
    if literal is not None:
        lines.append(
            f"- AMD's rule on the same figures {'accepts' if literal.accepts else 'refuses'}: "
            f"{one_line(literal.reason)}"
        )
        if not literal.agrees:
            lines.append(f"- Why the two differ: {one_line(literal.explanation)}")
    lines += [f"- {one_line(note)}" for note in verdict.notes]
    return ["### Judgement", "\n".join(lines)]


def _gates(run: Run) -> list[str]:
    found = [*run.measurement.gates, *run.measurement.controls]
    if not found:
        return [f"### Gates\n\n- {one_line(run.measurement.problem)}"] if run.measurement.problem else []
    rows = [(gate.property, "passed" if gate.passed else "FAILED", one_line(gate.reason)) for gate in found]
    parts = ["### Gates and controls", table(("property", "result", "what was seen"), rows)]
    evidence = [f"- {gate.property}: {one_line(text)}" for gate in found if not gate.passed for text in gate.evidence]
    return [*parts, "\n".join(evidence)] if evidence else parts


def _decision(item: Round) -> str:
    if item.settled is Settled.BASELINE:
        return "`BASELINE`\n\nThe starting point every later figure is read against."
    reason = one_line(item.verdict.reason) if item.verdict else MINUS
    if item.integration is not None:
        reason = f"{reason}\n\n{one_line(item.integration[1])}"
    label = (
        f"{item.settled} (trade-off)"
        if item.verdict and item.verdict.outcome is Outcome.ACCEPT_TRADEOFF
        else item.settled
    )
    commit = f"\n\nCommit: `{item.commit}`" if item.commit else ""
    return f"`{label}`\n\n{reason}{commit}"


def _rollback_analysis(item: Round) -> str:
    actual = item.verdict.reason if item.verdict else MINUS
    lessons = item.texts("lesson")
    return "\n".join(
        (
            f"- Change made: {one_line(item.change)}",
            f"- Expected effect: {one_line(item.expect or item.hypothesis)}",
            f"- Actual effect: {one_line(actual)}",
            (
                "- Root cause: "
                f"{one_line(' '.join(item.texts('diagnosis')) or 'not diagnosed yet; required before the next round')}"
            ),
            f"- Lesson learned: {one_line(' '.join(lessons) or 'none recorded')}",
        )
    )
