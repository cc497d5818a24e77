"""Measuring with Layline's own parent and workers: an operator definition and a candidate, nothing of the user's
runs.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.bench import Measured
from layline.campaign.devices.gpu_condition import read_accelerator
from layline.campaign.devices.gpu_lock import hold_first
from layline.campaign.measure.accelerator import has_device, plan_device
from layline.campaign.measure.analysis import Analysis, analyze
from layline.campaign.measure.gpu.train import has_place, train
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_baseline, measure_pair
from layline.campaign.operators.find import find_operator
from layline.campaign.operators.travel import write_text
from layline.campaign.values.figures import build_csv, build_header
from layline.campaign.values.judge import judge
from layline.campaign.values.manifest import shape_list
from layline.campaign.values.measurement import Arm, Plan, name_product
from layline.campaign.values.operator import Snapshot
from layline.errors import ConfigError
from layline.executors.processor import name_processor

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.campaign.bench import Trial
    from layline.campaign.ledger.snapshot import KernelFiles
    from layline.campaign.values.manifest import Manifest
    from layline.campaign.values.measurement import Bucket, Measurement
    from layline.campaign.values.operator import Operator, Shape
    from layline.campaign.values.training import Training
    from layline.campaign.values.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A measuring run in plain values, so that any machine of its kind can make it."""

    labels: tuple[str, ...]
    best: Snapshot
    candidate: Snapshot | None
    start: Snapshot
    alpha: float
    min_effect: float
    core_shapes: tuple[str, ...]
    seed: str
    left_s: float | None
    """Seconds after which the next look is the last; two machines share no clock."""


class TrustedBench:
    """Best and candidate in workers that own nothing but their output bytes."""

    def __init__(
        self, manifest: Manifest, progress: Callable[[str], None] = lambda _said: None, root: Path = Path()
    ) -> None:
        self.manifest = manifest
        found = find_operator(manifest.operator or "", root)
        self.operator: Operator = found.operator
        self.file = found.file
        self._progress = progress

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(shape.label for shape in choose_shapes(self.operator, self.manifest))

    def machine(self) -> str:
        """The kind of machine the kernels run on here."""
        if not self.operator.is_on_device:
            return name_processor()
        return name_product(read_accelerator({}))

    def measure(self, trial: Trial) -> Measured:
        with hold_first() if self.operator.is_on_device else nullcontext():
            return run_trial(self.operator, self.ask(trial), self._progress)

    def ask(self, trial: Trial) -> Asked:
        return Asked(
            labels=trial.labels,
            best=to_snapshot(trial.best),
            candidate=to_snapshot(trial.candidate) if trial.candidate else None,
            start=to_snapshot(trial.start),
            alpha=trial.alpha,
            min_effect=self.manifest.min_effect,
            core_shapes=self.manifest.core_shapes,
            seed=trial.seed.hex(),
            left_s=None if trial.stop_by is None else trial.stop_by - time.monotonic(),
        )

    def analyze(self, kernel: Snapshot | None, shape: Shape) -> Analysis:
        """What the machine allows and, of a kernel, what its counters say on one shape."""
        return analyze(self.operator, kernel, shape)

    def train(self, start: Snapshot, best: Snapshot) -> Training | None:
        """A real training loop with each; None where the operator has no place in one, or nothing here can run it."""
        if not has_place(self.operator) or not has_device():
            return None
        return train(self.operator, start, best, progress=self._progress)

    def judge(self, measurement: Measurement, bucket: Bucket | None) -> Verdict:
        return judge(measurement, bucket=bucket, weight_share=self.manifest.weight_share)

    def place(self) -> dict[str, str]:
        return {}

    def frozen(self) -> dict[str, str]:
        """The operator's definition: what is fed, checked and counted; starting kernels may come and go.

        Of an operator file every byte counts, and of what it imports from beside it.
        """
        if self.file is not None:
            return self.file.hashes_now
        return {f"operator:{self.operator.name}": hashlib.sha256(describe_operator(self.operator).encode()).hexdigest()}

    @property
    def sources(self) -> dict[str, str]:
        """The operator's files, for the ledger; none where it ships in another form."""
        files = self.file.sources if self.file is not None else ()
        return {name: write_text(data) for name, data in files}


def run_trial(operator: Operator, asked: Asked, progress: Callable[[str], None]) -> Measured:
    """The run itself, on the machine this is."""
    plan = choose_plan(operator, asked.alpha, asked.min_effect)
    request = Request(
        operator=operator,
        shapes=tuple(shape for shape in operator.shapes if shape.label in asked.labels),
        best=asked.best,
        plan=replace(plan, core_shapes=asked.core_shapes),
        candidate=asked.candidate,
        start=asked.start,
        stop_by=None if asked.left_s is None else time.monotonic() + asked.left_s,
        seed=bytes.fromhex(asked.seed),
    )
    if asked.candidate is None:
        measurement = measure_baseline(request, progress=progress)
        return Measured(measurement=measurement, csv=build_csv(operator, measurement, Arm.BEST))
    measurement = measure_pair(request, progress=progress)
    return Measured(
        measurement=measurement,
        csv=build_csv(operator, measurement, Arm.CANDIDATE),
        best_csv=build_csv(operator, measurement, Arm.BEST),
    )


def choose_plan(operator: Operator, alpha: float, min_effect: float) -> Plan:
    """A module of torch may call what torch has: it is compared with one that does."""
    if not operator.is_on_device:
        return Plan(alpha=alpha, min_effect=min_effect)
    return replace(plan_device(alpha, min_effect), vendor_allowed=operator.language == "torch")


def describe_operator(operator: Operator) -> str:
    """Everything of an operator that figures depend on, as text."""
    work = [[(step.flops(shape), step.bytes_moved(shape)) for step in operator.passes] for shape in operator.shapes]
    sources = [inspect.getsource(function) for function in (operator.draw, operator.oracle, operator.neighbours)]
    passes = [(step.name, step.symbol, step.inputs, step.outputs) for step in operator.passes]
    buffers = [(buffer.name, buffer.dtype) for buffer in operator.buffers]
    facts = (
        operator.shapes,
        operator.tolerance,
        operator.metric,
        operator.distributions,
        operator.exact,
        operator.weights,
        *((operator.constant,) if operator.constant else ()),  # what has none keeps the hash that is published
    )
    return repr((facts, passes, buffers, work, sources, build_header(operator)))


def choose_shapes(operator: Operator, manifest: Manifest) -> tuple[Shape, ...]:
    """The operator's shapes the manifest names; all of them for `all`."""
    wanted = [str(shape["label"]) for shape in shape_list(manifest)] or [shape.label for shape in operator.shapes]
    named = [*wanted, *manifest.core_shapes, *(str(shape["label"]) for shape in manifest.representative_shapes)]
    unknown = [label for label in named if label not in {shape.label for shape in operator.shapes}]
    if unknown:
        raise ConfigError(
            f"The operator {operator.name} has no shape {unknown[0]!r}.",
            hint=f"It has: {', '.join(shape.label for shape in operator.shapes)}.",
        )
    return tuple(shape for shape in operator.shapes if shape.label in wanted)


def to_snapshot(kernel: KernelFiles) -> Snapshot:
    """The kernel's files as text; their folders are kept, so that includes resolve."""
    return Snapshot(files=tuple((file.path, file.data.decode("utf-8", "replace")) for file in kernel.files))
