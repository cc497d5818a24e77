"""`campaign check-operator` and `campaign judge`: an operator of the user's own, and one verdict without a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline import codec
from layline.app.campaign_places import quiet
from layline.campaign.check_operator import check_operator
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators.find import find_operator
from layline.campaign.trusted import choose_plan
from layline.campaign.values.judge import judge
from layline.campaign.values.measurement import Outcome, Status
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table
from layline.errors import BenchError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.campaign.values.measurement import GateResult, Measurement
    from layline.campaign.values.operator import Operator, Shape
    from layline.campaign.values.verdict import Verdict

ALPHA = 0.01
"""Chance that a kernel that is no improvement is called one."""


def campaign_check_operator(name: str, *, progress: Callable[[str], None] = quiet) -> Answer:
    """Say what is wrong with an operator before any kernel is judged by it."""
    found = find_operator(name)
    findings = check_operator(found.operator, found.file, progress=progress)
    failed = [one for one in findings if not one.passed]
    rows = tuple(("ok" if one.passed else "FAILS", one.what, one.told) for one in findings)
    lead = (
        f"{name} cannot be used to judge kernels: {failed[0].told}"
        if failed
        else f"{name} can be used to judge kernels."
    )
    sections = [Section(title="", blocks=(Paragraph(lead), Table(columns=("", "what", "found"), rows=rows)))]
    if not failed:
        more = (
            f"`layline campaign new NAME --operator {name} --kernel FILE` begins a campaign; `campaign judge` gives "
            "one verdict."
        )
        sections.append(Section(title="Next", blocks=(Bullets((more,)),)))
    data = {
        "schema": "layline.check-operator/1",
        "operator": name,
        "passed": not failed,
        "findings": [codec.encode(one) for one in findings],
    }
    return Answer(
        report=Report(title=found.operator.title, sections=tuple(sections)), data=data, needs_person=bool(failed)
    )


def campaign_judge(
    candidate: Path,
    against: str,
    operator: str,
    *,
    shapes: tuple[str, ...] = (),
    progress: Callable[[str], None] = quiet,
) -> Answer:
    """Hold one kernel against another: all gates, paired measuring, one answer with its interval; nothing is
    written.
    """
    found = find_operator(operator).operator
    measurement = measure_pair(
        Request(
            operator=found,
            shapes=_choose_shapes(found, shapes),
            best=wrap(found, _read_base(found, against)),
            candidate=wrap(found, _read(candidate)),
            plan=choose_plan(found, ALPHA, 0.01),
        ),
        progress=progress,
    )
    return _answer(candidate, against, measurement, judge(measurement))


def _choose_shapes(operator: Operator, wanted: tuple[str, ...]) -> tuple[Shape, ...]:
    unknown = [label for label in wanted if label not in {shape.label for shape in operator.shapes}]
    if unknown:
        listed = ", ".join(shape.label for shape in operator.shapes)
        raise ConfigError(f"The operator has no shape {unknown[0]!r}.", hint=f"It has: {listed}.")
    return tuple(shape for shape in operator.shapes if not wanted or shape.label in wanted)


def _read_base(operator: Operator, against: str) -> str:
    """A file, or one of the operator's own starts by name."""
    return operator.start(against) if against in dict(operator.starts) else _read(Path(against))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None


def _answer(candidate: Path, against: str, measurement: Measurement, verdict: Verdict) -> Answer:
    if measurement.status is Status.CONTROLS_FAILED:
        raise BenchError(verdict.reason, hint="Measure again when the machine is less busy.")
    lines = [f"{verdict.outcome}: {verdict.reason}", *verdict.notes]
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
    data = {
        "schema": "layline.judge/1",
        "candidate": str(candidate),
        "against": against,
        "verdict": codec.encode(verdict),
        "status": measurement.status.value,
        "failed": [codec.encode(gate) for gate in measurement.failed_gates],
        "left_out": list(measurement.left_out),
        "environment": codec.encode(measurement.environment),
        "seed": measurement.seed,
    }
    is_better = verdict.outcome in (Outcome.ACCEPT, Outcome.ACCEPT_TRADEOFF)
    title = f"{candidate} against {against}: {'faster, and right' if is_better else 'not accepted'}"
    return Answer(report=Report(title=title, sections=tuple(sections)), data=data, needs_person=not is_better)


def _tell_gates(gates: tuple[GateResult, ...]) -> Iterator[tuple[str, str, str]]:
    for gate in sorted(gates, key=lambda one: one.passed):
        told = "; ".join(gate.evidence) if gate.passed else f"{gate.reason} {'; '.join(gate.evidence)}"
        yield ("holds" if gate.passed else "VIOLATED", gate.property, told)
