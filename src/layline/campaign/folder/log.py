"""`logs/optimize.md`, grown entry by entry: each entry adds a piece that depends on nothing later, so the log only
grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.folder.transfer_check import attribute
from layline.campaign.folder.trend import build_trend_head, build_trend_row
from layline.campaign.ledger.rules import find_duties, read_score
from layline.campaign.ledger.state import Level, Settled
from layline.campaign.values.markdown import number, one_line, percent, table
from layline.campaign.values.scores import compute_aggregates, read_primary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from layline.campaign.ledger.ledger import Entry
    from layline.campaign.ledger.state import Round, State


def build_logs(entries: Iterable[Entry], states: Iterable[State], place: str) -> tuple[str, str]:
    """The optimization log and the trend table; `states` are those after each entry."""
    log: list[str] = []
    trend: list[str] = []
    for entry, state in zip(entries, states, strict=True):
        log.append(build_piece(entry, state, place))
        if entry.kind == "settled":
            if entry.data["round"] == 1:
                trend.append(build_trend_head(state))
            trend.append(build_trend_row(state, state.rounds[-1]))
    return "".join(log), "".join(trend)


def build_piece(entry: Entry, state: State, place: str) -> str:  # noqa: PLR0911  one line per kind
    """What one entry adds to the log."""
    match entry.kind:
        case "created":
            return _head(state, place)
        case "settled" if entry.data["round"] == 1:
            return _baseline(state, entry.at)
        case "settled":
            return _attempt(state, state.rounds[-1])
        case "noted":
            return (
                f"- {entry.at} note on round-{entry.data['round']}, {entry.data['kind']}: "
                f"{one_line(entry.data['text'])}\n"
            )
        case "unmeasured":
            return f"- {entry.at} round-{entry.data['round']} could not be measured: {one_line(entry.data['reason'])}\n"
        case "withdrawn":
            return (
                f"- {entry.at} round-{entry.data['round']} was withdrawn before it was measured: "
                f"{one_line(entry.data['reason'])}\n"
            )
        case "recovered":
            return f"- {entry.at} an unfinished ledger entry of {entry.data['bytes']} bytes was removed after a crash\n"
        case "moved":
            return f"- {entry.at} moved from {entry.data['was']} to {entry.data['machine']}: figures before and after are not compared\n"
        case "stopped":
            return _termination(state)
        case "reported":
            return _final(state)
        case "accepted":
            return (
                f"\n## Acceptance in the project\n\n- Time: {entry.at}\n- Commit: `{entry.data['commit']}`\n- "
                f"Full suite: {one_line(entry.data['suite'])}\n"
                + (f"- Full benchmark: {one_line(entry.data['benchmark'])}\n" if "benchmark" in entry.data else "")
            )
        case _:
            return ""


def _head(state: State, place: str) -> str:
    manifest = state.manifest
    return (
        f"# {manifest.target_op} {manifest.target_backend} Optimization Log\n\n## Basic Information\n\n"
        f"- Target operator: {manifest.target_op}\n- Implementation language: {manifest.target_lang}\n"
        f"- Backend: {manifest.target_backend}\n- Target GPU: {manifest.target_gpu}\n- Campaign: {place}\n"
        f"- Start time: {state.created_at}\n- Commit: `{state.origin['commit']}`\n"
        "- Current status: the last entry of this log; it is append-only and derived from ledger.jsonl\n"
    )


def _baseline(state: State, at: str) -> str:
    item = state.rounds[0]
    run = item.last_run
    figures = run.table() if run else None
    text = (
        f"\n## Baseline\n\n- Time: {at}\n- Backend: {state.manifest.target_backend}\n- GPU: "
        f"{state.manifest.target_gpu}\n- Commit: `{item.parent}`\n- Validation level: full\n\n"
    )
    if figures is not None:
        rows = [(row.label, *(number(row.number(name)) for name in figures.metrics), row.check) for row in figures.rows]
        text += table(("Shape", *figures.metrics, "Check"), rows) + "\n\n"
        text += "".join(
            f"- {name} aggregate (geomean): {number(value)}\n" for name, value in compute_aggregates(figures).items()
        )
    return (
        f"{text}- Aggregate score ({state.manifest.primary_metric}): {number(read_score(state, item))}\n- All "
        "Check: PASS\n"
        f"- Representative shapes: {', '.join(state.representative)}\n- Detailed data: rounds/round-1/summary.md\n"
        "- Quick baseline log: rounds/round-1/artifacts/quick_baseline.log\n\n## Optimization History\n"
    )


def _attempt(state: State, item: Round) -> str:
    accepted = item.settled is Settled.ACCEPTED
    gain = item.verdict.interval if item.verdict else None
    level = item.last_run.level if item.last_run else item.level
    lines = [
        f"\n### round-{item.number} — {one_line(item.change)}",
        "",
        f"- Time: {item.settled_at}",
        f"- Validation level: {level}"
        + (" (upgraded from quick)" if item.level is Level.QUICK and level is Level.FULL else ""),
        f"- Hypothesis: {one_line(item.hypothesis)}",
        (
            f"- Changes: {', '.join(state.manifest.kernel_files)}; bucket {item.bucket or 'none'}; expected "
            f"{one_line(item.expect or 'nothing stated')}"
        ),
        (
            f"- Result: {f'{percent(gain.estimate)} (at least {percent(gain.lower)})' if gain else 'no figures'}, "
            f"{'accepted' if accepted else 'not accepted'}"
        ),
        f"- Test: {'PASS' if item.last_run and not item.last_run.measurement.failed_gates and item.last_run.csv else 'FAIL'}",
        f"- Decision: {'accept' if accepted else 'rollback'}",
        f"- Detailed data: rounds/round-{item.number}/summary.md",
        f"- Notes: {one_line(item.verdict.reason) if item.verdict else 'none'}",
    ]
    if accepted:
        lines += ["", _current_best(state, item)]
    duties = list(find_duties(state))
    if duties:
        lines += ["", "Before the next round:", *(f"- [ ] {duty.note}: {duty.why}" for duty in duties)]
    return "\n".join(lines) + "\n"


def _current_best(state: State, item: Round) -> str:
    """The best after an accepted round, beside the baseline's stored figures on the same shapes."""
    base, run = state.rounds[0].last_run, item.last_run
    before, after = (base.table() if base else None), (run.table() if run else None)
    if before is None or after is None:
        return ""
    primary = state.manifest.primary_metric
    rows = []
    for row in after.rows:
        old = before.row(row.label)
        was, now = read_primary(old, before, primary) if old else None, read_primary(row, after, primary)
        rows.append((row.label, number(was), number(now), percent(now / was - 1 if now and was else None)))
    return f"#### Current best after round-{item.number}\n\n" + table(
        ("Shape", "Baseline", "Current Best", "Improvement"), rows
    )


def _final(state: State) -> str:
    """The final report in the specification's words; the whole of it is in report.md."""
    counts = [sum(item.settled is which for item in state.rounds) for which in (Settled.ACCEPTED, Settled.ROLLED_BACK)]
    head = state.head_to_head[1].interval if state.head_to_head else None
    effective = [
        f"round-{item.number} {one_line(item.change)}" for item in state.rounds if item.settled is Settled.ACCEPTED
    ]
    ineffective = [
        f"round-{item.number} {one_line(item.change)}" for item in state.rounds if item.settled is Settled.ROLLED_BACK
    ]
    steps = [text for item in reversed(state.rounds) for kind in ("next", "direction") for text in item.texts(kind)][:3]
    return (
        f"\n## Final Report\n\n- Baseline aggregate score: {number(read_score(state, state.rounds[0]))}\n"
        f"- Final best, head-to-head in one run: {_tell_best(state)}\n"
        f"- Total iterations: {len(state.rounds)} (accepted: {counts[0]}, rollback: {counts[1]})\n"
        f"- Key effective optimizations: {'; '.join(effective) or 'none'}\n"
        f"- Verified ineffective directions: {'; '.join(ineffective) or 'none'}\n"
        "- If continuing optimization, recommended next three steps: "
        f"{'; '.join(one_line(step) for step in steps) or 'nobody wrote any down'}\n"
        f"{'' if state.head_to_head and head is None else _audit(state, head.estimate if head else 0.0)}"
    )


def _tell_best(state: State) -> str:
    if state.head_to_head is None:
        return "the baseline itself"
    run, verdict = state.head_to_head
    if verdict.interval is None:
        return f"no figure, because the best was refused against the baseline on {run.at}: {one_line(verdict.reason)}"
    return f"{percent(verdict.interval.estimate)} (at least {percent(verdict.interval.lower)})"


def _audit(state: State, headline: float) -> str:
    """How much of the gain training sees."""
    found = attribute(state, headline)
    rows = (
        (
            "Structural kernel work",
            "K1 / K2 / K3 / K4 rounds",
            percent(found.structural_benchmark),
            percent(found.structural),
        ),
        ("Bounded weight cache", "W1 rounds", percent(found.weight_benchmark), percent(found.weight)),
        ("Benchmark-only residual", "(must be 0 for a clean campaign)", percent(found.residual), "+0%"),
        ("**Total**", "head-to-head", percent(found.headline), percent(found.real)),
    )
    return (
        f"\n### Real-training applicability audit\n\n"
        f"{table(('Source', 'Buckets', 'Benchmark gain', 'Real-training-equivalent gain'), rows)}\n\n"
        f"- Headline benchmark improvement: {percent(found.headline)}\n- Real-training-equivalent improvement: "
        f"{percent(found.real)}\n"
        f"- Inflation gap: {percent(found.gap)}\n- Verdict: {found.verdict}\n"
    )


def _termination(state: State) -> str:
    if state.termination is None:
        return ""
    lines = [f"- {name}: {'✅' if holds else '❌'} ({one_line(why)})" for name, holds, why in state.termination.checks]
    satisfied = ", ".join(name.split()[0] for name in state.termination.satisfied)
    return (
        f"\n### Termination Check\n\n- Time: {state.termination.at}\n"
        + "\n".join(lines)
        + f"\n-> Satisfied condition(s): {satisfied}\n"
    )
