"""Measuring with the user's own benchmark command: the specification's contract, run in pairs.

Best and candidate are put into the tree in turn, rebuilt and run as fresh processes, order shuffled, with the best once
more in every pair as the A/A control. The command reuses its tensors and reports its own times, so what it says is
never called real before the transfer simulation (`transfer_command`) has run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shlex
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.bench import Measured, Trial
from layline.campaign.command import transfer
from layline.campaign.command.figures import SNR_DB, Tables, add_control, build_measurement, merge_tables
from layline.campaign.command.transfer import TrainingStep, add_transfer, compare_steps, judge_transfer, parse_steps
from layline.campaign.devices.machine import read_environment
from layline.campaign.ledger.snapshot import write_kernel_files
from layline.campaign.values.bench_csv import BenchTable, parse_bench_csv
from layline.campaign.values.judge import judge, look
from layline.campaign.values.manifest import Manifest, shape_list
from layline.campaign.values.measurement import Arm, Measurement, Plan, Status
from layline.errors import BenchError, RecordError
from layline.executors.processor import name_processor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.ledger.snapshot import KernelFiles
    from layline.campaign.values.measurement import Bucket
    from layline.campaign.values.verdict import Verdict

SHAPES_VARIABLE = "LAYLINE_SHAPES"
"""Names a JSON file with the shapes to run, so that the harness itself never changes."""
RUN_VARIABLE = "LAYLINE_RUN"
"""Marks the processes of a campaign's commands, so that those a crash left behind can be found and ended."""
LOOKS = (5, 8, 12)
SAID = 2048
"""Characters kept of what one run of a command printed: every run is in the ledger."""
NEWLINE = "\n"
SWEEPS = 100


@dataclass(frozen=True, slots=True)
class Failure:
    """A leg that gave no figures, and why."""

    status: Status
    problem: str


class CommandBench:
    """Runs `quick_command --summary-csv FILE` in the user's tree."""

    def __init__(self, manifest: Manifest, root: Path, kernel_root: Path, frozen: dict[str, str] | None = None) -> None:
        self.manifest = manifest
        self.root = root
        """Where the commands run."""
        self.kernel_root = kernel_root
        self._frozen = frozen
        self._header: str | None = None
        self._said: list[str] = []

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(shape["label"]) for shape in shape_list(self.manifest))

    def machine(self) -> str:
        """The processor: which accelerator the commands use is theirs to know."""
        return name_processor()

    def place(self) -> dict[str, str]:
        return {}

    def frozen(self) -> dict[str, str]:
        """Every file of the tree that the commands name, by its hash; the kernel itself is what may change."""
        words = [word for text in self._commands() for word in shlex.split(text)]
        paths = sorted(
            {word for word in words if (self.root / word).is_file() and word not in self.manifest.kernel_files}
        )
        return {path: hashlib.sha256((self.root / path).read_bytes()).hexdigest() for path in paths}

    def judge(self, measurement: Measurement, bucket: Bucket | None) -> Verdict:
        verdict = judge(measurement, bucket=bucket, weight_share=self.manifest.weight_share)
        return judge_transfer(verdict, measurement, self.manifest.weight_share)

    def measure(self, trial: Trial) -> Measured:
        alpha, labels, candidate = trial.alpha, trial.labels, trial.candidate or trial.best
        plan = Plan(
            looks=tuple(sorted({self.manifest.repeats, *(at for at in LOOKS if at > self.manifest.repeats)})),
            alpha=alpha,
            min_effect=self.manifest.min_effect,
            clock="wall",
            timeout_s=self.manifest.time_limit_s,
            core_shapes=self.manifest.core_shapes,
        )
        unconfined = replace(read_environment(), sandbox=(), weaker=("the user's own command runs unconfined",))
        start = Measurement(
            status=Status.MEASURED,
            operator=self.manifest.target_op,
            shapes=labels,
            plan=plan,
            environment=unconfined,
            seed_commitment=trial.commitment,
            seed=trial.seed.hex(),
        )
        self._said = []
        try:
            return replace(self._measure(start, trial), said="".join(self._said))
        finally:
            self._place(candidate)

    @property
    def _mark(self) -> str:
        return hashlib.sha256(f"{self.root}\0{self.manifest.name}".encode()).hexdigest()[:16]

    def _measure(self, start: Measurement, trial: Trial) -> Measured:
        end_leftovers(self._mark)
        tested = self._test(trial.candidate or trial.best)
        if tested is not None:
            return Measured(measurement=_fail(start, tested))
        order = random.Random(start.seed)  # noqa: S311  the order of legs, not a secret
        tables: Tables = {}
        on_trial = Arm.CANDIDATE if trial.candidate else Arm.BEST
        snr_db = SNR_DB.get((self.manifest.number_format or "").lower())
        kernels = {Arm.BEST: trial.best, Arm.AGAIN: trial.best}
        if trial.candidate is not None:
            kernels[Arm.CANDIDATE] = trial.candidate
        measurement = start
        for pair in range(start.plan.looks[-1]):
            for leg in order.sample(list(kernels), len(kernels)):
                found = self._run_leg(kernels[leg], start.shapes)
                if isinstance(found, Failure):
                    return Measured(
                        measurement=_fail(start, found, is_candidate=leg is Arm.CANDIDATE or trial.candidate is None)
                    )
                tables[pair, leg] = found
            measurement = build_measurement(start, tables, on_trial, snr_db)
            if measurement.failed_gates:
                break
            is_late = trial.stop_by is not None and time.monotonic() > trial.stop_by
            if pair + 1 in start.plan.looks and (is_late or trial.candidate is None or look(measurement) is not None):
                break
        measurement = add_control(measurement, start.plan.min_effect)
        gain = self._find_gain(measurement, trial)
        if gain is not None:
            measurement = self._simulate(measurement, trial, gain)
        return Measured(
            measurement=measurement,
            csv=merge_tables(tables, Arm.CANDIDATE if trial.candidate is not None else Arm.BEST),
            best_csv=merge_tables(tables, Arm.BEST) if trial.candidate is not None else "",
        )

    def _find_gain(self, measurement: Measurement, trial: Trial) -> float | None:
        """The gain that would be accepted and must also be there in training steps; None where nothing is to be
        simulated.
        """
        if (
            self.manifest.transfer_command is None
            or trial.candidate is None
            or measurement.status is not Status.MEASURED
        ):
            return None
        verdict = judge(measurement)
        return verdict.interval.estimate if verdict.outcome.is_accepted and verdict.interval else None

    def _simulate(self, measurement: Measurement, trial: Trial, gain: float) -> Measurement:
        """Training steps with fresh tensors, best and candidate in turn, in process pairs of their own, until they
        tell.
        """
        kernels = {Arm.BEST: trial.best, Arm.CANDIDATE: trial.candidate or trial.best}
        order = random.Random(measurement.seed + "transfer")  # noqa: S311  the order of legs, not a secret
        simulated: list[float] = []
        steps: list[TrainingStep] = []
        while len(simulated) < transfer.LOOKS[-1]:
            found = {}
            for leg in order.sample(list(kernels), 2):
                ran = self._run_transfer(kernels[leg], measurement.shapes)
                if isinstance(ran, Failure):
                    return _fail(measurement, ran, is_candidate=leg is Arm.CANDIDATE)
                found[leg] = ran
            simulated.append(compare_steps(found[Arm.BEST], found[Arm.CANDIDATE]))
            steps += found[Arm.CANDIDATE]
            if (
                len(simulated) in transfer.LOOKS
                and transfer.read_transfer(simulated, gain, self.manifest.min_effect) is not transfer.Transfer.UNSHOWN
            ):
                break
        return add_transfer(measurement, simulated, steps)

    def _run_transfer(self, kernel: KernelFiles, labels: tuple[str, ...]) -> tuple[TrainingStep, ...] | Failure:
        ran = self._run_program(self.manifest.transfer_command or "", "transfer command", kernel, labels)
        if isinstance(ran, Failure):
            return ran
        try:
            return parse_steps(ran, labels)
        except RecordError as error:
            return Failure(
                Status.CRASHED, f"the transfer simulation's CSV is not readable: {'; '.join(error.problems)}"
            )

    def _test(self, candidate: KernelFiles) -> Failure | None:
        """Correctness before performance: the focused test, once, on the candidate."""
        self._place(candidate)
        built = self._rebuild()
        if built is not None or not self.manifest.test_command or self.root != self.kernel_root:
            return built  # in a workspace the test belongs to the integration gate, in the real tree
        code, output = self._run(self.manifest.test_command, {})
        self._keep("test command", candidate, output)
        if code is None:
            return Failure(Status.HUNG, f"the test command did not end within {self.manifest.time_limit_s:.0f} s")
        return Failure(Status.REFUSED, f"the test command failed ({code}): {_tail(output)}") if code != 0 else None

    def _run_leg(self, kernel: KernelFiles, labels: tuple[str, ...]) -> BenchTable | Failure:
        ran = self._run_program(self.manifest.quick_command or "", "quick command", kernel, labels)
        return ran if isinstance(ran, Failure) else self._read(ran, labels)

    def _run_program(self, program: str, what: str, kernel: KernelFiles, labels: tuple[str, ...]) -> bytes | Failure:
        """The kernel put in place and rebuilt, the program run; the CSV it wrote."""
        self._check_frozen()
        self._place(kernel)
        built = self._rebuild()
        if built is not None:
            return built
        with tempfile.TemporaryDirectory(prefix="layline-bench-") as folder:
            shapes, out = Path(folder) / "shapes.json", Path(folder) / "benchmark.csv"
            chosen = [shape for shape in shape_list(self.manifest) if str(shape["label"]) in labels]
            shapes.write_text(json.dumps(chosen), encoding="utf-8")
            code, output = self._run(f"{program} --summary-csv {shlex.quote(str(out))}", {SHAPES_VARIABLE: str(shapes)})
            self._keep(what, kernel, output)
            if code is None:
                return Failure(Status.HUNG, f"the {what} did not end within {self.manifest.time_limit_s:.0f} s")
            if not out.is_file():
                return Failure(Status.CRASHED, f"the {what} ended with {code} and wrote no CSV: {_tail(output)}")
            return out.read_bytes()

    def _read(self, data: bytes, labels: tuple[str, ...]) -> BenchTable | Failure:
        try:
            table = parse_bench_csv(data, where="benchmark.csv", frozen=self._header)
        except RecordError as error:
            return Failure(Status.CRASHED, f"its CSV is not readable: {'; '.join(error.problems)}")
        self._header = table.header_line
        found = tuple(row.label for row in table.rows)
        if set(found) != set(labels):
            missing = sorted(set(labels) - set(found)) or sorted(set(found) - set(labels))
            return Failure(Status.CRASHED, f"its CSV does not contain these shapes: {', '.join(missing)}")
        return table

    def _keep(self, what: str, kernel: KernelFiles, output: str) -> None:
        """What a command printed, its end where it printed much: the round's validation log."""
        shown = output if len(output) <= SAID else f"[… {len(output) - SAID} characters before]\n{output[-SAID:]}"
        self._said.append(f"== {what}, kernel {kernel.id[:12]}\n{shown}{'' if shown.endswith(NEWLINE) else NEWLINE}")

    def _place(self, kernel: KernelFiles) -> None:
        write_kernel_files(self.kernel_root, kernel, self.manifest.kernel_files)

    def _rebuild(self) -> Failure | None:
        if not self.manifest.rebuild_command or self.root != self.kernel_root:
            return None
        code, output = self._run(self.manifest.rebuild_command, {})
        if code == 0:
            return None
        return Failure(
            Status.BUILD_FAILED,
            f"the rebuild command failed ({'time limit' if code is None else code}): {_tail(output)}",
        )

    def _check_frozen(self) -> None:
        if self._frozen is None:
            return
        now = self.frozen()
        changed = sorted(path for path in self._frozen if now.get(path) != self._frozen[path])
        if changed:
            raise BenchError(
                f"{changed[0]} changed since the campaign began.",
                hint="The harness is frozen: restore it, or begin a new campaign.",
            )

    def _commands(self) -> list[str]:
        manifest = self.manifest
        ours = [manifest.quick_command, manifest.transfer_command]
        if self.root == self.kernel_root:  # in a workspace the other commands are those of the real tree
            ours += [manifest.test_command, manifest.benchmark_command]
        return [text for text in ours if text]

    def _run(self, command: str, extra: dict[str, str]) -> tuple[int | None, str]:
        """Run a command of the user's in a session of its own; None for the exit code of one that had to be ended."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=self.root,
                env={**os.environ, RUN_VARIABLE: self._mark, **extra},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code: int | None = None
            deadline = time.monotonic() + self.manifest.time_limit_s
            try:
                code = process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end_session(process)
            output.seek(0)
            return code, output.read(1 << 20).decode("utf-8", "replace")


def end_leftovers(mark: str) -> int:
    """End commands of this campaign that outlived the Layline that started them; how many. The campaign is locked."""
    ended: set[int] = set()
    for _ in range(SWEEPS):  # a process may start another one while /proc is read
        found = set(_find_marked(f"{RUN_VARIABLE}={mark}".encode()))
        if not found:
            break
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        ended |= found
        time.sleep(0.01)
    return len(ended)


def _find_marked(wanted: bytes) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (place / "environ").read_bytes().split(b"\0") and int(place.name) != os.getpid():
                yield int(place.name)
        except OSError:
            continue  # it is gone, or not ours


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End whatever the command left behind: a child that goes on running would disturb the next leg."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _fail(start: Measurement, failure: Failure, *, is_candidate: bool = True) -> Measurement:
    """A candidate that fails is an answer; a best that fails means that nothing can be measured now."""
    if is_candidate:
        return replace(start, status=failure.status, problem=failure.problem)
    return replace(start, status=Status.CONTROLS_FAILED, problem=f"the best kernel gave no figures: {failure.problem}")


def _tail(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it printed nothing"
