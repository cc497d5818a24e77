"""Measure a candidate against the best on an accelerator, now: controls, gates, interleaved process pairs.

The counterpart of `campaign.measure`, with the same request and the same answer. Nothing here decides; `judge` does.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layline.campaign.devices.machine import read_environment
from layline.campaign.devices.worker_process import Disturbed, Fault
from layline.campaign.measure.build import Built, NotBuilt, workshop
from layline.campaign.measure.gpu.session import Stage, find_arena_bytes, live, open_legs, take_kernel
from layline.campaign.measure.pair import PairRun
from layline.campaign.measure.run import _STATUS, Progress, Request
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.judge import look
from layline.campaign.values.model import Accuracy, GateResult, Leg, Measurement, Plan, Status
from layline.errors import BenchError

if TYPE_CHECKING:
    from layline.campaign.measure.gpu.arm import GpuLeg
    from layline.campaign.measure.gpu.controls import DeviceCanary
    from layline.campaign.measure.gpu.own_code import Seen
    from layline.campaign.measure.gpu.pair import GpuPair
    from layline.campaign.measure.oracle import Error

HELD_OUT_PAIRS = 2
BASELINE_PAIRS = 3
SANDBOX = (
    "a process of its own with torch and the kernel: no seed, no reference, no clock that counts, no verdict",
    "no network where the machine allows closing it; no new privileges; frozen while nothing is asked of it",
)


def plan_device(alpha: float, min_effect: float) -> Plan:
    """What is measured on an accelerator: the parent's wall clock decides, calls are few and checked in full."""
    return Plan(
        looks=(3, 5, 8, 12), calls=6, seconds=1.0, alpha=alpha, min_effect=min_effect, clock="wall", timeout_s=90.0
    )


def measure_device(request: Request, *, progress: Progress = lambda _said: None) -> Measurement:
    """Best and candidate in interleaved process pairs until the judge can tell; the best alone where there is no
    candidate.
    """
    import numpy as np

    check_device()
    seed = secrets.token_bytes(32)
    rng = np.random.default_rng(int.from_bytes(seed, "big"))
    device = find_device()
    with workshop() as shop:
        stage = Stage(
            operator=request.operator,
            shapes=request.shapes,
            plan=request.plan,
            shop=shop,
            device=device,
            rng=rng,
            arena_bytes=find_arena_bytes(request.operator, request.shapes, device),
        )
        run = _Run(request, stage, progress)
        run.begin(seed)
        try:
            run.measure()
        except Fault as fault:
            run.refuse(fault)
        except Disturbed as disturbed:
            run.give_up(disturbed)
        return run.finish()


def has_device() -> bool:
    """Whether kernels of this kind can run on this machine."""
    try:
        check_device()
    except BenchError:
        return False
    return True


def check_device() -> None:
    """Torch and an accelerator are here."""
    try:
        import torch
    except ImportError:
        raise BenchError(
            "There is no torch here.", hint="GPU operators run with the machine's own torch and Triton."
        ) from None
    if find_device() != "cpu" and not torch.cuda.is_available():
        raise BenchError("torch sees no accelerator here.", hint="Run this on the GPU machine; see docs/gpu.md.")


class _Run:
    """The state of one measuring run, and its steps in order."""

    def __init__(self, request: Request, stage: Stage, progress: Progress) -> None:
        self._request = request
        self._stage = stage
        self._say = progress
        self._builts: dict[Leg, Built] = {}
        self._pairs: list[GpuPair] = []
        self._waiting: list[list[GpuLeg]] = []
        self._spent: dict[str, float] = {}
        self._canary: DeviceCanary | None = None
        self._aside: dict[str, GpuLeg] = {}
        self._code: tuple[Seen, ...] = ()
        self._yardstick: dict[str, list[Error]] = {}
        self._shown: dict[str, str] = {}
        """Properties by what showed them; what is not here was not looked at and is not claimed."""
        self._on_trial = Leg.CANDIDATE if request.candidate is not None else Leg.BEST

    def begin(self, seed: bytes) -> None:
        """Everything that is fixed before the first call."""
        self._measurement = Measurement(
            status=Status.MEASURED,
            operator=self._request.operator.name,
            shapes=tuple(shape.label for shape in self._request.shapes),
            plan=self._request.plan,
            environment=replace(read_environment(), sandbox=SANDBOX),
            seed_commitment=hashlib.sha256(seed).hexdigest(),
            seed=seed.hex(),
        )

    def measure(self) -> None:
        """Controls, then pairs until a look decides."""
        self._build()
        looks = self._request.plan.looks if self._on_trial is Leg.CANDIDATE else (BASELINE_PAIRS,)
        self._spawn(1)
        self._spawn_aside()
        with self._timed("controls"):
            self._check_instrument()
        if self._is_blind():
            return
        while True:
            due = next(at for at in looks if at > len(self._pairs))
            self._measure_one_pair(due - len(self._pairs) - 1)
            if len(self._pairs) in looks:
                self._summarise()
                is_late = self._request.stop_by is not None and time.monotonic() > self._request.stop_by
                is_last = is_late or len(self._pairs) == looks[-1]
                if self._on_trial is Leg.BEST or look(self._measurement, is_last=is_last):
                    break
        self._confirm()
        self._conclude()

    def _build(self) -> None:
        for leg, snapshot in ((Leg.BEST, self._request.best), (Leg.CANDIDATE, self._request.candidate)):
            if snapshot is None:
                continue
            built = take_kernel(self._stage, snapshot)
            if isinstance(built, NotBuilt):
                raise Fault("builds", f"The {leg.value} kernel cannot be compiled.", built.reason)
            self._builts[leg] = built
        self._keep(best=self._builts[Leg.BEST].build)
        if Leg.CANDIDATE in self._builts:
            self._keep(candidate=self._builts[Leg.CANDIDATE].build)

    def _spawn(self, count: int) -> None:
        """Start the workers of the next pairs; importing torch takes seconds, so they do it together."""
        best = self._builts[Leg.BEST]
        builts = {**self._builts, Leg.AGAIN: best, Leg.CANARY: best}
        while len(self._waiting) < count:
            self._waiting.append(open_legs(self._stage, builts))

    def _spawn_aside(self) -> None:
        """Workers only the gates need: one to be watched by the profiler, one for the starting kernel."""
        stage, request = self._stage, self._request
        if stage.device != "cpu" and not request.plan.vendor_allowed:
            built = self._builts[self._on_trial]
            self._aside["watched"] = stage.open(Leg.AGAIN, built, self._on_trial.value)
        if self._on_trial is Leg.CANDIDATE:
            built_start = take_kernel(stage, request.start or request.best)
            if isinstance(built_start, NotBuilt):
                raise BenchError(f"The starting kernel cannot be compiled any more: {built_start.reason}")
            self._aside["start"] = stage.open(Leg.AGAIN, built_start, "start")

    def _check_instrument(self) -> None:
        from layline.campaign.devices.gpu_condition import read_accelerator
        from layline.campaign.measure.controls import check_builds
        from layline.campaign.measure.gpu.controls import check_instrument

        self._say("controls: empty call, a kernel known to be wrong")
        seen = check_instrument(self._stage)
        controls = [seen.known_wrong]
        if Leg.CANDIDATE in self._builts:
            is_same = self._request.best == self._request.candidate
            controls.append(check_builds(self._builts[Leg.BEST], self._builts[Leg.CANDIDATE], is_same_source=is_same))
        environment = replace(
            self._measurement.environment, weaker=seen.weaker, accelerator=read_accelerator(seen.versions)
        )
        self._keep(overhead_ms=seen.overhead_ms, environment=environment, controls=tuple(controls))

    def _measure_one_pair(self, more: int) -> None:
        from layline.campaign.measure.gpu.pair import GpuPair, run_held_out, run_shape
        from layline.campaign.measure.gpu.probes import probe_held, probe_memory

        number = len(self._pairs)
        pair = GpuPair(run=PairRun(number=number))
        self._spawn(1)
        with live(self._waiting.pop(0)) as legs:
            unloaded = legs[0].read_memory()
            loaded = {leg.leg: leg.worker.load() / 1e6 for leg in legs}
            measured = [leg for leg in legs if leg.leg in self._builts]
            with self._timed("timing"):
                for index in self._stage.rng.permutation(len(self._stage.shapes)):
                    shape = self._stage.shapes[int(index)]
                    self._say(f"process pair {number + 1}: {shape.label}")
                    run_shape(self._stage, measured, shape, pair, self._measurement.overhead_ms, self._on_trial)
            with self._timed("gates"):
                if self._on_trial is Leg.CANDIDATE and number < HELD_OUT_PAIRS:
                    for shape in self._stage.shapes:
                        run_held_out(self._stage, measured, shape, pair.run)
                if number == 0:
                    probe_held(self._stage, unloaded, legs[0].read_memory(), len(legs))
                    probe_memory(self._stage, next(leg for leg in legs if leg.leg is self._on_trial))
                    self._shown["bounded-memory"] = (
                        "memory of device and worker over blocks of calls, and all that was taken since loading"
                    )
                    self._spawn(more)  # they start up while the gates run, which time nothing that decides
                    self._probe({leg.leg: leg for leg in legs})
                self._probe_end(measured)
            with self._timed("controls"):
                self._control(legs, pair)
        if number == 0:
            self._keep(first_call_ms=loaded[self._on_trial] + pair.run.first_call_ms)
        self._pairs.append(pair)

    def _control(self, legs: list[GpuLeg], pair: GpuPair) -> None:
        from layline.campaign.measure.gpu.controls import calibrate_canary, run_controls

        twins = [leg for leg in legs if leg.leg is not Leg.CANDIDATE]
        best = next(leg for leg in twins if leg.leg is Leg.BEST)
        self._canary = self._canary or calibrate_canary(self._stage, best)
        run_controls(self._stage, twins, self._canary, pair)

    def _probe(self, legs: dict[Leg, GpuLeg]) -> None:
        from layline.campaign.measure.gpu.own_code import probe_code
        from layline.campaign.measure.gpu.table import CANDIDATE, PROBES
        from layline.campaign.measure.probes.probe import OnTrial, run_probes

        stage, is_candidate = self._stage, self._on_trial is Leg.CANDIDATE
        self._say("gates: inputs, stream order, sizes, repetition, error, state")
        on = OnTrial(
            stage=stage,
            rng=stage.rng,
            trial=legs[self._on_trial],
            best=legs[Leg.BEST] if is_candidate else None,
            open_start=self._open_start if is_candidate else None,
            snapshot=self._request.candidate or self._request.best,
        )
        run_probes(PROBES, on, frozenset({CANDIDATE} if is_candidate else ()))
        if "watched" in self._aside:
            with live([self._aside["watched"]]) as (leg,):
                leg.worker.load()
                self._code = probe_code(stage, leg, on.snapshot)
        self._shown |= on.shown
        self._yardstick = on.yardstick
        if on.carried is not None:
            self._keep(state=on.carried.what, bucket=on.carried.bucket)
        self._keep(left_out=tuple(f"{name}: {why}" for name, why in on.left_out.items()))

    @contextmanager
    def _open_start(self) -> Iterator[GpuLeg]:
        """A process with the starting kernel."""
        with live([self._aside["start"]]) as (leg,):
            leg.worker.load()
            yield leg

    def _confirm(self) -> None:
        """What is looked at only where the candidate would be accepted."""
        from layline.campaign.measure.gpu.offsets import probe_offsets

        verdict = look(self._measurement, is_last=True) if self._on_trial is Leg.CANDIDATE else None
        if verdict is None or not verdict.outcome.is_accepted:
            return
        self._say("gates: more elements than 32 bits can count")
        start = take_kernel(self._stage, self._request.start or self._request.best)
        if isinstance(start, Built):
            with self._timed("gates"):
                self._shown |= dict(probe_offsets(self._stage, start, self._builts[Leg.CANDIDATE]))

    def _probe_end(self, legs: list[GpuLeg]) -> None:
        from layline.campaign.measure.gpu.probes import probe_tampering

        for leg in legs:
            if leg.leg is self._on_trial:
                leg.worker.settle(0.01)
                probe_tampering(leg)
                told = f"before loading and after each process pair: {', '.join(leg.worker.inspect()['looked'])}"
                self._shown |= dict.fromkeys(("timers-untouched", "persisting-l2", "global-state"), told)

    def _summarise(self) -> None:
        runs = [pair.run for pair in self._pairs]
        self._keep(
            pairs=len(runs),
            samples=tuple(sample for run in runs for sample in run.samples()),
            ratios=tuple(ratio for run in runs for ratio in run.ratios()),
            accuracy=tuple(self._accuracy()),
            conditions=tuple(line for pair in self._pairs for line in pair.conditions),
        )

    def _accuracy(self) -> Iterator[Accuracy]:
        from layline.campaign.measure.oracle import summarise_errors

        for leg in self._builts:
            for shape in self._stage.shapes:
                errors = [error for pair in self._pairs for error in pair.run.errors[leg, shape.label]]
                if errors:
                    yield from summarise_errors(leg, shape.label, errors)

    def _conclude(self) -> None:
        from layline.campaign.measure.controls import judge_controls
        from layline.campaign.measure.final_checks import check_timed_errors
        from layline.campaign.measure.gpu.final_checks import close_gates

        controls = (*self._measurement.controls, *judge_controls(self._measurement))
        runs = [pair.run for pair in self._pairs]
        timed = check_timed_errors(self._request.operator, self._yardstick, runs)
        gates = (*close_gates(self._measurement, self._request, runs, self._shown, self._code), *timed)
        self._keep(controls=controls, gates=gates)
        failed = [gate for gate in gates if not gate.passed]
        if not self._is_blind() and failed:
            self._keep(status=Status.REFUSED, problem=failed[0].reason)

    def _is_blind(self) -> bool:
        """Whether a control failed, so that nothing seen counts for or against the candidate."""
        failed = [control for control in self._measurement.controls if not control.passed]
        if failed:
            self._keep(status=Status.CONTROLS_FAILED, problem=failed[0].reason)
        return bool(failed)

    def refuse(self, fault: Fault) -> None:
        """Turn what a kernel did into a named result."""
        gate = GateResult(property=fault.property, passed=False, reason=fault.reason, evidence=fault.evidence)
        if self._is_blind():
            return
        status = _STATUS.get(fault.property, Status.REFUSED)
        self._keep(status=status, gates=(gate,), problem=fault.reason, samples=(), ratios=(), pairs=0)

    def give_up(self, disturbed: Disturbed) -> None:
        """No verdict: the machine was too busy for an answer that holds."""
        control = GateResult(property="undisturbed", passed=False, reason=str(disturbed))
        controls = (*self._measurement.controls, control)
        self._keep(status=Status.CONTROLS_FAILED, controls=controls, problem=control.reason)

    def finish(self) -> Measurement:
        """The measurement with the machine's state at its end; workers still waiting are ended."""
        for legs in (*self._waiting, [*self._aside.values()]):
            for leg in legs:
                leg.close()
        environment = replace(self._measurement.environment, load_after=os.getloadavg()[0])
        spent = tuple((what, round(seconds, 3)) for what, seconds in self._spent.items())
        self._keep(environment=environment, seconds=spent)
        return self._measurement

    def _keep(self, **fields: Any) -> None:
        self._measurement = replace(self._measurement, **fields)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._spent[what] = self._spent.get(what, 0.0) + time.monotonic() - began
