"""Hold outputs against the fp64 oracle: written, finite, exact where it can be, close, no worse than the start."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.campaign.arena import Filled
from layline.campaign.model import Accuracy, Arrays, Leg, Operator

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

PERFECT_DB = 400.0
SNR_DB = {"fp8_e4m3": 25.0, "fp8_e5m2": 20.0, "fp4_e2m1": 10.0}
ALLCLOSE = {"float32": (1e-4, 1e-4), "float16": (1e-2, 1e-2), "bfloat16": (1e-2, 1e-2)}
"""(rtol, atol) by dtype, as the practice this replaces has them."""
ERROR_FLOOR = 2.0**-22
"""Errors below a few units in the last place of f32 are not compared: there is nothing to win there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """What is wrong with one output of one call."""

    property: str
    reason: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """How far one output of one call is from the oracle, in units of the oracle's root mean square."""

    output: str
    rms: float
    worst: float

    @property
    def snr_db(self) -> float:
        """Signal-to-noise ratio."""
        return PERFECT_DB if self.rms == 0 else min(PERFECT_DB, -20 * math.log10(self.rms))


def compute_oracle(operator: Operator, step: str, filled: Filled) -> dict[str, Array]:
    """The right outputs of a call."""
    return operator.oracle(step, filled.shape, filled.inputs)


def find_wrong(
    operator: Operator, filled: Filled, outputs: Arrays, right: Arrays, *, is_exact: bool
) -> Iterator[Wrong]:
    """Everything that is wrong with a call's outputs, the most telling first. Comparisons are written so that NaN fails."""
    import numpy as np

    for name in filled.step.outputs:
        got, want = outputs[name], right[name]
        if not got.size:
            continue
        unwritten = got.view(np.uint32) == filled.sentinel
        if unwritten.any():
            yield Wrong(
                property="writes-every-output",
                reason=f"{int(unwritten.sum())} of {got.size} elements of {name} were never written.",
                evidence=(_where(name, unwritten), f"poison 0x{filled.sentinel:08x} still there"),
            )
            continue
        if not np.isfinite(got).all():
            bad = ~np.isfinite(got)
            yield Wrong(
                property="finite",
                reason=f"{int(bad.sum())} of {got.size} elements of {name} are NaN or infinite; the oracle's are finite.",
                evidence=(_where(name, bad),),
            )
            continue
        error = np.abs(got.astype(np.float64) - want)
        if is_exact and error.any():
            bad = error != 0
            yield Wrong(
                property="exact-integers",
                reason=f"{int(bad.sum())} of {got.size} elements of {name} differ where integer inputs make the result exact.",
                evidence=(_where(name, bad), f"largest error {error.max():g}"),
            )
            continue
        yield from _find_distance(operator, name, error, want, got)


def _find_distance(operator: Operator, name: str, error: Array, want: Array, got: Array) -> Iterator[Wrong]:
    import numpy as np

    tolerance = operator.tolerance
    scale = np.sqrt(np.mean(want * want, axis=-1, keepdims=True))
    close = error <= tolerance.atol * scale + tolerance.rtol * np.abs(want)
    if not close.all():
        bad = ~close
        at = np.unravel_index(int(np.argmax(np.where(bad, error, -1))), error.shape)
        yield Wrong(
            property="correct",
            reason=f"{int(bad.sum())} of {error.size} elements of {name} are outside the tolerance.",
            evidence=(_where(name, bad), f"worst: {got[at]!r} where the oracle has {want[at]:.9g}"),
        )
        return
    if tolerance.snr_db is not None:
        found = measure_error(name, got, want).snr_db
        if not found >= tolerance.snr_db:
            yield Wrong(
                property="snr",
                reason=f"{name} has a signal-to-noise ratio of {found:.1f} dB; {tolerance.snr_db:g} dB are needed.",
                evidence=(),
            )


def measure_error(name: str, got: Array, want: Array) -> Error:
    """Distance from the oracle, rows weighed equally so that a small row's error counts."""
    import numpy as np

    if not got.size:
        return Error(output=name, rms=0.0, worst=0.0)
    scale = np.sqrt(np.mean(want * want, axis=-1, keepdims=True))
    scale = np.where(scale > 0, scale, 1.0)
    relative = (got.astype(np.float64) - want) / scale
    return Error(output=name, rms=float(np.sqrt(np.mean(relative * relative))), worst=float(np.abs(relative).max()))


def summarise_errors(leg: Leg, shape: str, errors: list[Error]) -> Iterator[Accuracy]:
    """One row per output: the worst of all calls."""
    for name in sorted({error.output for error in errors}):
        of_it = [error for error in errors if error.output == name]
        yield Accuracy(
            leg=leg,
            shape=shape,
            output=name,
            calls=len(of_it),
            snr_db=min(error.snr_db for error in of_it),
            error=max(error.rms for error in of_it),
            max_error=max(error.worst for error in of_it),
        )


def compare_errors(ratio: float, candidate: list[Error], start: list[Error]) -> Iterator[Wrong]:
    """Outputs whose error, on the same inputs, is more than `ratio` times the starting kernel's."""
    import numpy as np

    for name in sorted({error.output for error in candidate}):
        mine = [error.rms for error in candidate if error.output == name]
        theirs = [error.rms for error in start if error.output == name]
        if not mine or not theirs:
            continue
        ours, limit = float(np.median(mine)), max(ERROR_FLOOR, ratio * float(np.median(theirs)))
        if not ours <= limit:
            yield Wrong(
                property="error-not-worse",
                reason=f"The error of {name} is {ours:.2e}, {ours / float(np.median(theirs) or ERROR_FLOOR):.0f} times the "
                f"starting kernel's on the same inputs; {ratio:g} times is allowed.",
                evidence=(f"median over {len(mine)} calls; starting kernel {float(np.median(theirs)):.2e}",),
            )


def _where(name: str, mask: Array) -> str:
    import numpy as np

    first = tuple(int(i) for i in np.argwhere(mask)[0])
    last = tuple(int(i) for i in np.argwhere(mask)[-1])
    return f"{name}[{', '.join(map(str, first))}] to {name}[{', '.join(map(str, last))}]"
