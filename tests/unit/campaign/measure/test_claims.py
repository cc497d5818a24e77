"""A property is claimed only where its own probe ran, with that probe's evidence."""

from __future__ import annotations

import hashlib

from corpus.cases import load_corpus_operator
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_baseline
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape
from layline.campaign.values.measurement import Measurement, Plan, Status
from layline.campaign.values.operator import Operator

PLAN = Plan(looks=(2,), calls=6, seconds=0.05, timeout_s=20)
SMALL = (shape("small-4x40", 4, 40),)


def measure(operator: Operator) -> Measurement:
    for _attempt in range(3):
        measurement: Measurement = measure_baseline(
            Request(operator=operator, shapes=SMALL, best=wrap(operator, operator.start("naive")), plan=PLAN)
        )
        if measurement.status is Status.MEASURED:
            break
    assert measurement.status is Status.MEASURED, measurement.problem
    return measurement


def claimed(measurement: Measurement) -> dict[str, tuple[str, ...]]:
    return {gate.property: gate.evidence for gate in measurement.gates if gate.passed}


def test_an_operator_without_an_exact_mode_is_not_called_exact() -> None:
    measurement = measure(load_operator("softmax"))
    found = claimed(measurement)
    assert not measurement.failed_gates
    assert hashlib.sha256(bytes.fromhex(measurement.seed)).hexdigest() == measurement.seed_commitment
    assert "exact-integers" not in found
    assert "AddressSanitizer" in " ".join(found["memory-safe"])
    assert "held-out-shape" in found
    assert all(found.values()), "every claim has evidence"


def test_a_kernel_the_sanitizer_never_saw_is_not_called_memory_safe() -> None:
    found = claimed(measure(load_corpus_operator("python")))
    assert "memory-safe" not in found
    assert "floating-point-mode" in found
