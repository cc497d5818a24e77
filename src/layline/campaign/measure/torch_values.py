"""Arithmetic on torch's tensors, for kernels that run on an accelerator: written, finite, exact where it can be, close."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from layline.campaign.devices.gpu_memory import WORDS
from layline.campaign.measure.oracle import (
    EXACT,
    LOST,
    LOST_NARROW,
    SMALLEST,
    Close,
    Error,
    Wrong,
    find_row_axes,
    hold_ratio,
    is_lost,
    tell_lost,
)
from layline.campaign.values.describe import describe_elements
from layline.campaign.values.operator import Operator, Tolerance

BY_ROWS = Tolerance(rtol=0.0, atol=0.0)
CHUNK = 1 << 25
"""Elements compared at a time, so that large outputs need little memory beside them."""


class TorchValues:
    """As `stage.Values` says."""

    def copy(self, array: Any) -> Any:
        return array.clone()

    def flatten(self, array: Any) -> Any:
        return array.view(-1)

    def count(self, array: Any) -> int:
        return int(array.numel())

    def is_real(self, array: Any) -> bool:
        import torch

        return array.dtype in (torch.bfloat16, torch.float32, torch.float64)

    def find_extremes(self, flat: Any) -> tuple[int, int]:
        return int(flat.float().argmin()), int(flat.float().argmax())

    def find_spread(self, array: Any, at: int) -> float:
        """Of the element's row; a median, because masks hold the largest of numbers."""
        row = array.reshape(-1, array.shape[-1])[at // array.shape[-1]]
        return float(row.float().abs().median()) or 1.0

    def raise_above(self, array: Any, least: float) -> Any:
        return array.abs() + least

    def digest(self, array: Any) -> int:
        """A number for all of an output's bytes."""
        import torch

        words = array.reshape(-1).view(getattr(torch, WORDS[array.element_size()]))
        if words.numel() >= CHUNK and words.numel() * words.element_size() % 8 == 0:
            return int(words.view(torch.int64).sum())  # one pass over a large output; every bit still counts
        weights = torch.arange(1, words.numel() + 1, device=words.device, dtype=torch.int64)
        return int((words.to(torch.int64) * weights).sum()) if words.numel() else 0

    def starts_with(self, array: Any, other: Any) -> bool:
        import torch

        got, given = (one.reshape(-1).view(torch.uint8) for one in (array, other))
        count = min(got.numel(), given.numel())
        return count > 8 and bool(torch.equal(got[:count], given[:count]))

    def are_close(self, left: Any, right: Any) -> bool:
        if not left.is_floating_point():
            return bool((left == right).all())
        return not left.numel() or self.find_distance(left, right) < 1e-2

    def find_distance(self, left: Any, right: Any) -> float:
        """The largest difference, in units of the right one's root mean square, row by row."""
        if not left.is_floating_point():
            return float((left != right).any())
        return measure_error("", left, right.float()).worst

    def find_differing(self, ours: Any, theirs: Any) -> tuple[int, tuple[int, ...], float, float] | None:
        """Where one is a number and the other is none, or infinite the other way: how many, and the first.

        NaN for infinity is let pass: a number split into parts gives it, and it hides nothing.
        """
        if not ours.is_floating_point():
            return None
        a, b = ours.float(), theirs.to(ours.dtype).float()
        differs = (a.isfinite() != b.isfinite()) | (a.isinf() & b.isinf() & (a != b))
        if not bool(differs.any()):
            return None
        at = tuple(int(one) for one in differs.nonzero()[0].tolist())
        return int(differs.sum()), at, float(a[at]), float(b[at])

    def check(
        self, operator: Operator, name: str, got: Any, want: Any, *, is_exact: bool, poison: int
    ) -> Close | Wrong:
        """One output of one call: right, or the most telling thing that is wrong with it."""
        if not got.numel():
            return Close(partial(EXACT, output=name))
        if not is_exact and (error := _pass_quickly(operator.find_tolerance(name), name, got, want)) is not None:
            return Close(lambda: error)
        wrong = next(_find_wrong(operator, name, got, want, is_exact=is_exact, poison=poison), None)
        if wrong is not None:
            return wrong
        if not got.is_floating_point():
            return Close(partial(EXACT, output=name))
        tolerance = operator.find_tolerance(name)
        found = measure_error(name, got, want, tolerance)
        return Close(lambda: found) if tolerance.snr_db is None else hold_ratio(found, tolerance.snr_db)

    def count_lost(self, got: Any, want: Any) -> int:
        """How many elements of an output are lost; of integers none can be."""
        is_real = want.numel() and want.is_floating_point()
        return int(_find_lost(got, want, _find_part(got)).sum()) if is_real else 0

    def compare_lost(self, name: str, got: tuple[Any, Any], want: Any) -> Iterator[Wrong]:
        """Elements that have nothing to do with the right ones; half a unit in the last place of bf16 is a part of any."""
        if not want.numel() or not want.is_floating_point():
            return
        part = _find_part(got[0])
        ours, theirs = (_find_lost(one, want, part) for one in got)
        counts = int(ours.sum()), int(theirs.sum())
        if is_lost(*counts):
            at = tuple(int(one) for one in (ours & ~theirs).nonzero()[0].tolist())
            worst = (f"{name}{list(at)}", float(got[0][at]), float(want[at]), float(got[1][at]))
            yield tell_lost(name, counts, int(want.numel()), part, worst)


def _find_part(got: Any) -> float:
    import torch

    return LOST if got.dtype == torch.float32 else LOST_NARROW


def _find_lost(got: Any, want: Any, part: float) -> Any:
    """Which elements are off by more than that part of themselves."""
    size = want.abs()
    counted = (size >= SMALLEST) & size.isfinite()
    return counted & ~((got.to(want.dtype) - want).abs() <= part * size)


def _pass_quickly(tolerance: Tolerance, name: str, got: Any, want: Any) -> Error | None:
    """How far off an output is that is right beyond doubt, in few passes over it; None where it must be looked at
    closely.

    Where every row of the right answer has a finite size, poison, NaN and infinity are outside any tolerance.
    """
    import torch

    if got.element_size() == 1 or not got.is_floating_point() or not want.is_floating_point():
        return None
    found = []
    for some, right in _cut(got, want):
        scale = _find_scale(right, tolerance)
        error = (some - right).abs_()
        inside = (error <= torch.add(scale * tolerance.atol, right.abs(), alpha=tolerance.rtol)).all()
        squares = error.div_(torch.where(scale == 0, 1.0, scale)).pow_(2)
        told = (inside & scale.isfinite().all(), squares.sum(), squares.max())
        found.append(torch.stack([one.double() for one in told]))
    rows = torch.stack(found).tolist()  # one wait for the device
    if not all(row[0] for row in rows):
        return None
    total, worst = math.fsum(row[1] for row in rows), math.sqrt(max(row[2] for row in rows))
    one = Error(output=name, rms=math.sqrt(total / got.numel()), worst=worst)
    return one if tolerance.snr_db is None or one.snr_db >= tolerance.snr_db else None


def _find_wrong(operator: Operator, name: str, got: Any, want: Any, *, is_exact: bool, poison: int) -> Iterator[Wrong]:
    """The most telling first; comparisons are written so that NaN fails."""
    import torch

    unwritten = int((got.view(getattr(torch, WORDS[got.element_size()])) == poison).sum())
    if unwritten and (got.element_size() > 1 or got.is_floating_point()):
        yield Wrong(
            property="writes-every-output",
            reason=f"{describe_elements(unwritten, got.numel(), name, 'was')} never written.",
            evidence=(f"poison 0x{poison:x} still there",),
        )
    if not got.is_floating_point():
        yield from _find_other_integers(name, got, want)
        return
    infinite = int(_find_special(got, want).sum())
    if infinite:
        yield Wrong(
            property="finite",
            reason=(
                f"{describe_elements(infinite, got.numel(), name, 'is')} NaN or infinite; the reference's are finite."
            ),
            evidence=(),
        )
    if is_exact:  # integers whose sums are exact in f32: the one right output is the exact value, rounded once
        differing = int((got != want.to(got.dtype)).sum())
        if differing:
            told = (
                f"{describe_elements(differing, got.numel(), name, 'differs')} where integer inputs make the result "
                "exact."
            )
            yield Wrong(property="exact-integers", reason=told, evidence=())
    yield from _find_distance(operator, name, got, want)


def _find_other_integers(name: str, got: Any, want: Any) -> Iterator[Wrong]:
    """Integers and truth values are right or wrong."""
    differing = int((got != want).sum())
    if differing:
        told = f"{describe_elements(differing, got.numel(), name, 'is')} wrong."
        yield Wrong(property="correct", reason=told, evidence=())


def _find_special(got: Any, want: Any) -> Any:
    """Where NaN or infinity stands and the reference has something else, or the other way round."""
    some = widen(got)
    same = (
        (some.isfinite() & want.isfinite())
        | (some.isnan() & want.isnan())
        | (want.isinf() & (some == want.to(some.dtype)))
    )
    return ~same


def widen(got: Any) -> Any:
    """Arithmetic on fp8 is not there."""
    return got.float() if got.element_size() == 1 else got


def _drop_special(some: Any, right: Any) -> tuple[Any, Any]:
    """Both 0 where the right answer is no finite number; whether they agree there was looked at before."""
    finite = right.isfinite()
    if bool(finite.all()):
        return some, right
    return some.masked_fill(~finite, 0), right.masked_fill(~finite, 0)


def _find_distance(operator: Operator, name: str, got: Any, want: Any) -> Iterator[Wrong]:
    import torch

    tolerance = operator.find_tolerance(name)
    outside, worst = 0, 0.0
    for some, right in _chunks(got, want):
        scale = _find_scale(right, tolerance)
        error = (some - right).abs_()  # bf16 minus f32 is f32
        bad = ~(error <= (right.abs().mul_(tolerance.rtol).add_(tolerance.atol * scale)))
        found = int(bad.sum())
        if found:
            outside += found
            worst = max(worst, float(torch.where(bad, error, torch.zeros_like(error)).max()))
    if outside:
        yield Wrong(
            property="correct",
            reason=f"{describe_elements(outside, got.numel(), name, 'is')} outside the tolerance.",
            evidence=(f"largest error {worst:.4g}",),
        )


def _find_scale(right: Any, tolerance: Tolerance) -> Any:
    """The root mean square of each row; where a small row has the others' room, no less than that of all."""
    import torch

    rows = torch.linalg.vector_norm(right, dim=find_row_axes(right.shape), keepdim=True)
    scale = rows / math.sqrt(right.numel() / max(1, rows.numel()))
    return scale.clamp(min=rows.norm() / math.sqrt(right.numel())) if tolerance.absolute else scale


def measure_error(name: str, got: Any, want: Any, tolerance: Tolerance = BY_ROWS) -> Error:
    """Distance from the reference, rows weighed equally so that a small row's error counts."""
    if not got.numel():
        return EXACT(output=name)
    total, worst = 0.0, 0.0
    for some, right in _chunks(got, want):
        scale = _find_scale(right, tolerance)
        scale[scale == 0] = 1.0
        relative = (some.to(right.dtype) - right) / scale
        total += float(relative.pow(2).sum())
        worst = max(worst, float(relative.abs().max()))
    if math.isnan(total):  # no number where there is one: as far off as can be, not perfect
        return Error(output=name, rms=math.inf, worst=math.inf)
    return Error(output=name, rms=math.sqrt(total / got.numel()), worst=worst)


def _chunks(got: Any, want: Any) -> Iterator[tuple[Any, Any]]:
    """Blocks of whole rows, without what is no number in the right answer."""
    for some, right in _cut(got, want):
        yield _drop_special(widen(some), right)


def _cut(got: Any, want: Any) -> Iterator[tuple[Any, Any]]:
    rows = max(1, CHUNK // max(1, got.shape[-1] if got.dim() else 1))
    if got.dim() < 2:
        yield got.reshape(-1), want.reshape(-1)
        return
    for at in range(0, got.shape[0], rows):
        yield got[at : at + rows], want[at : at + rows]
