"""Hold outputs on the device against the reference: written, finite, exact where it can be, close."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from layline.campaign.devices.gpu_memory import WORDS, Laid
from layline.campaign.measure.oracle import Error, Wrong
from layline.campaign.values.model import Operator

SAMPLE = 61
"""Every so many elements one is part of the fingerprint at return: a prime, so that every tile has some."""
CHUNK = 1 << 25
"""Elements compared at a time, so that large outputs need little memory beside them."""


def fingerprint(outputs: dict[str, Any], start: int) -> list[Any]:
    """One number per output, still on the device: what a sample of its elements sums up to."""
    import torch

    found = []
    for output in outputs.values():
        words = output.view(getattr(torch, WORDS[output.element_size()])).flatten()
        found.append(words[start % max(1, min(SAMPLE, words.numel())) :: SAMPLE].sum(dtype=torch.int64))
    return found


def digest(output: Any) -> int:
    """A number for all of an output's bytes."""
    import torch

    words = output.view(getattr(torch, WORDS[output.element_size()])).flatten()
    if words.numel() >= CHUNK and words.numel() * words.element_size() % 8 == 0:
        return int(words.view(torch.int64).sum())  # one pass over a large output; every bit still counts
    weights = torch.arange(1, words.numel() + 1, device=words.device, dtype=torch.int64)
    return int((words.to(torch.int64) * weights).sum()) if words.numel() else 0


def find_wrong(
    operator: Operator, laid: Laid, outputs: dict[str, Any], right: dict[str, Any], *, is_exact: bool
) -> Iterator[Wrong]:
    """Everything that is wrong with a call's outputs, the most telling first; comparisons are written so that NaN
    fails.
    """
    import torch

    sentinels = dict(laid.sentinels)
    for name, got in outputs.items():
        if not got.numel():
            continue
        words = got.view(getattr(torch, WORDS[got.element_size()]))
        unwritten = int((words == sentinels[name]).sum())
        if unwritten:
            yield Wrong(
                property="writes-every-output",
                reason=f"{unwritten} of {got.numel()} elements of {name} were never written.",
                evidence=(f"poison 0x{sentinels[name]:x} still there",),
            )
            continue
        infinite = int((~torch.isfinite(got)).sum())
        if infinite:
            yield Wrong(
                property="finite",
                reason=f"{infinite} of {got.numel()} elements of {name} are NaN or infinite; the reference's are "
                "finite.",
                evidence=(),
            )
            continue
        if is_exact:
            yield from _find_inexact(name, got, right[name])
        yield from _find_distance(operator, name, got, right[name])


def _find_inexact(name: str, got: Any, want: Any) -> Iterator[Wrong]:
    """Integers whose sums are exact in f32: the one right output is the exact value, rounded once."""
    differing = int((got != want.to(got.dtype)).sum())
    if differing:
        yield Wrong(
            property="exact-integers",
            reason=f"{differing} of {got.numel()} elements of {name} differ where integer inputs make the result "
            "exact.",
            evidence=(),
        )


def _find_distance(operator: Operator, name: str, got: Any, want: Any) -> Iterator[Wrong]:
    import torch

    tolerance = operator.tolerance
    outside, worst = 0, 0.0
    for some, right in _chunks(got, want):
        scale = right.pow(2).mean(dim=-1, keepdim=True).sqrt()
        error = (some - right).abs_()  # bf16 minus f32 is f32
        bad = ~(error <= (right.abs().mul_(tolerance.rtol).add_(tolerance.atol * scale)))
        found = int(bad.sum())
        if found:
            outside += found
            worst = max(worst, float(torch.where(bad, error, torch.zeros_like(error)).max()))
    if outside:
        yield Wrong(
            property="correct",
            reason=f"{outside} of {got.numel()} elements of {name} are outside the tolerance.",
            evidence=(f"largest error {worst:.4g}",),
        )


def find_noise(operator: Operator, errors: list[Error]) -> Iterator[Wrong]:
    """Outputs within the tolerance element by element, but too noisy as a whole."""
    wanted = operator.tolerance.snr_db
    for error in errors:
        if wanted is not None and not error.snr_db >= wanted:
            yield Wrong(
                property="snr",
                reason=f"{error.output} has a signal-to-noise ratio of {error.snr_db:.1f} dB; {wanted:g} dB are "
                "needed.",
                evidence=(),
            )


def measure_error(name: str, got: Any, want: Any) -> Error:
    """Distance from the reference, rows weighed equally so that a small row's error counts."""
    if not got.numel():
        return Error(output=name, rms=0.0, worst=0.0)
    total, worst = 0.0, 0.0
    for some, right in _chunks(got, want):
        scale = right.pow(2).mean(dim=-1, keepdim=True).sqrt()
        scale[scale == 0] = 1.0
        relative = (some.to(right.dtype) - right) / scale
        total += float(relative.pow(2).sum())
        worst = max(worst, float(relative.abs().max()))
    return Error(output=name, rms=math.sqrt(total / got.numel()), worst=worst)


def _chunks(got: Any, want: Any) -> Iterator[tuple[Any, Any]]:
    """Blocks of whole rows."""
    rows = max(1, CHUNK // max(1, got.shape[-1]))
    if got.dim() < 2:
        yield got, want
        return
    for at in range(0, got.shape[0], rows):
        yield got[at : at + rows], want[at : at + rows]
