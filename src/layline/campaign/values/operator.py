"""What a campaign optimises: operators with their shapes, passes and tolerances, and kernels' sources. No I/O, no
clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

WIDTHS = {"float16": 2, "bfloat16": 2, "float64": 8, "int16": 2, "int32": 4, "int64": 8, "float32": 4}
"""Bytes of an element by dtype; of all others one."""
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One input configuration of an operator."""

    label: str
    sizes: tuple[tuple[str, int], ...]
    """Integer arguments by name, in the order the kernel takes them."""
    groups: tuple[int, ...] = ()
    """Rows per group, for grouped operators; a run-time input of the kernel."""

    def size(self, name: str) -> int:
        return dict(self.sizes)[name]


def find_alignment(extent: int) -> int:
    """The largest power of two up to 32 that an extent is a multiple of, at least twice: what a kernel's tiles may rely
    on.
    """
    return next(one for one in (32, 16, 8, 4, 2, 1) if extent % one == 0 and (extent >= 2 * one or one == 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far an output may be from the fp64 oracle."""

    rtol: float
    atol: float
    """Relative to the oracle's root mean square, so that it means the same at every scale."""
    snr_db: float | None = None
    """Least signal-to-noise ratio; the gate proper for low precision (25/20/10 dB)."""
    error_ratio: float = 2.0
    """How many times the starting kernel's own error a candidate may make; infinite where no kernel sets the measure."""
    absolute: bool = False
    """A row that is small beside the others has the room of all together; one that is large keeps its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """One array argument of a kernel."""

    name: str
    dtype: str
    """A numpy dtype name: `float32`, `int64`."""
    extent: Callable[[Shape], tuple[int, ...]]

    def count_bytes(self, shape: Shape) -> int:
        return math.prod(self.extent(shape)) * WIDTHS.get(self.dtype, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One entry point of a kernel: `int symbol(inputs…, outputs…, sizes…)`, 0 for done."""

    name: str
    """`forward`, `backward`."""
    symbol: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    flops: Callable[[Shape], float]
    bytes_moved: Callable[[Shape], float]

    @property
    def buffers(self) -> tuple[str, ...]:
        """The arguments in order; one that is input and output, in place, is there once."""
        return tuple(dict.fromkeys((*self.inputs, *self.outputs)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """What a campaign optimises: all that is needed to feed, check and score a kernel of it."""

    name: str
    title: str
    language: str
    """Kernel language of the candidates: `c`, `python`, or `triton` and `torch` (with torch, on an accelerator)."""
    buffers: tuple[Buffer, ...]
    passes: tuple[Pass, ...]
    shapes: tuple[Shape, ...]
    """The target shapes; a campaign may choose among them or add its own."""
    tolerance: Tolerance
    metric: str
    """Primary metric: `Forward TFLOPS`, `Combined Step TFLOPS` or `GB/s`."""
    draw: Callable[[Shape, np.random.Generator, str], dict[str, np.ndarray[Any, Any]]]
    """Fresh inputs of a shape from a distribution; the first of `distributions` is the timed one."""
    distributions: tuple[str, ...]
    oracle: Callable[[str, Shape, Arrays], dict[str, np.ndarray[Any, Any]]]
    """The outputs of a pass in fp64, computed in the parent."""
    neighbours: Callable[[Shape, np.random.Generator], tuple[Shape, ...]]
    """Held-out shapes near one: first an equally aligned one, then odd, prime and empty ones."""
    starts: tuple[tuple[str, str], ...]
    """Starting kernels by name (`naive`, `blocked`): C text."""
    wrong: str
    """A kernel that is subtly wrong: the control every gate must refuse. Empty where the operator brings no start."""
    weights: tuple[str, ...] = ()
    """Inputs that live across training steps; every other input is fresh each step."""
    constant: tuple[str, ...] = ()
    """Inputs that are the same in every call of a shape: a kernel may keep what it makes of them."""
    renew: Callable[[Shape, np.random.Generator], Mapping[str, Any]] | None = None
    """Other constants for a shape: whether the right answer follows them is asked before any kernel runs."""
    variants: tuple[tuple[str, str], ...] = ()
    """Structures the search may try in place of the working kernel, by name; their knobs are declared in the text."""
    exact: str | None = None
    """The distribution whose results are exactly representable: the kernel must hit every bit."""
    by_rows: tuple[str, str, tuple[str, ...]] | None = None
    """A pass whose output rows depend on their own rows of some inputs alone: its name, the axis, those inputs."""
    misuse: Callable[[Shape, Arrays], dict[str, np.ndarray[Any, Any]]] | None = None
    """Inputs turned into ones that do not fit one another, which the starting kernel refuses by what it returns."""

    fit: Callable[[Shape], Shape | None] | None = None
    """The nearest shape the operator allows to one somebody invented; None where there is none. Without it all are
    allowed.
    """
    steady: tuple[str, ...] = ()
    """Inputs whose values obey a rule of their own (indices, offsets, masks): nobody changes single
    elements of them.
    """

    free: tuple[str, ...] = ()
    """Outputs without one right answer: only `examine` judges them."""
    tolerances: tuple[tuple[str, Tolerance], ...] = ()
    """Outputs with a tolerance of their own."""
    examine: Callable[[str, Arrays, Arrays], object] | None = None
    """What is wrong with a pass's outputs, by its inputs: text, or nothing."""
    returns: bool = False
    """Kernels return their outputs; the worker copies them where they belong."""
    contiguous: bool = False
    """Nobody hands over views: inputs lie row after row, and kernels may rely on it."""
    shim: str = ""
    """Put behind a Python kernel that does not define the first pass's function itself."""
    prelude: str = ""
    """Then also put before it: modules that kernels of a foreign form import."""
    mutants: tuple[str, ...] = ()
    """Kernels made wrong from the start, which a check of the operator must see refused."""

    @property
    def is_on_device(self) -> bool:
        """Whether its kernels run with torch on an accelerator."""
        return self.language in ("triton", "torch")

    def find_tolerance(self, name: str) -> Tolerance:
        return dict(self.tolerances).get(name, self.tolerance)

    def buffer(self, name: str) -> Buffer:
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def count_bytes(self, shape: Shape) -> int:
        """What the buffers of its largest pass take; a pass need not move all of that."""
        return max(sum(self.buffer(name).count_bytes(shape) for name in step.buffers) for step in self.passes)

    def start(self, name: str) -> str:
        return dict(self.starts)[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The sources of a kernel at one moment."""

    files: tuple[tuple[str, str], ...]
    """Path inside the kernel's folder, and text."""
