"""A property is claimed only where its own probe ran, with that probe's evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from corpus.cases import load_corpus_operator
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_baseline, measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape
from layline.campaign.values.measurement import Measurement, Plan, Status
from layline.campaign.values.operator import Operator

PLAN = Plan(looks=(1,), calls=6, seconds=0.05, timeout_s=20)
SMALL = (shape("small-4x40", 4, 40),)


def measure(operator: Operator) -> Measurement:
    best = wrap(operator, operator.start("naive"))
    return ask(lambda: measure_baseline(Request(operator=operator, shapes=SMALL, best=best, plan=PLAN)))


def ask(run: Callable[[], Measurement]) -> Measurement:
    """Again where a control failed, on a busy machine."""
    for _attempt in range(3):
        measurement = run()
        if measurement.status is Status.MEASURED:
            break
    assert measurement.status is Status.MEASURED, measurement.problem
    return measurement


def claimed(measurement: Measurement) -> dict[str, tuple[str, ...]]:
    return {gate.property: gate.evidence for gate in measurement.gates if gate.passed}


def test_an_operator_without_an_exact_mode_is_not_called_exact() -> None:
    """The time is up before it begins: it ends at its first look all the same, and nothing else is left out."""
    operator = load_operator("softmax")
    best, candidate = (wrap(operator, operator.start("naive") + more) for more in ("", "\nint unused;\n"))
    plan = replace(PLAN, looks=(1, 40))
    request = Request(operator=operator, shapes=SMALL, best=best, candidate=candidate, plan=plan, stop_by=0.0)
    measurement = ask(lambda: measure_pair(request))
    found = claimed(measurement)
    assert measurement.pairs == 1
    assert not measurement.failed_gates
    assert hashlib.sha256(bytes.fromhex(measurement.seed)).hexdigest() == measurement.seed_commitment
    assert "exact-integers" not in found
    assert "held-out-shape" in found
    assert all(found.values()), "every claim has evidence"


def test_what_is_slower_is_not_asked_how_it_keeps_to_its_callers_rules() -> None:
    """Nobody will call it: that its answers are right where they are asked for is looked at all the same."""
    operator = load_operator("softmax")
    start = operator.start("naive")
    slower = start.replace("double sum = 0;", "double sum = 0; for (volatile int i = 0; i < 2000; i++) ;")
    request = Request(
        operator=operator, shapes=SMALL, best=wrap(operator, start), candidate=wrap(operator, slower), plan=PLAN
    )
    found = claimed(ask(lambda: measure_pair(request)))
    assert "held-out-shape" in found
    assert "memory-safe" not in found
    assert "AddressSanitizer" in " ".join(claimed(measure(operator))["memory-safe"]), "the start is asked everything"


def test_a_kernel_the_sanitizer_never_saw_is_not_called_memory_safe() -> None:
    found = claimed(measure(load_corpus_operator("python")))
    assert "memory-safe" not in found
    assert "floating-point-mode" in found
