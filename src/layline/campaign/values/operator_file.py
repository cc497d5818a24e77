"""What an operator file is written with: axes, tensors, ways to draw what is no ordinary number. No I/O, no arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from layline.campaign.values.operator import Tolerance

ROLES = ("activation", "weight", "constant", "free")
FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64", "bool")
DTYPES = (*FLOATS, *INTEGERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A named size and what it may be: every shape anybody invents keeps to it."""

    const: int | None = None
    """The only value there is: a head size, the number of columns of a table."""
    multiple: int = 1
    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """Integers from 0 to n − 1; n is an axis or a number."""

    n: str | int


@dataclass(frozen=True, slots=True)
class Offsets:
    """From 0 up to the axis `total` in as many steps as the axis `parts`: even, ragged, with empty parts."""

    total: str
    parts: str


@dataclass(frozen=True, slots=True)
class Mask:
    """1 with this probability, else 0."""

    p: float = 0.5


@dataclass(frozen=True, slots=True)
class Permutation:
    """The numbers from 0 to the last extent − 1, each once in every row."""


@dataclass(frozen=True, slots=True)
class Routing:
    """In every row k different ones of so many experts (an axis or a number): balanced, skewed, clustered."""

    experts: str | int
    k: str | int


@dataclass(frozen=True, slots=True)
class Uniform:
    """Floats between two bounds whatever the distribution: probabilities, scales, angles."""

    low: float = 0.0
    high: float = 1.0


Draw = Index | Offsets | Mask | Permutation | Routing | Uniform


@dataclass(frozen=True, slots=True)
class Tensor:
    """One array argument: its axes by name (`T H D`, `B+1`), its element type, and how it is drawn."""

    axes: str | Callable[..., tuple[int, ...]]
    """Names, or a function of the sizes where an extent is computed from them."""
    dtype: str = "float32"
    role: str = "activation"
    """`weight` lives across training steps; `constant` never changes, as where a model only answers: kernels may keep what
    they make of it; an output that is `free` is judged by the file's `check` alone.
    """
    draw: Draw | None = None
    tolerance: Tolerance | None = None
    """Instead of the file's own, for this output."""


def index(n: str | int) -> Index:
    return Index(n)


def offsets(total: str, parts: str) -> Offsets:
    return Offsets(total, parts)


def mask(p: float = 0.5) -> Mask:
    return Mask(p)


def permutation() -> Permutation:
    return Permutation()


def routing(experts: str | int, k: str | int) -> Routing:
    return Routing(experts, k)


def uniform(low: float = 0.0, high: float = 1.0) -> Uniform:
    return Uniform(low, high)
