"""Why a round ended as it did: every property with its evidence, then and now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline import codec
from layline.campaign.measure.final_checks import describe_trace
from layline.core.report import Answer, Bullets, Report, Section, Table

if TYPE_CHECKING:
    from layline.campaign import answers
    from layline.campaign.ledger.state import Round
    from layline.campaign.values.measurement import GateResult, Measurement
    from layline.campaign.values.verdict import Verdict


def build_explained(item: Round, measurement: Measurement, verdict: Verdict, place: str) -> Answer:
    before = item.last_run.measurement if item.last_run else None
    recorded = item.verdict.reason if item.verdict else "no verdict"
    lines = [
        f"Recorded: {item.verdict.outcome if item.verdict else 'open'}: {recorded}",
        f"Measured again: {verdict.outcome}: {verdict.reason}",
        _compare(before, measurement),
        *verdict.notes,
    ]
    sections = (
        Section(title="Then and now", blocks=(Bullets(tuple(line for line in lines if line)),)),
        Section(title="Properties", blocks=(_table(measurement.gates),)),
        Section(title="To try it yourself", blocks=(Bullets(tuple(_tell_how(item, measurement, place))),)),
        Section(title="Controls", blocks=(_table(measurement.controls),)),
        Section(title="State and transfer", blocks=(Bullets(tuple(_tell_state(measurement, verdict))),)),
        Section(title="Accuracy", blocks=(_tell_accuracy(measurement),)),
        Section(title="Confinement", blocks=(Bullets(tuple(_tell_confinement(measurement))),)),
    )
    data: answers.Explained = {
        "schema": "layline.campaign-explain/1",
        "round": item.number,
        "recorded": codec.encode(item.verdict) if item.verdict else None,
        "verdict": codec.encode(verdict),
        "gates": [codec.encode(gate) for gate in measurement.gates],
        "controls": [codec.encode(control) for control in measurement.controls],
        "state": {
            "what": measurement.state,
            "bucket": measurement.bucket,
            "hit_trace": measurement.hit_trace,
            "weight_share": measurement.weight_share,
        },
        "accuracy": [codec.encode(accuracy) for accuracy in measurement.accuracy],
        "confinement": {
            "sandbox": list(measurement.environment.sandbox),
            "weaker": list(measurement.environment.weaker),
        },
    }
    return Answer(report=Report(title=f"Round {item.number}, explained", sections=sections), data=data)


def _compare(before: Measurement | None, now: Measurement) -> str:
    """Whether the same property failed both times."""
    then = {gate.property for gate in before.failed_gates} if before else set()
    again = {gate.property for gate in now.failed_gates}
    if not then and not again:
        return "No property was violated either time; the verdict rests on the times."
    if then == again:
        return f"The same property was violated both times: {', '.join(sorted(then))}."
    return f"Violated then: {', '.join(sorted(then)) or 'none'}; now: {', '.join(sorted(again)) or 'none'}."


def _tell_how(item: Round, measurement: Measurement, place: str) -> Iterator[str]:
    """Where the refused bytes lie, how they were compiled, which call it was."""
    yield f"The candidate: {place}/rounds/round-{item.number}/kernel_snapshot"
    if measurement.candidate is not None:
        yield f"Compiled with: {' '.join(measurement.candidate.command)}"
    for gate in measurement.failed_gates:
        yield f"Call it as it was called: {gate.reason}"
        yield from gate.evidence


def _tell_state(measurement: Measurement, verdict: Verdict) -> Iterator[str]:
    """What outlives a call, what it would hit in training, and what that leaves of the gain."""
    if not measurement.state:
        yield "Nothing that outlives a call makes a later one faster, as far as this run shows."
    else:
        yield f"{measurement.state[0].upper()}{measurement.state[1:]}: bucket {measurement.bucket}."
    if measurement.hit_trace:
        told = describe_trace(measurement)
        yield f"{told[0].upper()}{told[1:]}."
    if measurement.weight_share is not None:
        yield (
            f"Share of the step time a remembered weight saved: {measurement.weight_share:.1%}; no larger gain "
            "is called real."
        )
    if verdict.transferred is not None:
        yield f"Gain that survives training: {verdict.transferred:+.1%}."


def _tell_accuracy(measurement: Measurement) -> Table:
    rows = tuple(
        (
            str(one.leg),
            one.shape,
            one.output,
            f"{one.snr_db:.1f} dB",
            f"{one.max_error:.1e}",
            "" if one.max_ulp is None else f"{one.max_ulp:.0f}",
        )
        for one in measurement.accuracy
    )
    return Table(columns=("leg", "shape", "output", "worst SNR", "largest error", "largest error in ULP"), rows=rows)


def _tell_confinement(measurement: Measurement) -> Iterator[str]:
    yield from measurement.environment.sandbox
    yield from (f"weaker on this machine: {what}" for what in measurement.environment.weaker)
    if not measurement.environment.weaker:
        yield "Every check of the gate runs in full on this machine."


def _table(results: tuple[GateResult, ...]) -> Table:
    ordered = sorted(results, key=lambda one: one.passed)
    rows = tuple(
        ("holds" if one.passed else "VIOLATED", one.property, one.reason, "; ".join(one.evidence)) for one in ordered
    )
    return Table(columns=("", "property", "reason", "evidence"), rows=rows)
