"""Check an operator before any kernel is judged by it: its shapes, its reference, its tolerance, its cost, its start."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from layline.campaign.check_start import Finding, check_start
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.devices.procfs import read_kept_waiting_ns
from layline.campaign.measure.accelerator import has_device
from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.inputs import draw
from layline.campaign.measure.oracle import Close, Wrong
from layline.campaign.measure.sizes import find_near_shapes
from layline.campaign.operators import NAMES
from layline.campaign.operators.own.read import KNOWN
from layline.campaign.values.describe import describe_call, describe_inputs, describe_shape
from layline.campaign.values.measurement import Plan
from layline.core.prose import count, verb
from layline.errors import ConfigError
from layline.errors import Error as LaylineError

if TYPE_CHECKING:
    from layline.campaign.measure.stage import Stage
    from layline.campaign.operators.own.read import OperatorFile
    from layline.campaign.values.operator import Operator, Pass, Shape

NEIGHBOURS = 8
ROUNDING = 1e-5
"""How far two answers to one question may differ, in units of a row, without being random."""
CALLS_PER_SHAPE = 700
"""Right answers that a measuring run asks for, each shape, all its process pairs together."""
LONG_S, TOO_LONG_S = 120.0, 900.0
HINTS = {
    "shapes": "Correct `shapes`, the domains in `axes`, or `legal`.",
    "cost": "List smaller shapes, or write a faster reference.",
    "reference": "Correct `reference`, or `inputs`, if what it is given is wrong.",
    "sizes": "Every shape that `axes` and `legal` allow is tried, with hard values: narrow them, or correct the function.",
    "tolerance": "Change `tolerance`, or draw `inputs` whose right answers are larger.",
}
NO_POISON = -1
"""Nothing was poisoned: no pattern of bits means that an element was left out."""
FEW = 30
"""Times what rounding costs: a tolerance below that refuses kernels for the order in which they add."""


def check_operator(
    operator: Operator,
    file: OperatorFile | None = None,
    *,
    is_quick: bool = False,
    progress: Callable[[str], None] = lambda _said: None,
) -> tuple[Finding, ...]:
    """Everything there is to say; what builds on something that failed is left out. Quick: without running kernels."""
    found = [*_tell_unread(file), *_guard("shapes", _check_shapes(operator))]
    if all(one.passed for one in found):
        found += _look_further(operator, is_quick=is_quick, progress=progress)
    return tuple(one if one.passed else replace(one, hint=_find_hint(operator, one.what)) for one in found)


def _look_further(operator: Operator, *, is_quick: bool, progress: Callable[[str], None]) -> list[Finding]:
    """What calls the file's functions and kernels, up to the first that fails."""
    checks = (_check_cost, _check_reference, _check_sizes, _check_tolerance, *(() if is_quick else (check_start,)))
    found: list[Finding] = []
    with workshop() as shop:
        stage = set_stage(operator, operator.shapes, Plan(), shop, secrets.token_bytes(32))
        for check in checks:
            what = check.__name__.removeprefix("_").removeprefix("check_")
            progress(what)
            # what the reference raises while its cost is counted is no matter of cost
            found += _guard("reference" if what == "cost" else what, check(stage))
            if not all(one.passed for one in found):
                break
    return found


def _find_hint(operator: Operator, what: str) -> str:
    """What to change where a check fails."""
    if what == "start":
        calls = " and ".join(f"`{describe_call(operator, step)}`" for step in operator.passes)
        return f"Correct the starting kernel, which is called as {calls}; if it is right, correct the reference."
    return HINTS[what]


def refuse_unfit(name: str, operator: Operator, file: OperatorFile | None) -> None:
    """Nothing is judged by a file of the user's own that says nothing about what is right.

    What ships is checked by our tests; a foreign problem is as its author wrote it.
    """
    is_here = not operator.is_on_device or has_device()
    if file is None or file.is_foreign or name in NAMES or not is_here:
        return
    failed = [one for one in check_operator(operator, file, is_quick=True) if not one.passed]
    if failed:
        raise ConfigError(
            f"{name} cannot be used to judge kernels: {failed[0].told}",
            hint=f"{failed[0].hint} `layline campaign check-operator {name}` checks it again.",
        )


def _tell_unread(file: OperatorFile | None) -> Iterator[Finding]:
    """A misspelt name is left out in silence otherwise."""
    for name in file.unread if file else ():
        meant = get_close_matches(name, KNOWN, 1)
        told = f"nothing reads {name}{f'; did you mean {meant[0]}?' if meant else ''}"
        yield Finding(what="names", passed=True, told=told)


def _guard(what: str, check: Iterator[Finding]) -> list[Finding]:
    """What the user's own functions raise is an answer, with its line in their file."""
    found: list[Finding] = []
    try:
        found.extend(check)
    except LaylineError as error:
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        found.append(Finding(what=what, passed=False, told=f"{error.message}{notes}"))
    except (Fault, Disturbed) as error:
        found.append(Finding(what=what, passed=False, told=str(error)))
    except Exception as error:  # noqa: BLE001  what the user's functions return may be anything
        found.append(Finding(what=what, passed=False, told=f"{type(error).__name__}: {error}"))
    return found


def _check_shapes(operator: Operator) -> Iterator[Finding]:
    """Listed shapes are legal, and enough others exist."""
    import numpy as np

    for shape in operator.shapes:
        fitted = operator.fit(shape) if operator.fit else shape
        if fitted is None or fitted.sizes != shape.sizes:
            other = f"; {describe_shape(fitted)} would be" if fitted else ""
            told = f"The domains in `axes` and `legal` do not allow the listed shape {describe_shape(shape)}{other}."
            yield Finding(what="shapes", passed=False, told=told)
            return
        _count_work(operator, shape)
    rng = np.random.default_rng(1)
    near = {one.sizes for shape in operator.shapes for _ in range(4) for one in operator.neighbours(shape, rng)}
    listed = f"{count(len(operator.shapes), 'listed shape')} {verb(len(operator.shapes), 'is')} legal"
    told = (
        f"{listed} and {verb(len(operator.shapes), 'has')} {count(len(near), 'neighbour')} ({NEIGHBOURS} are needed)."
    )
    yield Finding(what="shapes", passed=len(near) >= NEIGHBOURS, told=told)


def _count_work(operator: Operator, shape: Shape) -> None:
    """Extents, operations and bytes have an answer."""
    for buffer in operator.buffers:
        buffer.extent(shape)
    for step in operator.passes:
        step.flops(shape)
        step.bytes_moved(shape)


def _check_reference(stage: Stage) -> Iterator[Finding]:
    """Deterministic, leaves its inputs alone, follows every input, is no constant."""
    operator, shape = stage.operator, _find_telling(stage)
    for step in operator.passes:
        inputs = operator.draw(shape, stage.rng, operator.distributions[0])
        kept = {name: stage.device.values.copy(array) for name, array in inputs.items()}
        first, second = (operator.oracle(step.name, shape, inputs) for _ in range(2))
        endless = [name for name, array in first.items() if _is_endless(array)]
        if endless:
            yield _refuse("reference", f"{step.name}: every element of {endless[0]} is NaN or infinite.")
            return
        if not _are_alike(stage, first, second):
            yield _refuse("reference", f"{step.name} gives two answers for the same inputs: it is random.")
            return
        faults = [*getattr(operator.oracle, "find_faults", lambda *_asked: ())(step.name, shape, inputs)]
        if faults or not _are_same(inputs, kept):
            yield _refuse("reference", faults[0] if faults else f"{step.name} changes its inputs.")
            return
        problems = [*_find_constant(stage, step, shape, first), *_find_ignored(stage, step, shape)]
        yield from problems[:1]
        if problems:
            return
    yield Finding(
        what="reference", passed=True, told="deterministic, does not change its inputs, depends on every input"
    )


def _find_telling(stage: Stage) -> Shape:
    """The smallest listed shape on which every output depends on the inputs; the largest where none is."""
    operator = stage.operator
    for shape in stage.by_work:
        inputs = operator.draw(shape, stage.rng, operator.distributions[0])
        firsts = ((step, operator.oracle(step.name, shape, inputs)) for step in operator.passes)
        if not any(one for step, first in firsts for one in _find_constant(stage, step, shape, first)):
            return shape
    return stage.by_work[-1]


def _refuse(what: str, told: str) -> Finding:
    return Finding(what=what, passed=False, told=told)


def _are_same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return all(
        bool(((left[name] == right[name]) | ((left[name] != left[name]) & (right[name] != right[name]))).all())
        for name in left
    )


def _is_endless(array: Any) -> bool:
    """No element is finite, and there is one: nothing could be held against it."""
    return 0 not in tuple(array.shape) and not bool(((array < math.inf) & (array > -math.inf)).any())


def _are_alike(stage: Stage, left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """The same up to rounding: a device may add in another order each time."""
    distance = stage.device.values.find_distance
    return _are_same(left, right) or all(distance(left[name], right[name]) < ROUNDING for name in left)


def _find_constant(stage: Stage, step: Pass, shape: Shape, first: Mapping[str, Any]) -> Iterator[Finding]:
    """An output that is the same for other inputs can be known by heart."""
    other = stage.operator.oracle(
        step.name, shape, stage.operator.draw(shape, stage.rng, stage.operator.distributions[0])
    )
    for name, array in first.items():
        if stage.device.values.count(array) and _are_same({name: array}, {name: other[name]}):
            zeros = " It is 0 everywhere." if bool((array == 0).all()) else ""
            told = (
                f"{step.name}: {name} is the same for different inputs.{zeros} A kernel need not compute it, so it "
                "cannot be judged."
            )
            yield _refuse("reference", told)


def _find_ignored(stage: Stage, step: Pass, shape: Shape) -> Iterator[Finding]:
    """Each input in turn is another one: some output must be another, too."""
    operator = stage.operator
    for name in step.inputs:
        base = operator.draw(shape, stage.rng, operator.distributions[0])
        before = operator.oracle(step.name, shape, base)
        other = operator.draw(shape, stage.rng, operator.distributions[0])
        other |= operator.renew(shape, stage.rng) if operator.renew else {}
        after = operator.oracle(step.name, shape, {**base, name: other[name]})
        if before and _are_same(before, after):
            yield _refuse(
                "reference", f"{step.name} does not depend on its input {name}: leave it out, or correct the reference."
            )


def _check_sizes(stage: Stage) -> Iterator[Finding]:
    """The reference can do every neighbour, the single and the empty ones too; and every distribution."""
    operator, tried = stage.operator, 0
    near = find_near_shapes(operator, stage.by_work[0], stage.rng, stage.arena_bytes / 4)
    for shape in (*stage.by_work[:1], *near):
        for kind in operator.distributions:
            inputs = operator.draw(shape, stage.rng, kind)
            for step in operator.passes:
                try:
                    operator.oracle(step.name, shape, inputs)
                except Exception as error:
                    error.add_note(
                        f"on {describe_shape(shape)}, inputs {describe_inputs(kind)}. If that size makes no sense, "
                        "exclude it with Axis(low=…) or `legal`"
                    )
                    raise
                tried += 1
    yield Finding(what="sizes", passed=True, told=f"{tried} calls on neighbours and hard inputs gave an answer")


def _check_tolerance(stage: Stage) -> Iterator[Finding]:
    """Zeros, an input, the mean must be refused; and how far working precision itself is off."""
    shape = _find_telling(stage)
    worst = 0.0
    for step in stage.operator.passes:
        given = draw(stage, shape)
        inputs, right = given.inputs[0], dict(given.right)[step.name][0]
        for name, want in right.items():
            for what, fake in _make_fakes(stage, name, want, {one: inputs[one] for one in step.inputs}):
                verdict = _hold(stage, name, fake, want)
                if isinstance(verdict, Close):
                    told = f"{step.name}: {what} are accepted as {name}: the tolerance is too wide, or the values are too small for it."
                    yield _refuse("tolerance", told)
                    return
            rounded = _hold(stage, name, _to_buffer(stage, name, want), want)
            if isinstance(rounded, Wrong):
                yield _refuse(
                    "tolerance", f"{step.name}: the right {name}, rounded to its own type, is refused: {rounded.reason}"
                )
                return
            worst = max(worst, rounded.weigh().worst)
    atol = stage.operator.tolerance.atol
    told = f"rounding alone moves the right answer by {worst:.1e} of a row's size"
    told += f"; atol = {atol:.0e} is {atol / worst:.0f} times that" if worst else ""
    few = f", and a kernel that adds in another order may need {FEW} times" if atol < FEW * worst else ""
    yield Finding(what="tolerance", passed=True, told=f"zeros, the inputs and the mean are refused; {told}{few}")


def _hold(stage: Stage, name: str, got: Any, want: Any) -> Close | Wrong:
    return stage.device.values.check(stage.operator, name, got, want, is_exact=False, poison=NO_POISON)


def _to_buffer(stage: Stage, name: str, want: Any) -> Any:
    """As the kernel would write it, if it were as right as its type allows."""
    dtype = stage.operator.buffer(name).dtype
    if hasattr(want, "astype"):
        return want.astype(dtype)
    import torch

    return want.to(getattr(torch, dtype))


def _make_fakes(stage: Stage, name: str, want: Any, inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What must never pass: nothing, the inputs themselves, the mean."""
    if not stage.device.values.count(want):
        return
    yield "zeros", _to_buffer(stage, name, want * 0)
    for one, array in inputs.items():
        if tuple(array.shape) == tuple(want.shape) and not _are_same(
            {one: array}, {one: _to_buffer(stage, name, want)}
        ):
            yield f"the values of {one}", _to_buffer(stage, name, array + want * 0)
    if stage.operator.buffer(name).dtype.startswith(("float", "bfloat")) and stage.device.values.count(want) > 1:
        yield "its mean everywhere", _to_buffer(stage, name, want * 0 + want.mean())


def _read_clocks() -> tuple[float, float]:
    """Seconds, and those in which others had the core: what a reference sleeps or waits for is its own."""
    return time.perf_counter(), read_kept_waiting_ns(os.getpid()) / 1e9


def _check_cost(stage: Stage) -> Iterator[Finding]:
    """Seconds of right answers in one measuring run."""
    operator, whole = stage.operator, 0.0
    for shape in operator.shapes:
        began = _read_clocks()
        inputs = operator.draw(shape, stage.rng, operator.distributions[0])
        for step in operator.passes:
            operator.oracle(step.name, shape, inputs)
        passed, kept_waiting = (now - then for now, then in zip(_read_clocks(), began, strict=True))
        whole += (passed - kept_waiting) * CALLS_PER_SHAPE
        if whole > TOO_LONG_S:
            break
    told = f"drawing inputs and right answers takes about {whole:.0f} s of one measuring run"
    if whole > TOO_LONG_S:
        yield _refuse("cost", f"{told}, more than {TOO_LONG_S:.0f} s.")
        return
    slow = "; smaller shapes would make rounds shorter" if whole > LONG_S else ""
    yield Finding(what="cost", passed=True, told=told + slow)
