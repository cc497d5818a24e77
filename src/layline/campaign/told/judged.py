"""An operator of the user's own, and one verdict without a campaign, as answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline import codec
from layline.campaign.measure.gate_name import name_gate
from layline.campaign.values.measurement import Outcome, Status
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table
from layline.errors import BenchError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from layline.campaign import answers
    from layline.campaign.check_start import Finding as OperatorFinding
    from layline.campaign.values.measurement import GateResult, Measurement
    from layline.campaign.values.operator import Operator, Shape
    from layline.campaign.values.verdict import Verdict


ALPHA = 0.01
"""Chance that a kernel that is no improvement is called one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was to be judged, as it was asked for."""

    candidate: Path
    against: str
    operator: str
    shapes: tuple[str, ...] = ()


def build_checked(name: str, operator: Operator, findings: Sequence[OperatorFinding]) -> Answer:
    """What is wrong with an operator, or what to do with it next."""
    failed = [one for one in findings if not one.passed]
    rows = tuple(("ok" if one.passed else "FAILS", one.what, one.told) for one in findings)
    lead = (
        f"{name} cannot be used to judge kernels: {failed[0].told}"
        if failed
        else f"{name} can be used to judge kernels."
    )
    sections = [Section(title="", blocks=(Paragraph(lead), Table(columns=("", "what", "found"), rows=rows)))]
    begin = f"`layline campaign new NAME --operator {name} --kernel FILE` begins a campaign; `campaign judge` gives one verdict."
    again = f"`layline campaign check-operator {name}` checks it again."
    after = (*(one.hint for one in failed), again) if failed else (begin,)
    sections.append(Section(title="Next", blocks=(Bullets(after),)))
    data: answers.CheckedOperator = {
        "schema": "layline.check-operator/1",
        "operator": name,
        "passed": not failed,
        "findings": [codec.encode(one) for one in findings],
    }
    return Answer(report=Report(title=operator.title, sections=tuple(sections)), data=data, needs_person=bool(failed))


def choose_shapes(operator: Operator, wanted: tuple[str, ...]) -> tuple[Shape, ...]:
    unknown = [label for label in wanted if label not in {shape.label for shape in operator.shapes}]
    if unknown:
        listed = ", ".join(shape.label for shape in operator.shapes)
        raise ConfigError(f"The operator has no shape {unknown[0]!r}.", hint=f"It has: {listed}.")
    return tuple(shape for shape in operator.shapes if not wanted or shape.label in wanted)


def read_base(operator: Operator, against: str) -> str:
    """A file, or one of the operator's own starts by name."""
    return operator.start(against) if against in dict(operator.starts) else read_kernel(Path(against))


def read_kernel(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None


def build_judged(asked: Asked, measurement: Measurement, verdict: Verdict, base_fault: str = "") -> Answer:
    """`base_fault`: what is wrong with the kernel that it was compared with."""
    candidate, against = asked.candidate, asked.against
    if measurement.status is Status.CONTROLS_FAILED:
        raise BenchError(verdict.reason, hint="Measure again when the machine is less busy.")
    lines = [f"{verdict.outcome}: {verdict.reason}", *verdict.notes]
    if base_fault:
        lines.append(
            f"{against} is wrong, too: {base_fault} The tolerance may be too tight, or the reference may ask for something else."
        )
    if measurement.failed_gates:
        shown = " ".join(f"--shape {label}" for label in asked.shapes)
        command = f"layline campaign judge {candidate} --against {against} --operator {asked.operator} {shown}".rstrip()
        lines.append(f"To see it again, on other values: `{command}`")
    sections = [Section(title="Verdict", blocks=(Bullets(tuple(lines)),))]
    if verdict.shapes:
        rows = tuple(
            (one.shape, f"{one.best_ms:.4f}", f"{one.candidate_ms:.4f}", f"{one.gain.estimate:+.2%}")
            for one in verdict.shapes
        )
        table = Table(columns=("shape", "base ms", "candidate ms", "gain"), rows=rows, numeric=frozenset({1, 2, 3}))
        sections.append(Section(title="Shapes", blocks=(table,)))
    gates = tuple(_tell_gates(measurement.gates))
    sections.append(Section(title="Properties", blocks=(Table(columns=("", "property", "evidence"), rows=gates),)))
    if measurement.left_out:
        sections.append(Section(title="Not looked at", blocks=(Bullets(measurement.left_out),)))
    data: answers.Judged = {
        "schema": "layline.judge/1",
        "candidate": str(candidate),
        "against": against,
        "verdict": codec.encode(verdict),
        "status": measurement.status.value,
        "against_fault": base_fault or None,
        "failed": [codec.encode(gate) for gate in measurement.failed_gates],
        "left_out": list(measurement.left_out),
        "environment": codec.encode(measurement.environment),
        "seed": measurement.seed,
        "gate": name_gate(),
    }
    is_better = verdict.outcome in (Outcome.ACCEPT, Outcome.ACCEPT_TRADEOFF)
    title = f"{candidate} against {against}: {'faster, no wrong answer found' if is_better else 'not accepted'}"
    return Answer(report=Report(title=title, sections=tuple(sections)), data=data, needs_person=not is_better)


def _tell_gates(gates: tuple[GateResult, ...]) -> Iterator[tuple[str, str, str]]:
    for gate in sorted(gates, key=lambda one: one.passed):
        told = "; ".join(gate.evidence) if gate.passed else f"{gate.reason} {'; '.join(gate.evidence)}"
        yield ("holds" if gate.passed else "VIOLATED", gate.property, told)
