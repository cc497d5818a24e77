"""Make an operator of what a file says: buffers, passes, draws, the oracle in fp64, shapes nobody listed."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, SupportsFloat

import numpy as np

from layline.campaign.operators.own.arrays import Numbers, choose_numbers
from layline.campaign.operators.own.draws import draw_structure, find_structure
from layline.campaign.operators.own.mutants import write_mutants
from layline.campaign.operators.own.read import OperatorFile, read_axes
from layline.campaign.operators.own.sizes import build_shape, find_neighbours, fit
from layline.campaign.values.operator import WIDTHS, Buffer, Operator, Pass, Shape
from layline.campaign.values.operator_file import FLOATS, Tensor, Uniform
from layline.errors import ConfigError

KINDS = ("normal", "scaled", "uneven", "offset", "sparse", "outliers", "spike", "coarse", "padded")
LEVEL = "level"
"""What arrives at a later pass alone, the gradient, has one value throughout."""
INTEGERS = "integers"
KEPT_SHAPES = 8
"""Whose constants are held; those of others are drawn again, by their seed."""


Sizes = tuple[tuple[str, int], ...]


class Inputs(dict[str, Any]):
    """A call's inputs by name, and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def build_operator(file: OperatorFile) -> Operator:
    """The value every measuring run works with."""
    said = file.said
    tensors, axes = said.tensors, said.axes
    legal = _read_legal(file)
    numbers = choose_numbers(said.language)
    passes = tuple(_build_passes(file))
    starts = tuple(_read_texts(file, "starts"))
    mutants = write_mutants(said.language, passes, tensors, axes, starts[0][1]) if starts else ()
    own_wrong = dict(_read_texts(file, "wrong")) if file.say("wrong") else {}
    kinds = tuple(file.say("kinds") or (*KINDS, *((LEVEL,) if len(said.passes) > 1 else ())))
    exact = file.say("exact")
    check = file.say("check")
    draw = _Draw(file, numbers, (*kinds, INTEGERS)[0])
    return Operator(
        name=Path(file.path).stem.partition("#")[0],
        title=said.title,
        language=said.language,
        buffers=tuple(
            Buffer(name=name, dtype=tensor.dtype, extent=_find_extent(tensor)) for name, tensor in tensors.items()
        ),
        passes=passes,
        shapes=tuple(build_shape(label, sizes, axes) for label, sizes in said.shapes.items()),
        tolerance=said.tolerance,
        metric=_choose_metric(file),
        draw=draw,
        distributions=(*kinds, *((INTEGERS,) if exact else ())),
        oracle=_Oracle(file, numbers, passes),
        neighbours=lambda near, rng: find_neighbours(near, rng, axes, legal),
        starts=starts,
        wrong=next(iter(own_wrong.values()), mutants[0] if mutants else ""),
        mutants=mutants,
        weights=tuple(name for name, tensor in tensors.items() if tensor.role == "weight"),
        constant=tuple(draw.constant),
        renew=draw.renew if draw.constant else None,
        variants=tuple(_read_texts(file, "variants")),
        exact=INTEGERS if exact else None,
        fit=lambda shape: fit(shape, axes, legal),
        steady=tuple(name for name, tensor in tensors.items() if tensor.draw is not None or name in _own_inputs(file)),
        free=tuple(name for name, tensor in tensors.items() if tensor.role == "free"),
        tolerances=tuple((name, tensor.tolerance) for name, tensor in tensors.items() if tensor.tolerance),
        examine=(lambda step, inputs, outputs: check(step, Inputs(inputs), Inputs(outputs))) if check else None,
        returns=bool(file.say("returns", False)),
        contiguous=bool(file.say("contiguous", False)),
        shim=str(file.say("shim", "")),
        prelude=str(file.say("prelude", "")),
    )


def _read_legal(file: OperatorFile) -> Callable[[SimpleNamespace], bool]:
    """A function that forgets its `return` would make every shape illegal."""
    said = file.say("legal")
    if said is None:
        return lambda _sizes: True

    def is_legal(sizes: SimpleNamespace) -> bool:
        told = said(sizes)
        if told is None:
            raise ConfigError(f"{file.path}: legal returns None.", hint="Return True or False.")
        return bool(told)

    return is_legal


def _own_inputs(file: OperatorFile) -> tuple[str, ...]:
    """Where the file draws its inputs itself, nobody else knows what they may be."""
    said = file.say("inputs")
    return tuple(said) if isinstance(said, Mapping) else tuple(file.said.tensors) if said else ()


def _choose_metric(file: OperatorFile) -> str:
    """GB/s unless the file says otherwise and how much arithmetic there is."""
    metric = str(file.say("metric", "GB/s"))
    if metric != "GB/s" and file.say("flops") is None:
        raise ConfigError(
            f"{file.path}: the metric is {metric}, but `flops` is not given.", hint="Give it, or use GB/s."
        )
    if metric == "TFLOPS":
        return "Combined Step TFLOPS" if "backward" in file.said.passes else "Forward TFLOPS"
    return metric


def _read_texts(file: OperatorFile, what: str) -> Iterator[tuple[str, str]]:
    """Kernels by name: text, or the path of a file beside the operator's."""
    said = file.say(what) or {}
    for name, text in (said if isinstance(said, Mapping) else {what: said}).items():
        if isinstance(text, Path):
            try:
                yield name, text.read_text("utf-8")
            except OSError as error:
                raise ConfigError(f"{file.path}: {what}[{name!r}] {text} cannot be read: {error.strerror}.") from None
        else:
            yield name, str(text)


def _find_extent(tensor: Tensor) -> Callable[[Shape], tuple[int, ...]]:
    if callable(tensor.axes):
        made = tensor.axes
        return lambda shape: tuple(int(one) for one in made(SimpleNamespace(**dict(shape.sizes))))
    axes = read_axes(tensor.axes)
    return lambda shape: tuple(shape.size(name) + more for name, more in axes)


def _build_passes(file: OperatorFile) -> Iterator[Pass]:
    for name, text in file.said.passes.items():
        inputs, _arrow, outputs = (part.split() for part in text.partition("->"))
        yield Pass(
            name=name,
            symbol=name,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            flops=_find_work(file, "flops", name, tuple(outputs)),
            bytes_moved=_find_work(file, "bytes", name, tuple(dict.fromkeys((*inputs, *outputs)))),
        )


def _find_work(file: OperatorFile, what: str, step: str, names: tuple[str, ...]) -> Callable[[Shape], float]:
    """What the file says; else every buffer once, or one operation for each element of the outputs."""
    said = file.say(what)
    tensors = file.said.tensors
    if said is None:
        sizes = [
            (_find_extent(tensors[name]), WIDTHS.get(tensors[name].dtype, 1) if what == "bytes" else 1)
            for name in names
        ]
        return lambda shape: float(sum(wide * math.prod(extent(shape)) for extent, wide in sizes))
    if isinstance(said, Mapping) and step not in said:
        raise ConfigError(f"{file.path}: {what} does not give {step}.", hint="Give one function for each pass.")
    counts = said[step] if isinstance(said, Mapping) else said

    def count(shape: Shape) -> float:
        told = counts(SimpleNamespace(**dict(shape.sizes)))
        if not isinstance(told, SupportsFloat) or not 0 <= float(told) < math.inf:
            raise ConfigError(f"{file.path}: {what} is {told!r} on {dict(shape.sizes)}.", hint="Return a count.")
        return float(told)

    return count


class _Draw:
    """Fresh inputs of a shape: ordinary numbers by distribution, the others by their own kind."""

    def __init__(self, file: OperatorFile, numbers: Numbers, ordinary: str) -> None:
        self._file, self._numbers, self._ordinary = file, numbers, ordinary
        taken = [text.partition("->")[0].split() for text in file.said.passes.values()]
        self._names = tuple(dict.fromkeys(name for names in taken for name in names))
        self._first = frozenset(taken[0])
        self.constant = tuple(name for name in self._names if file.said.tensors[name].role == "constant")
        self._one = threading.Lock()
        self._seeds: dict[Sizes, int] = {}
        self._kept: dict[Sizes, dict[str, Any]] = {}

    def __call__(self, shape: Shape, rng: np.random.Generator, kind: str) -> dict[str, Any]:
        drawn = self._draw(shape, rng, kind, [name for name in self._names if name not in self.constant])
        drawn |= self._keep_constants(shape, rng) if self.constant else {}
        return {name: drawn[name] for name in self._names}

    def _keep_constants(self, shape: Shape, rng: np.random.Generator) -> dict[str, Any]:
        """Those of its sizes, by a seed that nobody can foresee: whoever lists the same sizes gets the same."""
        sizes = shape.sizes
        with self._one:  # two threads would draw twice, and the second lose what the first handed out
            if sizes not in self._kept:
                seed = self._seeds.setdefault(sizes, int(rng.integers(0, 1 << 62)))
                while len(self._kept) >= KEPT_SHAPES:
                    del self._kept[next(iter(self._kept))]
                self._kept[sizes] = self.renew(shape, np.random.default_rng(seed))
            return self._kept[sizes]

    def renew(self, shape: Shape, rng: np.random.Generator) -> dict[str, Any]:
        """Constants for a shape, of the ordinary distribution whatever the others are of."""
        return self._draw(shape, rng, self._ordinary, self.constant)

    def _draw(self, shape: Shape, rng: np.random.Generator, kind: str, names: Iterable[str]) -> dict[str, Any]:
        """Some of the inputs: by the file's own functions where it has any, the rest by what they are."""
        own = self._file.say("inputs") or {}
        asked = own.items() if isinstance(own, Mapping) else ((name, own) for name in names)
        made = dict.fromkeys(function for name, function in asked if name in names)
        sizes = SimpleNamespace(**dict(shape.sizes))
        given = {name: value for function in made for name, value in self._take(function(kind, sizes, rng))}
        drawn = {name: self._hold(shape, name, value) for name, value in given.items()}
        rest = {name: self._draw_one(name, shape, rng, kind) for name in names if name not in drawn}
        return {**drawn, **rest}

    def _take(self, told: Any) -> ItemsView[str, Any]:
        """What the file's own `inputs` gave."""
        unknown = [name for name in told if name not in self._file.said.tensors] if isinstance(told, Mapping) else None
        if not isinstance(told, Mapping) or unknown:
            said = f"{unknown[0]!r}, which is not in tensors" if unknown else f"a {type(told).__name__}"
            raise ConfigError(f"{self._file.path}: inputs returns {said}.", hint="Return a dict of arrays by name.")
        return told.items()

    def _hold(self, shape: Shape, name: str, value: Any) -> Any:
        tensor = self._file.said.tensors[name]
        try:
            drawn = self._numbers.convert(value, tensor.dtype)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{self._file.path}: inputs returns no array for {name}: {error}.") from None
        extent = _find_extent(tensor)(shape)
        _check_extent(
            self._file, "inputs", name, drawn.reshape(extent) if drawn.shape == (1,) and not extent else drawn, extent
        )
        return drawn

    def _draw_one(self, name: str, shape: Shape, rng: np.random.Generator, kind: str) -> Any:
        tensor, numbers = self._file.said.tensors[name], self._numbers
        extent = _find_extent(tensor)(shape)
        if isinstance(tensor.draw, Uniform):
            return numbers.draw_uniform(extent, rng, (tensor.draw.low, tensor.draw.high), tensor.dtype)
        if tensor.draw is not None:
            structure = find_structure(kind)
            return numbers.convert(draw_structure(tensor.draw, extent, dict(shape.sizes), rng, structure), tensor.dtype)
        if tensor.dtype not in FLOATS:
            raise ConfigError(
                f"{self._file.path}: tensors[{name!r}] is {tensor.dtype} and has no draw: index, offsets, mask, permutation, routing."
            )
        if kind == INTEGERS:
            limit = self._file.say("exact")
            if isinstance(limit, Mapping) and name not in limit:
                raise ConfigError(f"{self._file.path}: exact does not give {name}.")
            return numbers.draw_integers(
                extent, rng, limit[name] if isinstance(limit, Mapping) else int(limit), tensor.dtype
            )
        ordinary = kind == LEVEL and name in self._first
        try:
            return numbers.draw_floats(extent, rng, "normal" if ordinary else kind, tensor.dtype)
        except ValueError:
            if kind in KINDS:
                raise
            told = (
                f"{self._file.path}: kinds names {kind!r}, which is not a distribution that {name} can be drawn from."
            )
            raise ConfigError(told, hint=f"Distributions: {', '.join(KINDS)}.") from None


class _Oracle:
    """The file's reference on copies in fp64; what it returns is held to the passes' outputs."""

    def __init__(self, file: OperatorFile, numbers: Numbers, passes: tuple[Pass, ...]) -> None:
        self._file, self._numbers = file, numbers
        self._passes = {step.name: step for step in passes}
        self._takes_sizes = _takes_sizes(file.say("reference"))

    def __call__(self, step: str, shape: Shape, inputs: Mapping[str, Any]) -> dict[str, Any]:
        said, numbers = self._file.said, self._numbers
        wanted = [name for name in self._passes[step].outputs if said.tensors[name].role != "free"]
        if not wanted:
            return {}
        told = self._ask(step, shape, self._widen(step, inputs))
        what = f"reference({step!r})"
        if not isinstance(told, Mapping):
            raise ConfigError(
                f"{self._file.path}: {what} returns a {type(told).__name__}, not a dict of arrays by name."
            )
        missing = [name for name in wanted if name not in told]
        if missing:
            raise ConfigError(f"{self._file.path}: {what} does not return {missing[0]}.")
        for name in wanted:
            _check_extent(self._file, what, name, told[name], _find_extent(said.tensors[name])(shape))
        return {name: numbers.take_answer(told[name], said.tensors[name].dtype) for name in wanted}

    def find_faults(self, step: str, shape: Shape, inputs: Mapping[str, Any]) -> Iterator[str]:
        """What no answer shows: inputs that the reference writes into, fractions that an integer output loses.

        A foreign problem's may do what its format allows.
        """
        if self._file.say("reference") is None or self._file.is_foreign:
            return
        given = self._widen(step, inputs)
        arrays, kept = dict(given), self._widen(step, inputs)
        told = self._ask(step, shape, given)
        for name, array in arrays.items():
            if not _are_same(array, kept[name]):
                yield f"{step} changes its inputs ({name}): let it work on a copy."
        for name in self._passes[step].outputs:
            tensor = self._file.said.tensors[name]
            if tensor.role == "free" or tensor.dtype in FLOATS:
                continue
            if not _are_same(told[name], self._numbers.take_answer(told[name], tensor.dtype)):
                yield f"{step} returns {name} with values that are not {tensor.dtype}: round them."

    def _widen(self, step: str, inputs: Mapping[str, Any]) -> Inputs:
        return Inputs({name: self._numbers.widen(inputs[name]) for name in self._passes[step].inputs})

    def _ask(self, step: str, shape: Shape, given: Inputs) -> Any:
        """With the sizes, where the function has a third parameter for them."""
        sizes = (SimpleNamespace(**dict(shape.sizes)),) if self._takes_sizes else ()
        return self._file.say("reference")(step, given, *sizes)


def _takes_sizes(function: Callable[..., Any] | None) -> bool:
    """A third parameter that must be given."""
    try:
        listed = [*inspect.signature(function).parameters.values()] if function else []
    except (TypeError, ValueError):  # one of C tells nothing of its parameters
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in places and one.default is one.empty for one in listed) == 3


def _are_same(left: Any, right: Any) -> bool:
    return bool(((left == right) | ((left != left) & (right != right))).all())  # noqa: PLR0124  what is no number


def _check_extent(file: OperatorFile, what: str, name: str, array: Any, extent: tuple[int, ...]) -> None:
    found = getattr(array, "shape", None)
    if found is None:
        raise ConfigError(f"{file.path}: {what} returns {name} as a {type(array).__name__}, which is not an array.")
    if tuple(found) != extent:
        raise ConfigError(f"{file.path}: {what} returns {name} as {tuple(found)}; by its axes it is {extent}.")
