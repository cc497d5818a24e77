"""Arithmetic on numpy's arrays, for kernels that run on a processor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layline.campaign.measure.oracle import Close, Wrong, check_output, compare_lost, count_lost
from layline.campaign.values.operator import Operator

SAMPLED = 1024


class NumpyValues:
    """As `stage.Values` says."""

    def copy(self, array: Any) -> Any:
        return array.copy()

    def flatten(self, array: Any) -> Any:
        return array.reshape(-1)

    def count(self, array: Any) -> int:
        return int(array.size)

    def is_real(self, array: Any) -> bool:
        import numpy as np

        return bool(array.dtype.kind == "f" and array.dtype != np.float16)

    def find_extremes(self, flat: Any) -> tuple[int, int]:
        return int(flat.argmin()), int(flat.argmax())

    def find_spread(self, array: Any, at: int) -> float:
        """Of the element's row; a median, because masks hold the largest of numbers."""
        import numpy as np

        row = array.reshape(-1, array.shape[-1])[at // array.shape[-1]]
        return float(np.median(np.abs(row.astype(np.float64)))) or 1.0  # the mean of two large ones is none of f32's

    def raise_above(self, array: Any, least: float) -> Any:
        import numpy as np

        return (np.abs(array) + least).astype(array.dtype)

    def digest(self, array: Any) -> int:
        """Of elements all over it, which is enough to recognise an output that was handed out before."""
        flat = array.reshape(-1)
        return hash(flat[:: max(1, flat.size // SAMPLED)].tobytes())

    def starts_with(self, array: Any, other: Any) -> bool:
        got, given = array.tobytes(), other.tobytes()
        return min(len(got), len(given)) > 8 and got[: len(given)] == given[: len(got)]

    def are_close(self, left: Any, right: Any) -> bool:
        import numpy as np

        if left.dtype.kind != "f":
            return bool(np.array_equal(left, right))
        finite = right[np.isfinite(right)]
        return bool(
            np.allclose(left, right, rtol=1e-3, atol=1e-3 * float(np.abs(finite).max(initial=0)), equal_nan=True)
        )

    def find_distance(self, left: Any, right: Any) -> float:
        """The largest difference, in units of the right one's root mean square."""
        import numpy as np

        if left.tobytes() == right.tobytes():
            return 0.0
        first = np.where(np.isfinite(right), right, 0).astype(np.float64)
        scale = float(np.sqrt(np.mean(first * first))) or 1.0
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return float(np.abs(np.where(same, 0.0, left - first)).max()) / scale

    def find_differing(self, ours: Any, theirs: Any) -> tuple[int, tuple[int, ...], float, float] | None:
        """Where one is a number and the other is none, or infinite the other way: how many, and the first.

        NaN for infinity is let pass: a number split into parts gives it, and it hides nothing.
        """
        import numpy as np

        if ours.dtype.kind != "f":
            return None
        with np.errstate(over="ignore"):
            theirs = theirs.astype(ours.dtype)
        differs = np.isfinite(ours) != np.isfinite(theirs)
        differs |= np.isinf(ours) & np.isinf(theirs) & (np.signbit(ours) != np.signbit(theirs))
        if not differs.any():
            return None
        at = tuple(int(one) for one in np.argwhere(differs)[0])
        return int(differs.sum()), at, float(ours[at]), float(theirs[at])

    def check(
        self, operator: Operator, name: str, got: Any, want: Any, *, is_exact: bool, poison: int
    ) -> Close | Wrong:
        return check_output(operator, name, got, want, is_exact=is_exact, poison=poison)

    def count_lost(self, got: Any, want: Any) -> int:
        return count_lost(got, want)

    def compare_lost(self, name: str, got: tuple[Any, Any], want: Any) -> Iterator[Wrong]:
        yield from compare_lost(name, got, want)
