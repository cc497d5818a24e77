"""Measure a candidate against the best: build, gates, interleaved process pairs, controls, until the judge can tell.

This is what a round calls, on a processor and on an accelerator alike: what differs between them is the device's.
Nothing here decides; `judge` does, on the returned value alone.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.devices.machine import read_environment
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.build import NotBuilt, build_kernel, dress, workshop
from layline.campaign.measure.cast import Cast
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.clock import tell_clock
from layline.campaign.measure.company import check_alone, find_spoiler, judge_company
from layline.campaign.measure.controls import (
    Canary,
    calibrate_canary,
    check_builds,
    examine,
    judge_controls,
    time_twins,
)
from layline.campaign.measure.crew import call_first, calling_first, live, load
from layline.campaign.measure.final_checks import check_timed_errors, close_gates
from layline.campaign.measure.oracle import Error
from layline.campaign.measure.pair import (
    PairRun,
    find_accuracy,
    find_gains,
    needs_neighbours,
    run_shape,
    time_neighbours,
)
from layline.campaign.measure.probes.beside import FEW, find_ahead, run_beside
from layline.campaign.measure.probes.probe import AGAIN, BEST, Probe, Trial, run_probes
from layline.campaign.measure.probes.table import AFTER_EACH, BEFORE_ACCEPTING, EARLY, PROBES, STALLS
from layline.campaign.measure.request import Request
from layline.campaign.measure.spent import Spent
from layline.campaign.measure.stage import CANDIDATE, SANITIZER, Stage
from layline.campaign.values.judge import is_in_doubt, look, say
from layline.campaign.values.measurement import Arm, GateResult, Measurement, Status
from layline.campaign.values.statistics import gain_interval
from layline.errors import BenchError

Progress = Callable[[str], None]
BASELINE_PAIRS = 4
CLEAR = 0.05
"""A gain in the first process pair from which what is looked at before accepting begins there."""
WATCHED = 0.05
"""Error on each side of the interval that is told while a run goes on."""
_STATUS = {"survives": Status.CRASHED, "answers-in-time": Status.HUNG, "builds": Status.BUILD_FAILED}


def measure_baseline(request: Request, *, progress: Progress = lambda _said: None) -> Measurement:
    """Check the starting kernel on every shape and time it; there is nothing to compare it with yet."""
    return measure_pair(replace(request, candidate=None), progress=progress)


def measure_pair(request: Request, *, progress: Progress = lambda _said: None) -> Measurement:
    """Measure best and candidate in interleaved process pairs until the judge can tell or the plan ends."""
    with workshop() as shop:
        stage = set_stage(request.operator, request.shapes, request.plan, shop, request.seed)
        run = _Run(request=request, stage=stage, progress=progress)
        run.begin(request.seed)
        try:
            run.measure()
        except Fault as fault:
            run.refuse(fault)
        except Disturbed as disturbed:
            run.give_up(disturbed)
        return run.finish()


class _Run:
    """The state of one measuring run, and its steps in order."""

    def __init__(self, *, request: Request, stage: Stage, progress: Progress) -> None:
        self._request = request
        self._stage = stage
        self._say = progress
        self._cast = Cast(request, stage)
        self._pairs: list[PairRun] = []
        self._spent = Spent()
        self._canary: Canary | None = None
        self._is_clear = False
        """Whether the first process pair shows a clear gain: then nothing waits until it would be accepted."""
        self._made: tuple[Probe, ...] = ()
        """In the first process pair."""
        self._yardstick: dict[str, list[Error]] = {}
        self._stood = self._requests = 0
        self._shown: dict[str, str] = {}
        """Properties by what showed them; what is not here was not looked at and is not claimed."""
        self._is_candidate = request.candidate is not None

    def begin(self, seed: bytes) -> None:
        """Everything that is fixed before the first call."""
        self._measurement = Measurement(
            status=Status.MEASURED,
            operator=self._request.operator.name,
            shapes=tuple(shape.label for shape in self._request.shapes),
            plan=self._request.plan,
            environment=self._stage.device.describe(read_environment()),
            seed_commitment=hashlib.sha256(seed).hexdigest(),
            seed=seed.hex(),
        )

    def measure(self) -> None:
        """Build, controls, gates, then pairs until a look decides."""
        with self._spent.on("build"):
            self._build()
        with self._spent.on("controls"):
            self._examine()
        if self._is_blind():
            return
        looks = self._request.plan.looks if self._is_candidate else (min(BASELINE_PAIRS, self._request.plan.looks[-1]),)
        while True:
            due = next(at for at in looks if at > len(self._pairs))
            self._measure_one_pair(due - len(self._pairs) - 1)
            self._tell_gain()
            if len(self._pairs) in looks:
                self._summarise()
                # ending at an earlier look, for want of time, spends less of the error: each look has its own share
                is_last = len(self._pairs) == looks[-1] or self._request.is_late
                if not self._is_candidate or look(self._measurement, is_last=is_last):
                    break
        self._confirm()
        self._conclude()

    def _tell_gain(self) -> None:
        """For whoever watches; nothing is decided by it."""
        ratios = [one for pair in self._pairs for one in pair.ratios() if one.leg is Arm.CANDIDATE]
        if len(self._pairs) > 1 and ratios:
            clock = self._request.plan.clock
            by_pair = [[getattr(one, clock) for one in ratios if one.pair == pair.number] for pair in self._pairs]
            seen = gain_interval([sum(one) / len(one) for one in by_pair], WATCHED)
            self._say(
                f"so far: {seen.estimate:+.1%} ({say(seen)}) over {len(self._pairs)} process pairs; no verdict yet"
            )

    def _build(self) -> None:
        request = self._request
        for arm, snapshot in {Arm.BEST: request.best, Arm.CANDIDATE: request.candidate}.items():
            if snapshot is None:
                continue
            self._say(f"compiling the {arm}")
            built = build_kernel(snapshot, self._stage.operator, self._stage.shop)
            if isinstance(built, NotBuilt):
                if arm is Arm.BEST and self._is_candidate:
                    told = f"The kernel to beat does not compile: {built.reason}"
                    raise BenchError(
                        told, hint="Check whether its file or the compiler has changed. The candidate was not measured."
                    )
                raise Fault("builds", "The kernel does not compile.", built.reason)
            self._keep(**{"best" if arm is Arm.BEST else "candidate": built.build})
            self._cast.add(arm, built)

    def _examine(self) -> None:
        self._say("controls: empty call, a kernel known to be wrong")
        check_alone(self._stage)
        self._began = time.monotonic()
        seen = examine(self._stage, self._measurement.environment, self._start_first, self._wait_for_started)
        self._stage = self._cast.stage = replace(self._stage, mode=seen.mode, own_files=seen.files)
        controls, builts = list(seen.controls), self._cast.builts
        if self._is_candidate:
            is_same = (
                len({dress(one, self._stage.operator) for one in (self._request.best, self._request.candidate)}) == 1
            )
            controls.append(check_builds(builts[Arm.BEST], builts[Arm.CANDIDATE], is_same_source=is_same))
        self._keep(overhead_ms=seen.overhead_ms, environment=seen.environment, controls=tuple(controls))

    def _start_first(self) -> None:
        """The first process pair's workers, and those of probes with processes of their own: where that takes seconds,
        importing and opening the device is theirs, whoever was started first.
        """
        if self._stage.device.starts_slowly:
            self._spent.move("start", time.monotonic() - self._began)
        usual = self._choose_first()
        self._cast.start_ahead(1, self._find_ahead(usual, usual))

    def _choose_first(self) -> tuple[Probe, ...]:
        """Made in the first process pair: of the baseline and of a clear gain all that may be. Where processes take seconds to
        start they are started before the gain is known.
        """
        if self._is_clear:
            return (*PROBES, *EARLY)
        can_wait = self._is_candidate and not self._stage.device.starts_slowly
        return tuple(one for one in PROBES if not (one.is_for_gain and can_wait))

    def _find_ahead(self, probes: Iterable[Probe], new: tuple[Probe, ...]) -> Iterator[tuple[str, int]]:
        return find_ahead(self._choose_beside(probes), self._stage.device.count_lanes(self._stage), new)

    def _measure_one_pair(self, more: int) -> None:
        number = len(self._pairs)
        run = PairRun(number=number)
        with ExitStack() as stack:
            with self._spent.on("start"):
                arms = stack.enter_context(live(self._cast.take_pair()))
                unloaded = arms[0].worker.count_holdings() if self._stage.device.shares_memory else {}
                loaded = {
                    arm.arm: load(arm, is_to_beat=self._is_candidate and arm.arm is Arm.BEST) / 1e6 for arm in arms
                }
                stack.enter_context(self._stage.device.hold([arm.worker for arm in arms], self._stage))
                timed = [arm for arm in arms if arm.arm in self._cast.timed]
                self._wait_for_started()
                if number and self._stage.device.starts_slowly:  # the first pair's first call is told by itself
                    call_first(self._stage, arms)
            with self._spent.on("timing"):
                self._time(timed, run)
            with self._spent.on("gates"):
                if self._is_candidate:
                    self._look_for_more(timed, run)
                self._probe(arms, unloaded, more)
            self._wait_for_started()
            self._say("controls: the best against itself, and slowed")
            with self._spent.on("controls"):
                self._control(arms, run)
        if number == 0:
            self._keep(first_call_ms=loaded[self._cast.on_trial] + run.first_call_ms)
        self._pairs.append(run)

    def _look_for_more(self, timed: list[LiveArm], run: PairRun) -> None:
        """What only a gain is asked: whether it reaches neighbours; of a clear one, all that reads no clock."""
        plan = self._request.plan
        if needs_neighbours(self._pairs, plan.clock) and run.shows_gain(plan.clock, plan.min_effect / 2):
            time_neighbours(self._stage, timed, run)
        if run.number == 0 and run.shows_gain(plan.clock, CLEAR):
            self._is_clear = True

    def _wait_for_started(self) -> None:
        """Who still starts up works on the device, and makes the host late."""
        with self._spent.on("start"):
            for arm in self._cast.started:
                arm.worker.wait_ready()

    def _time(self, arms: list[LiveArm], run: PairRun) -> None:
        overhead = self._measurement.overhead_ms
        for index in self._stage.rng.permutation(len(self._stage.shapes)):
            shape = self._stage.shapes[int(index)]
            self._say(f"process pair {run.number + 1}: {shape.label}")
            run_shape(self._stage, arms, shape, run, on_trial=self._cast.on_trial, overhead_ms=overhead)

    def _control(self, arms: Iterable[LiveArm], run: PairRun) -> None:
        """As many as the first look needs, where twins are started for it."""
        best = next(arm for arm in arms if arm.arm is Arm.BEST)
        self._canary = self._canary or calibrate_canary(self._stage, best)
        if self._stage.device.starts_slowly or run.number < self._request.plan.looks[0]:
            run.times.update(time_twins(self._stage, arms, self._canary, partial(self._cast.draw_place, Arm.BEST)))

    def _probe(self, arms: Iterable[LiveArm], unloaded: dict[str, int], more: int) -> None:
        """In the first process pair all of them; after each what a kernel leaves behind."""
        by_arm = {arm.arm: arm for arm in arms}
        trial = by_arm[self._cast.on_trial]
        on = self._describe_trial(trial, by_arm, unloaded)
        is_first = not self._pairs
        try:
            if is_first:
                made = self._made = self._choose_first()
                self._run_probes((one for one in made if self._is_alone(one)), on)
                # they start up while the gates run, which time nothing that decides
                early = EARLY if self._is_clear else ()
                last = ((AGAIN, 0), (BEST, 0)) if self._is_clear else ()  # for what is asked before accepting
                self._cast.start_ahead(more, (*self._find_ahead(made, early), *last))
                idle = (*(arm for arm in by_arm.values() if arm.arm not in self._cast.timed), *self._cast.idle)
                self._run_all((one for one in made if not self._is_alone(one)), on, idle)
            self._stood += sum(arm.worker.stood_still for arm in by_arm.values())
            self._requests += sum(arm.worker.replies for arm in by_arm.values())
            trial.worker.settle(0.02)
            self._run_probes(AFTER_EACH, on)
        finally:
            if is_first:
                self._take_over(on)
        self._shown |= on.shown

    def _is_alone(self, probe: Probe) -> bool:
        return probe.is_alone and self._stage.device.shares_memory

    def _describe_trial(self, trial: LiveArm, by_arm: dict[Arm, LiveArm], unloaded: dict[str, int]) -> Trial:
        return Trial(
            stage=self._stage,
            trial=trial,
            best=by_arm.get(Arm.BEST) if self._is_candidate else None,
            open_start=self._cast.open_start,
            open_again=self._cast.open_again,
            open_best=self._cast.open_best,
            snapshot=self._request.candidate or self._request.best,
            start=(self._request.start or self._request.best) if self._is_candidate else None,
            beside=tuple(by_arm.values()),
            unloaded=unloaded,
            processes=len(self._pairs) + 1,
            shown=dict(self._shown),
            claimed=find_gains(self._pairs, "cpu" if self._stage.device.clock == "own" else "wall"),
        )

    @property
    def _gives(self) -> frozenset[str]:
        return frozenset({*self._stage.device.gives, *((CANDIDATE,) if self._is_candidate else ())})

    def _run_probes(self, probes: Iterable[Probe], on: Trial) -> None:
        run_probes(probes, on, self._gives, self._say)

    def _choose_beside(self, probes: Iterable[Probe]) -> tuple[Probe, ...]:
        """Those of them that are made here, side by side."""
        made = (one for one in probes if not self._is_alone(one) and not one.needs - self._gives)
        return tuple(one for one in made if one.is_beside or one.is_apart)

    def _run_all(self, probes: Iterable[Probe], on: Trial, idle: Sequence[LiveArm] = ()) -> None:
        """First those that no clock decides, side by side; then the others, one after the other."""
        asked = tuple(probes)
        beside, lanes = self._choose_beside(asked), self._stage.device.count_lanes(self._stage)
        # with few lanes the start has their memory
        with calling_first(self._stage, idle if lanes > FEW else ()):
            run_beside(beside, on, self._gives, self._say, lanes)
        self._wait_for_started()
        self._run_probes((one for one in asked if one not in beside), on)

    def _take_over(self, on: Trial) -> None:
        """What the probes found beside what they showed."""
        environment, gives = self._measurement.environment, self._stage.device.gives
        told = (why for name, why in on.left_out.items() if name == "memory-use" and SANITIZER in gives)
        self._keep(environment=replace(environment, weaker=(*environment.weaker, *told)), left_out=on.tell_left_out())
        self._yardstick = on.yardstick

    def _take_carried(self, on: Trial) -> None:
        """What the kernel keeps from call to call."""
        if on.carried is not None:
            carried = on.carried
            self._keep(state=carried.what, bucket=carried.bucket, hit_trace=carried.trace, weight_share=carried.share)

    def _confirm(self) -> None:
        """What is looked at only where the candidate would be accepted, or where that is in doubt."""
        probes = self._choose_last() if self._is_candidate else ()
        if not probes:
            return
        with self._spent.on("gates"), ExitStack() as stack:
            arms = stack.enter_context(live((self._cast.open_again(None, ()), self._cast.open_best())))
            self._cast.start_ahead(0, self._find_ahead(probes, probes))
            for arm in arms:
                arm.worker.load()
            stack.enter_context(self._stage.device.hold([arm.worker for arm in arms], self._stage))
            on = self._describe_trial(arms[0], dict(zip((self._cast.on_trial, Arm.BEST), arms, strict=True)), {})
            try:
                self._run_all(probes, on)
            finally:
                self._take_carried(on)
        self._shown |= on.shown
        self._keep(left_out=(*self._measurement.left_out, *on.tell_left_out()))

    def _choose_last(self) -> tuple[Probe, ...]:
        verdict = look(self._measurement, is_last=True)
        if verdict is not None and verdict.outcome.is_accepted:
            return tuple(one for one in (*PROBES, *BEFORE_ACCEPTING) if one not in self._made)
        return (STALLS,) if is_in_doubt(self._measurement) else ()

    def _summarise(self) -> None:
        self._keep(
            pairs=len(self._pairs),
            samples=tuple(sample for pair in self._pairs for sample in pair.samples()),
            ratios=tuple(ratio for pair in self._pairs for ratio in pair.ratios()),
            accuracy=tuple(find_accuracy(self._cast.builts, self._stage.shapes, self._pairs)),
            conditions=tuple(line for pair in self._pairs for line in pair.conditions),
        )

    def _conclude(self) -> None:
        controls = list(self._measurement.controls)
        if controls[0].property == "cpu-clock":
            controls[0] = tell_clock(controls[0], self._stood, self._requests)
        gates = (
            *close_gates(self._measurement, self._stage, self._pairs, self._shown),
            *check_timed_errors(self._request.operator, self._yardstick, self._pairs),
        )
        alone = judge_company(self._stage, [look for pair in self._pairs for look in pair.looks])
        self._keep(controls=(*controls, *judge_controls(self._measurement), *alone), gates=gates)
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
        if spoiler := find_spoiler(self._stage, fault):
            self.give_up(spoiler)
            return
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
        """The measurement with the machine's state at its end; workers still waiting are ended."""
        for arm in self._cast.started:
            arm.close()
        environment = replace(self._measurement.environment, load_after=os.getloadavg()[0])
        self._keep(
            environment=environment,
            seconds=tuple((what, round(spent, 3)) for what, spent in self._spent.seconds.items()),
        )
        return self._measurement

    def _keep(self, **fields: Any) -> None:
        self._measurement = replace(self._measurement, **fields)
