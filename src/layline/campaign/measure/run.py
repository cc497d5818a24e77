"""Measure a candidate against the best, now: build, gates, interleaved process pairs, controls, until the judge can
tell.

This is what a round calls. Nothing here decides; `judge` does, on the returned value alone.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.campaign.devices.machine import read_environment
from layline.campaign.devices.worker_process import Disturbed, Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.build import Built, NotBuilt, build_kernel, workshop
from layline.campaign.measure.placement import Placements
from layline.campaign.values.judge import look
from layline.campaign.values.model import (
    Accuracy,
    GateResult,
    Leg,
    Measurement,
    Operator,
    Plan,
    Shape,
    Snapshot,
    Status,
)
from layline.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

    from layline.campaign.measure.controls import Canary
    from layline.campaign.measure.oracle import Error
    from layline.campaign.measure.pair import PairRun

Progress = Callable[[str], None]
ARENA_BYTES = 24 << 20
BASELINE_PAIRS = 4
_STATUS = {"survives": Status.CRASHED, "answers-in-time": Status.HUNG, "builds": Status.BUILD_FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to measure."""

    operator: Operator
    shapes: tuple[Shape, ...]
    best: Snapshot
    candidate: Snapshot | None = None
    """None: measure the best alone, as at the baseline."""
    start: Snapshot | None = None
    """The campaign's starting kernel, whose error is the yardstick; the best where there is none."""
    plan: Plan = field(default_factory=Plan)
    stop_by: float | None = None
    """Moment of the monotonic clock after which the next look is the last."""


def measure_baseline(request: Request, *, progress: Progress = lambda _said: None) -> Measurement:
    """Check the starting kernel on every shape and time it; there is nothing to compare it with yet."""
    return measure_pair(replace(request, candidate=None), progress=progress)


def measure_pair(request: Request, *, progress: Progress = lambda _said: None) -> Measurement:
    """Measure best and candidate in interleaved process pairs until the judge can tell or the plan ends."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the oracle's idle threads would spin beside the measured calls
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import numpy as np

    seed = secrets.token_bytes(32)
    with workshop() as shop:
        setup = Setup(
            operator=request.operator,
            shapes=request.shapes,
            plan=request.plan,
            shop=shop,
            arena_bytes=max(ARENA_BYTES, 64 * _largest_call(request)),
        )
        run = _Run(
            request=request, setup=setup, progress=progress, rng=np.random.default_rng(int.from_bytes(seed, "big"))
        )
        run.begin(seed)
        try:
            run.measure()
        except Fault as fault:
            run.refuse(fault)
        except Disturbed as disturbed:
            run.give_up(disturbed)
        return run.finish()


def _largest_call(request: Request) -> int:
    """Bytes of the largest call; sixteen of them fit a request, and the arena holds several requests."""
    import numpy as np

    operator = request.operator
    return max(
        sum(
            int(np.prod(buffer.extent(shape), dtype=np.int64)) * np.dtype(buffer.dtype).itemsize + 1024
            for buffer in operator.buffers
        )
        for shape in request.shapes
    )


class _Run:
    """The state of one measuring run, and its steps in order."""

    def __init__(self, *, request: Request, setup: Setup, progress: Progress, rng: np.random.Generator) -> None:
        self._request = request
        self._setup = setup
        self._say = progress
        self._rng = rng
        self._builts: dict[Leg, Built] = {}
        self._places: dict[Leg, Placements] = {}
        self._pairs: list[PairRun] = []
        self._spent: dict[str, float] = {}
        self._canary: Canary | None = None
        self._yardstick: dict[str, list[Error]] = {}
        self._stood = self._requests = 0
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
            environment=read_environment(),
            seed_commitment=hashlib.sha256(seed).hexdigest(),
            seed=seed.hex(),
        )

    def measure(self) -> None:
        """Build, controls, gates, then pairs until a look decides."""
        with self._timed("build"):
            self._build()
        with self._timed("controls"):
            self._prepare_controls()
        if self._is_blind():
            return
        looks = self._request.plan.looks if self._on_trial is Leg.CANDIDATE else (BASELINE_PAIRS,)
        while True:
            self._measure_one_pair()
            if len(self._pairs) in looks:
                self._summarise()
                # each look has its own share of the error: ending at an earlier one, for want of time, spends less of
                # it
                is_late = self._request.stop_by is not None and time.monotonic() > self._request.stop_by
                is_last = is_late or len(self._pairs) == looks[-1]
                if self._on_trial is Leg.BEST or look(self._measurement, is_last=is_last):
                    break
        self._confirm()
        self._conclude()

    def _build(self) -> None:
        operator, setup = self._request.operator, self._setup
        snapshots = {Leg.BEST: self._request.best, Leg.CANDIDATE: self._request.candidate}
        for leg, snapshot in snapshots.items():
            if snapshot is None:
                continue
            self._say(f"compiling the {leg}")
            built = build_kernel(snapshot, operator, setup.shop)
            if isinstance(built, NotBuilt):
                if leg is Leg.BEST and self._on_trial is Leg.CANDIDATE:
                    raise BenchError(
                        f"The best kernel no longer compiles: {built.reason}", hint="Has the compiler changed?"
                    )
                raise Fault("builds", "The kernel does not compile.", built.reason)
            self._builts[leg] = built
            self._places[leg] = Placements(built, setup.shop, self._rng)
        self._keep(best=self._builts[Leg.BEST].build)
        if Leg.CANDIDATE in self._builts:
            self._keep(candidate=self._builts[Leg.CANDIDATE].build)

    def _prepare_controls(self) -> None:
        from layline.campaign.measure.clock import check_clock, measure_step
        from layline.campaign.measure.controls import check_builds, check_known_wrong, measure_empty_call

        self._say("controls: empty call, a kernel known to be wrong")
        empty = measure_empty_call(self._setup, self._rng)
        self._setup = replace(self._setup, mode=empty.mode, own_files=empty.files)
        environment = replace(self._measurement.environment, weaker=empty.weaker)
        controls = [check_clock(measure_step()), check_known_wrong(self._setup, self._rng)]
        if Leg.CANDIDATE in self._builts:
            is_same = self._request.best == self._request.candidate
            controls.append(check_builds(self._builts[Leg.BEST], self._builts[Leg.CANDIDATE], is_same_source=is_same))
        self._keep(overhead_ms=empty.overhead_ms, environment=environment, controls=tuple(controls))

    def _measure_one_pair(self) -> None:
        from layline.campaign.measure.controls import CONTROLS, calibrate_canary, run_controls
        from layline.campaign.measure.pair import HELD_OUT_PAIRS, PairRun, open_legs, run_held_out, run_shape

        number = len(self._pairs)
        run = PairRun(number=number)
        with ExitStack() as stack:
            legs, loaded = open_legs(stack, self._setup, self._draw_places(), self._rng)
            with self._timed("timing"):
                for index in self._rng.permutation(len(self._setup.shapes)):
                    shape = self._setup.shapes[int(index)]
                    self._say(f"process pair {number + 1}: {shape.label}")
                    run_shape(self._setup, legs, shape, run, self._rng)
            with self._timed("gates"):
                if self._on_trial is Leg.CANDIDATE and number < HELD_OUT_PAIRS:
                    for shape in self._setup.shapes:
                        run_held_out(self._setup, legs, shape, run, self._rng)
                if number == 0:
                    self._probe({leg.leg: leg for leg in legs})
                self._probe_end(legs)
            with self._timed("controls"):
                if number < self._request.plan.looks[0]:  # as many as the first look needs
                    best = next(leg for leg in legs if leg.leg is Leg.BEST)
                    self._canary = self._canary or calibrate_canary(self._setup, best, self._rng)
                    places = [self._places[Leg.BEST].draw() for _control in CONTROLS]
                    run.times.update(run_controls(self._setup, best, places, self._canary, self._rng))
        if number == 0:
            self._keep(first_call_ms=loaded + run.first_call_ms)
        self._pairs.append(run)

    def _draw_places(self) -> dict[Leg, Built]:
        """Every kernel that is timed, each at a place of its own; the baseline is timed beside itself, which shows the noise."""
        wanted = (
            {leg: leg for leg in self._builts}
            if self._on_trial is Leg.CANDIDATE
            else {Leg.BEST: Leg.BEST, Leg.AGAIN: Leg.BEST}
        )
        return {leg: self._places[of].draw() for leg, of in wanted.items()}

    def _probe(self, legs: dict[Leg, LiveLeg]) -> None:
        from layline.campaign.measure.probes.probe import OnTrial, run_probes
        from layline.campaign.measure.probes.table import CANDIDATE, PROBES, SANITIZER

        is_candidate = self._on_trial is Leg.CANDIDATE
        self._say("gates: inputs, sizes, repetition, memory, error, state")
        on = OnTrial(
            stage=self._setup,
            rng=self._rng,
            trial=legs[self._on_trial],
            best=legs[Leg.BEST] if is_candidate else None,
            open_start=self._open_start if is_candidate else None,
            snapshot=self._request.candidate or self._request.best,
        )
        gives = {CANDIDATE: is_candidate, SANITIZER: self._request.operator.language == "c"}
        try:
            run_probes(PROBES, on, frozenset(what for what, is_given in gives.items() if is_given))
        finally:
            environment = self._measurement.environment
            told = [why for name, why in on.left_out.items() if name == "memory-use" and gives[SANITIZER]]
            self._keep(environment=replace(environment, weaker=(*environment.weaker, *told)))
        self._shown |= on.shown
        self._yardstick = on.yardstick
        if on.carried is not None:
            carried = on.carried
            self._keep(state=carried.what, bucket=carried.bucket, hit_trace=carried.trace, weight_share=carried.share)
        self._keep(left_out=tuple(f"{name}: {why}" for name, why in on.left_out.items()))

    @contextmanager
    def _open_start(self) -> Iterator[LiveLeg]:
        """A process with the starting kernel."""
        start = self._request.start or self._request.best
        built: Built | NotBuilt = self._builts[Leg.BEST]  # after the first accepted round they are two
        if start != self._request.best:
            built = build_kernel(start, self._setup.operator, self._setup.shop)
        if isinstance(built, NotBuilt):
            raise BenchError(f"The starting kernel no longer compiles: {built.reason}")
        with LiveLeg(Leg.BEST, built, self._setup, self._rng) as leg:
            leg.worker.load()
            yield leg

    def _confirm(self) -> None:
        """What is looked at only where the candidate would be accepted: many processes, and all sizes beyond the listed."""
        from layline.campaign.measure.probes.processes import probe_largest, probe_processes

        verdict = look(self._measurement, is_last=True) if self._on_trial is Leg.CANDIDATE else None
        if verdict is None or not verdict.outcome.is_accepted:
            return
        self._say("gates: more processes, extents beyond every listed one")
        with self._timed("gates"):
            self._shown |= dict(probe_processes(self._setup, self._places[Leg.CANDIDATE], self._rng, len(self._pairs)))
            self._shown |= dict(probe_largest(self._setup, self._places[Leg.CANDIDATE], self._rng))

    def _probe_end(self, legs: list[LiveLeg]) -> None:
        from layline.campaign.measure.probes.calls import find_foreign_code, probe_leftovers, probe_provenance

        trial = next(leg for leg in legs if leg.leg is self._on_trial)
        self._stood += sum(leg.worker.stood_still for leg in legs)
        self._requests += sum(leg.worker.replies for leg in legs)
        trial.worker.settle(0.02)
        probe_leftovers(trial)
        self._shown["charged-in-full"] = trial.worker.account.kind
        foreign = find_foreign_code(trial, self._setup.own_files)
        if foreign and not self._request.plan.vendor_allowed:
            built = self._builts[self._on_trial]
            with LiveLeg(self._on_trial, built, self._setup, self._rng, masked=foreign) as masked:
                masked.worker.load()
                masked.worker.pin(trial.worker.cores)
                probe_provenance(self._setup, trial, masked, foreign, self._rng)
        told = f"without {', '.join(foreign)} it is as fast" if foreign else "no other code was in the worker"
        self._shown["own-code"] = "allowed by the plan" if foreign and self._request.plan.vendor_allowed else told

    def _summarise(self) -> None:
        samples = tuple(sample for pair in self._pairs for sample in pair.samples())
        ratios = tuple(ratio for pair in self._pairs for ratio in pair.ratios())
        self._keep(pairs=len(self._pairs), samples=samples, ratios=ratios, accuracy=tuple(self._accuracy()))

    def _accuracy(self) -> Iterator[Accuracy]:
        from layline.campaign.measure.oracle import summarise_errors

        for leg in self._builts:
            for shape in self._setup.shapes:
                errors = [error for pair in self._pairs for error in pair.errors[leg, shape.label]]
                if errors:
                    yield from summarise_errors(leg, shape.label, errors)

    def _conclude(self) -> None:
        from layline.campaign.measure.clock import tell_clock
        from layline.campaign.measure.controls import judge_controls
        from layline.campaign.measure.final_checks import check_timed_errors, close_gates

        clock, *others = self._measurement.controls
        clock = tell_clock(clock, self._stood, self._requests)
        controls = (clock, *others, *judge_controls(self._measurement))
        gates = (
            *close_gates(self._measurement, self._request.operator, self._request.shapes, self._pairs, self._shown),
            *check_timed_errors(self._request.operator, self._yardstick, self._pairs),
        )
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
        status = _STATUS.get(fault.property, Status.REFUSED)
        self._summarise()
        if self._is_blind():
            return
        self._keep(status=status, gates=(gate,), problem=fault.reason, samples=(), ratios=(), pairs=0)

    def give_up(self, disturbed: Disturbed) -> None:
        """No verdict: the machine was too busy for an answer that holds."""
        control = GateResult(property="undisturbed", passed=False, reason=str(disturbed))
        controls = (*self._measurement.controls, control)
        self._keep(status=Status.CONTROLS_FAILED, controls=controls, problem=control.reason)

    def finish(self) -> Measurement:
        """The measurement with the machine's state at its end."""
        environment = replace(self._measurement.environment, load_after=os.getloadavg()[0])
        self._keep(
            environment=environment, seconds=tuple((what, round(spent, 3)) for what, spent in self._spent.items())
        )
        return self._measurement

    def _keep(self, **fields: object) -> None:
        self._measurement = replace(self._measurement, **fields)  # type: ignore[arg-type]

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._spent[what] = self._spent.get(what, 0.0) + time.monotonic() - began
