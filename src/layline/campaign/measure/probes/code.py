"""Whose code does the work: what a profiler names on a device, what a process has loaded on a processor."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.arm import LiveArm
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.between import find_gain
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.shown import Shown
from layline.campaign.measure.probes.time import SERIES
from layline.campaign.measure.stage import Stage
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.operator import Shape, Snapshot
from layline.campaign.values.statistics import quantile

FOREIGN_SHARE = 0.01
"""Of a pass's device time: what may go to kernels that neither are the candidate's nor merely fill or copy."""
HARMLESS = ("Memset", "Memcpy", "FillFunctor", "direct_copy_kernel", "bfloat16_copy_kernel", "float8_copy_kernel")
"""Fills and copies of the library: no part of any operator's work."""
MOST_CALLS_BEFORE = 6
PROVENANCE_CALLS = 6
PROVENANCE_RATIO, OWN_SHARE = 1.3, 0.5
"""How many times as long any kernel may take without what it loaded; what must be left of a gain."""
OWN_LIBRARIES = (
    "ld-linux",
    "libc.so",
    "libm.so",
    "libm-",
    "libc-",
    "libpthread",
    "libdl",
    "libgomp",
    "libffi",
    "libpython",
    "libmvec",
    "libgcc_s",
    "librt",
    "libutil",
)
_BOUNDS = r"(?:__launch_bounds__\s*\([^)]*\)\s*)?"
_ENTRY = re.compile(rf"__global__\s+{_BOUNDS}(?:static\s+)?void\s+{_BOUNDS}(?P<name>\w+)\s*\(")
"""A kernel's head in CUDA or HIP."""
LIBRARIES = ("at::", "c10::", "cub::", "thrust::", "cudnn")
"""Whose kernels are never the candidate's, whatever names it gives its own."""


def show_loaded(on: Trial) -> Shown:
    """After a process pair: a library that was loaded is hidden, and the kernel tried again."""
    stage = on.stage
    foreign = find_foreign_code(on.trial, stage.own_files)
    if not foreign:
        yield "own-code", "no other code was in the worker"
        return
    if stage.plan.vendor_allowed:
        yield "own-code", "allowed by the plan"
        return
    with on.open_again(None, foreign).loaded() as masked:
        masked.worker.pin(on.trial.worker.cores)
        probe_provenance(stage, on.trial, masked, foreign)
    yield "own-code", f"without {', '.join(foreign)} it is as fast"


def show_own_gain(on: Trial) -> Shown:
    """Where other code is in the worker, at least half of the gain is there without it, however small the gain."""
    stage = on.stage
    for step in stage.operator.passes:
        on.trial.run(step, draw(stage, stage.by_work[0], step=step))
    foreign = () if stage.plan.vendor_allowed else find_foreign_code(on.trial, stage.own_files)
    yield from ()
    if not foreign or not on.claimed:
        return
    assert on.best is not None  # noqa: S101  the probe needs a candidate
    shape = max(stage.shapes, key=lambda one: on.claimed.get(one.label, 0.0))
    claimed = on.claimed.get(shape.label, 0.0)
    with on.open_again(None, foreign).loaded() as masked:
        masked.worker.pin(on.trial.worker.cores)
        found = find_gain(OWN_SHARE * claimed, stage, (masked, on.best), shape)
    if found < OWN_SHARE * claimed:
        told = f"Without {name_files(foreign)} the gain on {describe_shape(shape)} is {math.expm1(found):+.1%}"
        raise Fault(
            "own-code", f"{told}, with it {math.expm1(claimed):+.1%}: what it loaded does the work.", *foreign[:5]
        )


def name_files(files: tuple[str, ...]) -> str:
    """All of them, by their names alone: which of several did the work is not known."""
    return ", ".join(file.rpartition("/")[2] for file in files)


def find_foreign_code(arm: LiveArm, own: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Files whose code is in the worker although it was neither built from the sources nor is the system's or
    interpreter's own.
    """
    kernel = arm.worker.kernel.path.name
    return tuple(
        sorted(
            file
            for file in arm.worker.mapped_files() - own
            if file.startswith("/")
            and not file.endswith(f"/{kernel}")
            and "/lib-dynload/" not in file
            and not file.rpartition("/")[2].startswith((*OWN_LIBRARIES, "python"))
        )
    )


def probe_provenance(stage: Stage, arm: LiveArm, masked: LiveArm, foreign: tuple[str, ...]) -> None:
    """A library was loaded; without it the kernel must still be right and as fast, else the library does the work."""
    for _series in range(SERIES):
        worst = max(_compare_without(stage, (arm, masked), shape, foreign) for shape in stage.shapes)
        if worst <= PROVENANCE_RATIO:
            return
    told = f"Without {name_files(foreign)} the kernel takes {worst:.1f} times as long: what it loaded does the work."
    raise Fault("own-code", told, *foreign[:5])


def _compare_without(stage: Stage, arms: tuple[LiveArm, LiveArm], shape: Shape, foreign: tuple[str, ...]) -> float:
    """How many times as long calls take when the library is hidden."""
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _call in range(PROVENANCE_CALLS):
        given = draw(stage, shape)
        for one in (arms[int(at)] for at in stage.rng.permutation(2)):
            try:
                costs[one is arms[0]].append(sum(one.run(step, given).cost_ns for step in stage.operator.passes))
            except Fault as fault:
                told = f"Without {name_files(foreign)} the kernel no longer works: {fault.reason}"
                raise Fault("own-code", told, *foreign[:5]) from None
    return quantile(costs[False], 0.25) / quantile(costs[True], 0.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What ran on the device during one pass; `own` is None where nothing could be seen."""

    step: str
    own: float | None
    foreign: tuple[tuple[str, float], ...] = ()
    """Share of the device time by name, the largest first."""


def show_profiled(on: Trial) -> Shown:
    """Watch one call of every pass, after a number of unwatched ones nobody can foresee, in a process of its own."""
    stage = on.stage
    if stage.plan.vendor_allowed:
        return
    compiled, told = find_compiled(on.snapshot), []
    shape = stage.by_work[0]
    with on.open_again(None, (), is_profiled=True).loaded() as arm:
        for step in stage.operator.passes:
            for _before in range(1 + int(stage.rng.integers(0, MOST_CALLS_BEFORE))):
                arm.run(step, draw(stage, shape, step=step))
            given = draw(stage, shape, step=step)
            filled = arm.fill(step, given)
            arm.memory.flush()
            seen = read_seen(step.name, arm.worker.watch(filled), compiled)
            arm.check(filled, given)
            _refuse_foreign(seen, shape)
            told += [f"{step.name} {seen.own:.1%}"] if seen.own is not None else []
    if told:
        yield "own-code", f"device time in the kernel's own functions, by the profiler's names: {', '.join(told)}"


def _refuse_foreign(seen: Seen, shape: Shape) -> None:
    share = sum(share for _name, share in seen.foreign)
    if share > FOREIGN_SHARE:
        raise Fault(
            "own-code",
            f"{share:.0%} of the device time of {seen.step} on {describe_shape(shape)} went to code that was not "
            "built from the kernel's sources.",
            *(f"{name[:160]}: {part:.1%}" for name, part in seen.foreign[:5]),
        )


def find_compiled(snapshot: Snapshot) -> frozenset[str]:
    """Names of functions the snapshot hands to a compiler: decorated with something called jit, or written in CUDA or
    HIP inside a text of it.
    """
    found: set[str] = set()
    for _path, text in snapshot.files:
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.FunctionDef() if any(_is_jit(one) for one in node.decorator_list):
                    found.add(node.name)
                case ast.Constant(value=str(source)) if "__global__" in source:
                    found |= {match.group("name") for match in _ENTRY.finditer(source)}
    return frozenset(found)


def find_base_name(shown: str) -> str:
    """`scale` of what a profiler shows as `void ours::scale<256, float>(float const*, int)`."""
    whole = shown.removeprefix("void ")
    if whole.startswith(LIBRARIES):
        return ""
    plain, depth = "", 0
    for letter in whole:
        if letter == "(" and not depth:
            break
        depth += (letter == "<") - (letter == ">")
        plain += letter if not depth and letter != ">" else ""
    return plain.rpartition("::")[2].strip()


def _is_jit(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(named, ast.Attribute) and named.attr == "jit") or (
        isinstance(named, ast.Name) and named.id == "jit"
    )


def read_seen(step: str, times: dict[str, float], compiled: frozenset[str]) -> Seen:
    """Sort what ran into the candidate's own, harmless and foreign."""
    total = sum(times.values())
    if not total:
        return Seen(step=step, own=None)
    shares = {name: took / total for name, took in times.items()}
    ours = {name for name in shares if name in compiled or find_base_name(name) in compiled}
    own = sum(shares[name] for name in ours)
    foreign = [
        (name, share)
        for name, share in shares.items()
        if name not in ours and not any(word in name for word in HARMLESS)
    ]
    return Seen(step=step, own=own, foreign=tuple(sorted(foreign, key=lambda one: -one[1])))
