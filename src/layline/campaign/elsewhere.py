"""Measuring on a machine of the campaign's kind that an executor has: both kernels in one call, there and once.

The driver keeps the record: it writes an attempt down before it asks, and its loss where the machine goes. What comes
back is judged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from layline import codec
from layline.campaign.bench import Measured
from layline.campaign.devices.gpu_lock import hold_one, take_one
from layline.campaign.measure.analysis import Analysis, analyze
from layline.campaign.measure.gpu.train import has_place, train
from layline.campaign.operators.travel import open_operator
from layline.campaign.trusted import Asked, TrustedBench, run_trial
from layline.campaign.values.operator import Operator, Shape, Snapshot
from layline.campaign.values.training import Training
from layline.errors import BenchError, ConfigError
from layline.executors import Executor, Lost, Machine, Plain, say
from layline.executors.machine import name_product

if TYPE_CHECKING:
    from layline.campaign.bench import Trial

LIMIT_S = 3600.0
"""Longer than any run: a machine that is silent for so long is lost."""
PROCESSOR = "processor"
_MEASURE, _ANALYZE, _TRAIN = (f"{__name__}:{name}_there" for name in ("measure", "analyze", "train"))


class BenchElsewhere(TrustedBench):
    """The same measuring, asked of an executor; here where it has no machine of the kind and this one is."""

    def __init__(self, bench: TrustedBench, executor: Executor, kind: str | None) -> None:
        self.manifest = bench.manifest
        self.operator = bench.operator
        self.file = bench.file
        self._progress = bench._progress
        self._executor = executor
        self._kind = kind
        """The campaign's own; None before its baseline."""

    @cached_property
    def _on(self) -> Machine | None:
        """None where the executor has no machine of the campaign's kind."""
        kind = self._kind or choose_kind(self.operator, super().machine(), self._executor.machines())
        return self._executor.choose(kind)

    def turn(self) -> None:
        """Before a move: the executor's one kind that is not the campaign's."""
        kinds = set(find_kinds(self.operator, self._executor.machines())) - {self._kind}
        self._kind = choose_only(kinds, self._kind or "")

    def machine(self) -> str:
        return self._on.kind if self._on else super().machine()

    def place(self) -> dict[str, str]:
        return {"host": self._on.host} if self._on else {}

    def measure(self, trial: Trial) -> Measured:
        if self._on is None:
            return super().measure(trial)
        answer = self._call(self._on, _MEASURE, {"asked": codec.encode(self.ask(trial))})
        return codec.decode(Measured, answer, where=self._on.host)

    def analyze(self, kernel: Snapshot | None, shape: Shape) -> Analysis:
        if self._on is None:
            return super().analyze(kernel, shape)
        job = {"kernel": codec.encode(kernel) if kernel else None, "shape": shape.label}
        return codec.decode(Analysis, self._call(self._on, _ANALYZE, job), where=self._on.host)

    def train(self, start: Snapshot, best: Snapshot) -> Training | None:
        if self._on is None:
            return super().train(start, best)
        if not has_place(self.operator) or not self._on.accelerators:
            return None
        job = {"start": codec.encode(start), "best": codec.encode(best)}
        return codec.decode(Training, self._call(self._on, _TRAIN, job), where=self._on.host)

    def _call(self, on: Machine, name: str, job: Plain) -> Plain:
        sources = [list(source) for source in self.sources.items()]
        named = {"operator": self.manifest.operator or "", "sources": sources, "kind": on.kind}
        self._progress(f"measuring on {on.host}")
        try:
            return self._executor.measure(name, {**named, **job}, on, LIMIT_S, self._progress)
        except Lost as lost:
            raise Lost(f"The run on {on.host}", lost.why) from None
        except ConfigError as error:  # what the run itself raised there
            raise BenchError(error.message, hint=error.hint) from None


def choose_kind(operator: Operator, here: str, machines: Sequence[Machine]) -> str:
    """What a campaign begins on: this machine's kind where the executor has it, else the executor's only one."""
    has_it = any(one.count(here) for one in machines)
    return here if has_it else choose_only(find_kinds(operator, machines), here)


def choose_only(kinds: Iterable[str], otherwise: str) -> str:
    listed = sorted(set(kinds))
    if len(listed) > 1:
        raise ConfigError(
            f"The executor has machines of {len(listed)} kinds: {', '.join(listed)}.",
            hint=(
                "Times of two kinds of machine cannot be compared. Run the command on a machine of the kind that you "
                "mean."
            ),
        )
    return listed[0] if listed else otherwise


def find_kinds(operator: Operator, machines: Iterable[Machine]) -> Iterable[str]:
    """What these machines could measure the operator on."""
    for one in machines:
        yield from map(name_product, one.accelerators) if operator.is_on_device else (one.processor,)


def measure_there(job: Plain) -> Plain:
    """On the machine that was chosen: all arms of one verdict, alone there as far as Layline goes."""
    operator = open_operator(job["operator"], job["sources"])
    asked = codec.decode(Asked, job["asked"], where="job")
    with _alone(operator, job["kind"]):
        answer: Plain = codec.encode(run_trial(operator, asked, say))
    return answer


def analyze_there(job: Plain) -> Plain:
    operator = open_operator(job["operator"], job["sources"])
    kernel = codec.decode(Snapshot, job["kernel"], where="job") if job["kernel"] else None
    shape = next(one for one in operator.shapes if one.label == job["shape"])
    with _alone(operator, job["kind"]):
        answer: Plain = codec.encode(analyze(operator, kernel, shape))
    return answer


def train_there(job: Plain) -> Plain:
    operator = open_operator(job["operator"], job["sources"])
    start, best = (codec.decode(Snapshot, job[name], where="job") for name in ("start", "best"))
    with _alone(operator, job["kind"]):
        answer: Plain = codec.encode(train(operator, start, best, progress=say))
    return answer


def _alone(operator: Operator, kind: str) -> AbstractContextManager[object]:
    """An accelerator is held until this process ends, a processor for one run: two campaigns take turns."""
    if not operator.is_on_device:
        return hold_one((PROCESSOR,))
    take_one(kind)
    return nullcontext()
