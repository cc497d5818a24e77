"""Reports of a campaign's commands: what happened, why, and what is due next."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from layline import codec
from layline.campaign.ledger.rules import find_duties, read_score
from layline.campaign.ledger.slower_best import find_slower_best
from layline.campaign.ledger.state import Phase, Settled
from layline.campaign.values.judge import describe_resolution
from layline.campaign.values.measurement import Outcome
from layline.core.evidence import Alert, Severity
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign import answers
    from layline.campaign.ledger.state import Round, State
    from layline.campaign.values.verdict import Verdict


def answer_round(state: State, item: Round, place: str) -> Answer:
    """What became of a round; rolled back and inconclusive ones need a person."""
    accepted = item.settled in (Settled.ACCEPTED, Settled.BASELINE)
    sections = [Section(title="Verdict", blocks=(Bullets(tuple(_verdict_lines(state, item))),))]
    if item.verdict is not None and item.verdict.shapes:
        sections.append(Section(title="Shapes", blocks=(_shape_table(item.verdict),)))
    sections += _gate_sections(item, place)
    sections.append(Section(title="Next", blocks=(Bullets(tuple(describe_next(state))),)))
    report = Report(
        title=f"Round {item.number}: {item.settled}",
        sections=tuple(sections),
        meta=(("campaign", state.manifest.name), ("folder", place)),
        alerts=tuple(Alert(severity=Severity.LOOK, message=told) for told in (find_slower_best(state, item),) if told),
    )
    return Answer(report=report, data=encode_round(state, item), needs_person=not accepted)


def _verdict_lines(state: State, item: Round) -> list[str]:
    lines = [f"Hypothesis: {item.hypothesis}", f"Change: {item.change}"]
    score = read_score(state, item)
    if item.settled is Settled.BASELINE:
        lines.append(
            f"Baseline score ({state.manifest.primary_metric}): {score:.6g}" if score else "Baseline without a score."
        )
        lines.append(f"Representative shapes: {', '.join(state.representative)}")
        resolution = describe_resolution(item.last_run.measurement) if item.last_run else ""
        return [*lines, *([resolution] if resolution else [])]
    if item.verdict is None:
        return lines
    then = ", so it was rolled back" if item.verdict.outcome is Outcome.INCONCLUSIVE else ""
    lines.append(f"{item.verdict.outcome}{then}: {item.verdict.reason}")
    literal = item.verdict.amd_literal
    if literal is not None:
        lines.append(f"AMD's rule on the same figures {'accepts' if literal.accepts else 'refuses'}: {literal.reason}")
        if not literal.agrees:
            lines.append(f"Why they differ: {literal.explanation}")
    lines += item.verdict.notes
    if item.commit:
        lines.append(f"Committed as {item.commit} (plumbing: no hook ran, nothing was signed).")
    if item.settled is Settled.ROLLED_BACK:
        lines.append(f"The kernel of round {item.best} was restored.")
    return lines


def _shape_table(verdict: Verdict) -> Table:
    rows = tuple(
        (
            gain.shape,
            f"{gain.best_ms:.4f}",
            f"{gain.candidate_ms:.4f}",
            f"{gain.gain.estimate:+.2%}",
            f"{gain.gain.lower:+.2%} … {gain.gain.upper:+.2%}",
        )
        for gain in verdict.shapes
    )
    columns = ("shape", "best ms", "candidate ms", "gain", "bounds, for all shapes at once")
    return Table(columns=columns, rows=rows, numeric=frozenset({1, 2, 3}))


def _gate_sections(item: Round, place: str) -> list[Section]:
    run = item.last_run
    failed = [gate for gate in (*run.measurement.gates, *run.measurement.controls) if not gate.passed] if run else []
    if not failed:
        return []
    rows = tuple((gate.property, gate.reason, "; ".join(gate.evidence)) for gate in failed)
    again = Paragraph(
        f"Where to look: {place}/rounds/round-{item.number}/kernel_snapshot holds the kernel as it was measured. See "
        "it again: "
        f"`layline campaign explain {item.number}` measures it once more and shows every property."
    )
    return [Section(title="What failed", blocks=(Table(columns=("property", "reason", "evidence"), rows=rows), again))]


def describe_next(state: State) -> list[str]:
    duties = [
        f'`layline campaign note {state.rounds[-1].number} --{duty.note} "…"`: {duty.why}.'
        for duty in find_duties(state)
    ]
    return [*duties, f"{'Then: ' if duties else ''}{_NEXT[state.phase]}"]


_NEXT = {
    Phase.BASELINE: "`layline campaign baseline` measures the starting kernel.",
    Phase.ANALYZE: "Edit the kernel, one change, then `layline campaign round --hypothesis … --change … --bucket …`.",
    Phase.VALIDATE: "A round is open: `layline campaign resume` finishes it.",
    Phase.REPORT: "`layline campaign report` measures baseline against best and writes the final report.",
    Phase.REPORTED: "`layline campaign accept`, back in the project.",
    Phase.ACCEPTED: "Nothing: the campaign is accepted.",
}


def answer_status(state: State, place: str) -> Answer:
    best = state.best if state.baseline else None
    counts = {settled: sum(item.settled is settled for item in state.rounds) for settled in Settled}
    lines = [
        f"Phase: {state.phase}",
        f"Rounds: {len(state.rounds)} ({counts[Settled.ACCEPTED]} accepted, {counts[Settled.ROLLED_BACK]} rolled back)",
        f"Best: round {best.number}" if best else "Best: none yet",
        f"Rollbacks in a row: {len(state.streak)}",
        *([f"Machine: {state.machine}"] if state.machine else []),
        *(f"Moved {at} from {was}: figures before and after are not compared." for at, was, _ in state.moves),
        f"Ledger: {state.head[:16]}",
    ]
    report = Report(
        title=f"Campaign {state.manifest.name}",
        sections=(
            Section(title="State", blocks=(Bullets(tuple(lines)),)),
            Section(title="Rounds", blocks=(_round_table(state),)),
            Section(title="Next", blocks=(Bullets(tuple(describe_next(state))),)),
        ),
        meta=(("folder", place),),
        alerts=tuple(Alert(severity=Severity.LOOK, message=duty.why) for duty in find_duties(state)),
    )
    return Answer(report=report, data=encode_state(state))


def _round_table(state: State) -> Table | Paragraph:
    if not state.rounds:
        return Paragraph("No round yet.")
    rows = tuple(
        (
            str(item.number),
            str(item.settled or "open"),
            item.change,
            _gain(item),
            item.verdict.reason if item.verdict else "",
        )
        for item in state.rounds
    )
    return Table(columns=("round", "status", "change", "gain", "reason"), rows=rows, numeric=frozenset({0, 3}))


def _gain(item: Round) -> str:
    interval = item.verdict.interval if item.verdict else None
    return f"{interval.estimate:+.2%} (≥ {interval.lower:+.2%})" if interval else "–"


def encode_state(state: State) -> answers.Campaign:
    return {"schema": "layline.campaign/1", **encode_shared(state)}


def encode_shared(state: State) -> answers.CampaignState:
    """What status and report have in common."""
    return {
        "name": state.manifest.name,
        "phase": state.phase.value,
        "best": state.best.number if state.baseline else None,
        "rollbacks_in_a_row": len(state.streak),
        "duties": [{"note": duty.note, "why": duty.why} for duty in find_duties(state)],
        "representative_shapes": list(state.representative),
        "machine": state.machine,
        "moves": [{"at": at, "was": was, "machine": machine} for at, was, machine in state.moves],
        "ledger": state.head,
        "rounds": [encode_round(state, item) for item in state.rounds],
    }


def encode_round(state: State, item: Round) -> answers.Round:
    verdict = codec.encode(item.verdict) if item.verdict else None
    return {
        "schema": "layline.round/1",
        "round": item.number,
        "settled": item.settled.value if item.settled else None,
        "hypothesis": item.hypothesis,
        "change": item.change,
        "bucket": item.bucket.value if item.bucket else None,
        "proposer": item.proposer,
        "level": item.last_run.level.value if item.last_run else item.level.value,
        "score": read_score(state, item),
        "compared_with": item.best if 1 <= item.best < item.number else None,
        "commit": item.commit,
        "kernel": item.kernel,
        "diff": "".join(_diff(state, item)),
        "verdict": verdict,
        "alarm": find_slower_best(state, item) or None,
    }


def _diff(state: State, item: Round) -> Iterator[str]:
    """What the round changed in the kernel it was compared with."""
    compared = state.round(item.best).kernel if 1 <= item.best < item.number else item.kernel
    if not {compared, item.kernel} <= state.kernels.keys():
        return
    old, new = _texts(state, compared), _texts(state, item.kernel)
    for path in sorted({*old, *new}):
        before, after = old.get(path, "").splitlines(keepends=True), new.get(path, "").splitlines(keepends=True)
        yield from difflib.unified_diff(before, after, f"round {item.best}/{path}", f"round {item.number}/{path}")


def _texts(state: State, kernel: str) -> dict[str, str]:
    return {file.path: file.data.decode("utf-8", "replace") for file in state.kernel(kernel).files}
