"""Hold outputs against the fp64 oracle: written, finite, exact where it can be, close, no worse than the start."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from layline.campaign.values.describe import describe_elements
from layline.campaign.values.measurement import Accuracy, Arm
from layline.campaign.values.operator import Operator, Tolerance

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

PERFECT_DB = 400.0
SNR_DB = {"fp8_e4m3": 25.0, "fp8_e5m2": 20.0, "fp4_e2m1": 10.0}
LEAST_ROW = 32
"""Elements that tell what size an output has."""
ERROR_FLOOR = 2.0**-22
"""Errors below a few units in the last place of f32 are not compared: there is nothing to win there."""
LOST, LOST_NARROW, SMALLEST = 1e-4, 1.6e-2, 2.0**-120
"""An element is lost when it is off by more than this part of itself, of a type narrower than f32 by more than the second;
below the smallest (a little above where f32 ends) none is counted. An exp by powers of two is off by 1e-5 where f32 ends."""
LOST_ROOM, LOST_FREE = 4, 8
"""How many times as many as the starting kernel loses, by cancellation, may be lost, and how many more."""
WORST_ROOM, WORST_FLOOR = 4.0, 16.0
"""The largest of many errors varies more than their mean, so it gets more room."""


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
    ulp: float = 0.0
    """Largest error in units in the last place, over the elements that are not small for their row."""

    @property
    def snr_db(self) -> float:
        """Signal-to-noise ratio."""
        return PERFECT_DB if self.rms == 0 else min(PERFECT_DB, -20 * math.log10(self.rms))


@dataclass(frozen=True, slots=True)
class Close:
    """One output of one call is right; how far off it is costs as much to find, and few ask."""

    weigh: Callable[[], Error]
    """To be asked once."""


EXACT = partial(Error, rms=0.0, worst=0.0)


@dataclass(frozen=True, kw_only=True)
class Held:
    """What outputs are held against: the oracle's answer, and what follows from it alone."""

    want: Array
    band: Array
    """How far each element may be off."""
    scale: Array
    """The root mean square of each row; 1 where there is none."""
    special: Array | None = None
    """Which elements are no finite numbers in the right answer, if any: there the output must be the same."""

    @cached_property
    def units(self) -> Array:
        """One over the unit in the last place of f32; 0 for elements that are small for their row."""
        import numpy as np

        size = np.abs(self.want if self.special is None else np.where(self.special, 0.0, self.want))
        found: Array = np.where(size >= self.scale, _invert_spacing(size), 0.0)
        return found


class _Holding:
    """The latest answers with what follows from them: every arm is held against the same ones, one after the other."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[int, float, float, bool], Held] = OrderedDict()

    def take(self, want: Array, tolerance: Tolerance) -> Held:
        key = (id(want), tolerance.rtol, tolerance.atol, tolerance.absolute)
        found = self._kept.get(key)
        if found is not None and found.want is want:
            return found
        held = _hold(want, tolerance)
        if found is None:
            self._bytes += 4 * want.nbytes
        self._kept[key] = held
        while self._bytes > self._most and len(self._kept) > 1:
            _key, old = self._kept.popitem(last=False)
            self._bytes -= 4 * old.want.nbytes
        return held


_HOLDING = _Holding(96 << 20)


def find_row_axes(extent: Sequence[int]) -> tuple[int, ...]:
    """The axes, counted from the end, over which the size of an output's elements is taken.

    A row of a few elements says nothing about what was summed up to make them: one that comes out near zero has no room
    left for rounding. So rows are taken together until there are enough, but never along the first axis, whose rows may
    differ.
    """
    axes, count = [-1], extent[-1]
    while count < LEAST_ROW and len(axes) < len(extent) - 1:
        axes.append(-1 - len(axes))
        count *= extent[axes[-1]]
    return tuple(axes)


def take_together(operator: Operator, name: str, extent: Sequence[int]) -> Operator:
    """The same, where rows are alike: one of few elements is held against the size of all of them."""
    if not extent or math.prod(extent[at] for at in find_row_axes(extent)) >= LEAST_ROW:
        return operator
    whole = replace(operator.find_tolerance(name), absolute=True)
    return replace(operator, tolerances=(*operator.tolerances, (name, whole)))


def _hold(want: Array, tolerance: Tolerance) -> Held:
    import numpy as np

    special = None if np.isfinite(want).all() else ~np.isfinite(want)
    safe = want if special is None else np.where(special, 0.0, want)
    size = np.abs(safe)
    squares = safe * safe
    scale = np.sqrt(np.mean(squares, axis=find_row_axes(want.shape), keepdims=True)) if want.ndim else size
    if tolerance.absolute and want.ndim:
        scale = np.maximum(scale, np.sqrt(np.mean(squares)))
    band = tolerance.rtol * size
    band += tolerance.atol * scale
    return Held(want=want, band=band, scale=np.where(scale > 0, scale, 1.0), special=special)


def _invert_spacing(size: Array) -> Array:
    """One over the unit in the last place of f32, by the exponents alone: 2 to the power of 23 less the number's."""
    import numpy as np

    exponents = size.astype(np.float32).view(np.uint32) & np.uint32(0xFF << 23)
    np.clip(exponents, 24 << 23, 254 << 23, out=exponents)
    found: Array = (np.uint32(277 << 23) - exponents).view(np.float32)
    return found


def check_output(
    operator: Operator, name: str, got: Array, want: Array, *, is_exact: bool, poison: int
) -> Close | Wrong:
    """One output of one call: right, or the most telling thing that is wrong with it. NaN fails every comparison."""
    import numpy as np

    if not got.size:
        return Close(partial(EXACT, output=name))
    if got.dtype.kind != "f":
        return _check_integers(name, got, want, poison)
    tolerance = operator.find_tolerance(name)
    held = _HOLDING.take(want, tolerance)
    if held.special is not None:
        differing = _find_differing_special(got, want)
        if differing.any():
            return _name_special(name, got, want, differing, poison)
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.subtract(got, want, dtype=np.float64)
        np.abs(off, out=off)
        if held.special is not None:
            off[held.special] = 0.0
        is_close = bool((off <= held.band).all())
    if not is_close or (is_exact and off.any()):
        return _name_wrong(name, got, held, off, is_exact=is_exact, poison=poison)
    if tolerance.snr_db is None:
        return Close(partial(_measure, name, off, held))
    return hold_ratio(_measure(name, off, held), tolerance.snr_db)


def hold_ratio(found: Error, wanted_db: float) -> Close | Wrong:
    """A signal-to-noise ratio, where the operator asks for one."""
    if found.snr_db >= wanted_db:
        return Close(lambda: found)
    told = f"{found.output} has a signal-to-noise ratio of {found.snr_db:.1f} dB; {wanted_db:g} dB are needed."
    return Wrong(property="snr", reason=told, evidence=())


def _check_integers(name: str, got: Array, want: Array, poison: int) -> Close | Wrong:
    """Integers and truth values are right or wrong."""
    bad = got != want
    if not bad.any():
        return Close(partial(EXACT, output=name))
    words = got.view(f"uint{8 * got.dtype.itemsize}")
    if got.dtype.itemsize > 1 and (words == poison).any():
        return Wrong(
            property="writes-every-output",
            reason=f"{describe_elements(int((words == poison).sum()), got.size, name, 'was')} never written.",
            evidence=(_where(name, words == poison), f"poison 0x{poison:x} still there"),
        )
    first = tuple(int(i) for i in (bad.nonzero()[at][0] for at in range(bad.ndim)))
    return Wrong(
        property="correct",
        reason=f"{describe_elements(int(bad.sum()), got.size, name, 'is')} wrong.",
        evidence=(_where(name, bad), f"{name}{list(first)} is {got[first]} where the reference has {want[first]}"),
    )


def _find_differing_special(got: Array, want: Array) -> Array:
    """NaN for NaN, infinity for the same infinity, a number for a number."""
    import numpy as np

    same = (np.isnan(got) & np.isnan(want)) | (np.isinf(want) & (got == want)) | (np.isfinite(got) & np.isfinite(want))
    found: Array = ~same
    return found


def _name_special(name: str, got: Array, want: Array, differing: Array, poison: int) -> Wrong:
    unwritten = got.view(f"uint{8 * got.dtype.itemsize}") == poison
    if unwritten.any():
        return Wrong(
            property="writes-every-output",
            reason=f"{describe_elements(int(unwritten.sum()), got.size, name, 'was')} never written.",
            evidence=(_where(name, unwritten), f"poison 0x{poison:x} still there"),
        )
    first = tuple(int(i) for i in (differing.nonzero()[at][0] for at in range(differing.ndim)))
    return Wrong(
        property="finite",
        reason=f"{describe_elements(int(differing.sum()), got.size, name, 'is')} NaN or infinite where the "
        "reference is not, or the other way round.",
        evidence=(f"{name}{list(first)} is {got[first]:g} where the reference has {want[first]:g}",),
    )


def _measure(name: str, off: Array, held: Held) -> Error:
    """Distance from the oracle, rows weighed equally so that a small row's error counts."""
    import numpy as np

    ulp = float((off * held.units).max())
    off *= 1 / held.scale
    flat = off.reshape(-1)
    return Error(output=name, rms=math.sqrt(float(np.dot(flat, flat)) / flat.size), worst=float(flat.max()), ulp=ulp)


def _name_wrong(name: str, got: Array, held: Held, off: Array, *, is_exact: bool, poison: int) -> Wrong:
    import numpy as np

    unwritten = got.view(f"uint{8 * got.dtype.itemsize}") == poison
    if unwritten.any():
        return Wrong(
            property="writes-every-output",
            reason=f"{describe_elements(int(unwritten.sum()), got.size, name, 'was')} never written.",
            evidence=(_where(name, unwritten), f"poison 0x{poison:08x} still there"),
        )
    bad = ~np.isfinite(got) if held.special is None else ~np.isfinite(got) & ~held.special
    if bad.any():
        return Wrong(
            property="finite",
            reason=(
                f"{describe_elements(int(bad.sum()), got.size, name, 'is')} NaN or infinite; the oracle's are finite."
            ),
            evidence=(_where(name, bad),),
        )
    if is_exact:
        bad = off != 0
        told = (
            f"{describe_elements(int(bad.sum()), got.size, name, 'differs')} where integer inputs make the result "
            "exact."
        )
        return Wrong(
            property="exact-integers", reason=told, evidence=(_where(name, bad), f"largest error {off.max():g}")
        )
    bad = ~(off <= held.band)
    at = np.unravel_index(int(np.argmax(np.where(bad, off, -1))), off.shape)
    values = f"{float(got[at]):.9g} where the oracle has {float(held.want[at]):.9g}"
    return Wrong(
        property="correct",
        reason=f"{describe_elements(int(bad.sum()), off.size, name, 'is')} outside the tolerance.",
        evidence=(_where(name, bad), f"worst: {name}{list(map(int, at))} is {values}"),
    )


def compare_lost(name: str, got: tuple[Array, Array], want: Array) -> Iterator[Wrong]:
    """The outputs of the candidate and of the starting kernel: neither may lose more of the small elements."""
    import numpy as np

    if got[0].dtype.kind != "f" or not want.size:
        return
    size = np.abs(want)
    ours, theirs = (_find_lost(one, want) for one in got)
    counts = int(ours.sum()), int(theirs.sum())
    if not is_lost(*counts):
        return
    at = np.unravel_index(int(np.argmax(np.where(ours & ~theirs, size, -1))), want.shape)
    worst = (f"{name}{list(map(int, at))}", float(got[0][at]), float(want[at]), float(got[1][at]))
    yield tell_lost(name, counts, want.size, LOST, worst)


def count_lost(got: Array, want: Array) -> int:
    """How many elements of an output are lost; of integers none can be."""
    return int(_find_lost(got, want).sum()) if got.dtype.kind == "f" and want.size else 0


def _find_lost(got: Array, want: Array) -> Array:
    """Which elements have nothing to do with the right ones, however small these are beside the others of their row."""
    import numpy as np

    size = np.abs(want)
    room = LOST * size
    room[~(size >= SMALLEST) | np.isinf(size)] = np.inf
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.subtract(got, want, dtype=np.float64)
        np.abs(off, out=off)
        found: Array = ~((off <= room) | np.isinf(room))
    return found


def is_lost(ours: int, theirs: int) -> bool:
    """Whether more of the candidate's elements are lost than the starting kernel's losses leave room for."""
    return ours > LOST_ROOM * theirs + LOST_FREE


def tell_lost(
    name: str, counts: tuple[int, int], size: int, part: float, worst: tuple[str, float, float, float]
) -> Wrong:
    """What is lost, and the worst of it: where, the candidate's, the right one, the starting kernel's."""
    at, got, want, start = worst
    return Wrong(
        property="error-not-worse",
        reason=f"{counts[0]} of {size} elements of {name} are off by more than {part:.2%} of themselves, "
        f"{counts[1] or 'none'} of the starting kernel's: small enough for the tolerance, but far less exact than the start.",
        evidence=(f"worst: {at} is {got:.9g} where the oracle has {want:.9g} and the start {start:.9g}",),
    )


def summarise_errors(leg: Arm, shape: str, errors: list[Error]) -> Iterator[Accuracy]:
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
            max_ulp=max(error.ulp for error in of_it),
        )


def compare_errors(ratio: float, candidate: list[Error], start: list[Error]) -> Iterator[Wrong]:
    """Outputs whose error, on the same kind of inputs, is more than `ratio` times the starting kernel's: on the whole,
    or at worst. An infinite ratio compares nothing: a start without any error has no multiple.
    """
    if math.isinf(ratio):
        return
    for name in sorted({error.output for error in candidate}):
        ours = [error for error in candidate if error.output == name]
        theirs = [error for error in start if error.output == name]
        if ours and theirs:
            yield from _compare_error(name, ratio, ours, theirs)


def _compare_error(name: str, ratio: float, ours: list[Error], theirs: list[Error]) -> Iterator[Wrong]:
    """The whole output by its root mean square, single elements by their largest error, with more room for chance."""
    import numpy as np

    figures = (
        ("error", ratio, 1.0, [e.rms for e in ours], [e.rms for e in theirs]),
        ("largest error", WORST_ROOM * ratio, WORST_FLOOR, [e.worst for e in ours], [e.worst for e in theirs]),
    )
    for what, allowed, floor, mine, its in figures:
        # means, not medians: a kernel that is careless in every other call is careless
        found, start = float(np.mean(mine)), float(np.mean(its))
        if not found <= max(floor * ERROR_FLOOR, allowed * start):
            units = (
                f"; {max(error.ulp for error in ours):.0f} units in the last place at worst, the start "
                f"{max(error.ulp for error in theirs):.0f}"
            )
            yield Wrong(
                property="error-not-worse",
                reason=f"The {what} of {name} is {found:.2e}, {found / (start or ERROR_FLOOR):.0f} times the "
                "starting kernel's "
                f"on the same kind of inputs; {allowed:g} times is allowed.",
                evidence=(f"mean over {len(mine)} calls; starting kernel {start:.2e}{units}",),
            )
            return


def _where(name: str, mask: Array) -> str:
    import numpy as np

    first = tuple(int(i) for i in np.argwhere(mask)[0])
    last = tuple(int(i) for i in np.argwhere(mask)[-1])
    return f"{name}[{', '.join(map(str, first))}] to {name}[{', '.join(map(str, last))}]"
