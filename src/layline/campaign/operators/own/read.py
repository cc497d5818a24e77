"""Import an operator file, and know every byte that came with it."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from layline.campaign.values.operator_file import DTYPES, ROLES, Axis, Tensor
from layline.errors import ConfigError

LANGUAGES = ("c", "python", "triton", "torch")
NEEDED = ("title", "language", "axes", "tensors", "passes", "shapes", "tolerance")
KNOWN = (
    *NEEDED,
    "metric",
    "reference",
    "legal",
    "inputs",
    "flops",
    "bytes",
    "check",
    "starts",
    "variants",
    "wrong",
    "exact",
    "kinds",
    "contiguous",
    "returns",
    "shim",
    "prelude",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFile:
    """What a file says, and the bytes it was read from: its own and those of what it imports from beside it."""

    path: str
    said: SimpleNamespace
    sources: tuple[tuple[str, bytes], ...] = field(repr=False)

    @property
    def hashes(self) -> dict[str, str]:
        return {f"operator:{name}": hashlib.sha256(data).hexdigest() for name, data in self.sources}

    def say(self, name: str, default: Any = None) -> Any:
        return getattr(self.said, name, default)


def read_operator_file(path: Path, name: str | None = None) -> OperatorFile:
    """Run the file in this process, which owns seeds and verdict: it is the user's word on what is right."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"The operator file {path} cannot be read: {error.strerror}.") from None
    return run_text(text.decode("utf-8", "replace"), name or str(path), path.resolve().parent)


def run_text(text: str, name: str, folder: Path) -> OperatorFile:
    """Run a file's text as if it lay in that folder."""
    module = ModuleType("layline_operator")
    module.__file__ = str(folder / Path(name).name)
    loaded = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102  the user's own file, as `import` would run it
    except Exception as error:  # noqa: BLE001  whatever the user's file raises is told with its line
        place = find_place(error, (name,)) or f"{name}:{getattr(error, 'lineno', None) or 1}: "
        raise ConfigError(f"{place}{type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(str(folder))
    beside = tuple(_read_beside(folder, loaded))
    said = SimpleNamespace(**{key: module.__dict__[key] for key in KNOWN if key in module.__dict__})
    found = OperatorFile(path=name, said=said, sources=((name, text.encode()), *beside))
    check_form(found)
    return found


def find_place(error: BaseException, names: Collection[str]) -> str:
    """`FILE:LINE: ` of the last line of these files on the way to an error; empty where there is none."""
    lines = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in names]
    return f"{lines[-1].filename}:{lines[-1].lineno}: " if lines else ""


def _read_beside(folder: Path, before: set[str]) -> Iterator[tuple[str, bytes]]:
    """Modules that came in with it and lie under its folder; forgotten again, so that a changed one is read anew."""
    for name, module in sorted(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if name in before or place is None or not Path(place).resolve().is_relative_to(folder):
            continue
        if "site-packages" not in place:
            yield Path(place).resolve().relative_to(folder).as_posix(), Path(place).read_bytes()
            del sys.modules[name]


def check_form(file: OperatorFile) -> None:
    """Everything that can be seen without calling anything; all of it at once."""
    problems = list(_find_problems(file))
    if problems:
        more = f" (and {len(problems) - 1} more: {' '.join(problems[1:])})" if len(problems) > 1 else ""
        raise ConfigError(f"{file.path}: {problems[0]}{more}", hint="docs/operators.md shows a whole file.")


def _find_problems(file: OperatorFile) -> Iterator[str]:
    missing = [name for name in NEEDED if not hasattr(file.said, name)]
    if missing:
        yield f"{', '.join(missing)} is missing."
        return
    if file.say("reference") is None and file.say("check") is None:
        yield "there is neither a reference nor a check: nothing says what is right."
    if file.said.language not in LANGUAGES:
        yield f"language {file.said.language!r} is none of {', '.join(LANGUAGES)}."
    yield from _find_bad_tensors(file.said)
    yield from _find_bad_passes(file.said)
    yield from _find_bad_shapes(file.said)


def _find_bad_tensors(said: SimpleNamespace) -> Iterator[str]:
    for name, axis in said.axes.items():
        if not isinstance(axis, Axis):
            yield f"axes[{name!r}] is not an Axis."
    for name, tensor in said.tensors.items():
        if not isinstance(tensor, Tensor):
            yield f"tensors[{name!r}] is not a Tensor."
            continue
        unknown = [axis for axis, _more in read_axes(tensor.axes) if axis not in said.axes]
        if callable(tensor.axes) and said.language == "c":
            yield f"tensors[{name!r}] has its extents from a function, which a kernel in C cannot be given: name its axes."
        if unknown:
            yield f"tensors[{name!r}] has the axis {unknown[0]}, which is not in axes."
        if tensor.dtype not in DTYPES:
            yield f"tensors[{name!r}] has the dtype {tensor.dtype!r}, which is none of {', '.join(DTYPES)}."
        elif said.language in ("c", "python") and tensor.dtype.startswith(("bfloat", "float8")):
            yield f"tensors[{name!r}] is {tensor.dtype}, which numpy does not have: such operators run with triton or torch."
        elif said.language == "python" and tensor.dtype == "float16":
            yield f"tensors[{name!r}] is float16, which Python's memory views do not have."
        if tensor.role not in ROLES:
            yield f"tensors[{name!r}] has the role {tensor.role!r}, which is none of {', '.join(ROLES)}."


def _find_bad_passes(said: SimpleNamespace) -> Iterator[str]:
    if not said.passes or next(iter(said.passes)) != "forward" or set(said.passes) - {"forward", "backward"}:
        yield "passes are `forward`, then `backward` if there is one."
    for step, text in said.passes.items():
        inputs, arrow, outputs = text.partition("->")
        unknown = [name for name in (*inputs.split(), *outputs.split()) if name not in said.tensors]
        if not arrow or not outputs.split():
            yield f"passes[{step!r}] is not `inputs -> outputs`."
        elif unknown:
            yield f"passes[{step!r}] names {unknown[0]}, which is not in tensors."


def _find_bad_shapes(said: SimpleNamespace) -> Iterator[str]:
    free = [name for name, axis in said.axes.items() if isinstance(axis, Axis) and axis.const is None]
    if not said.shapes:
        yield "shapes is empty."
    if not free:
        yield "every axis is const: no shape but the listed one could be tried, and a kernel could know its answer by heart."
    for label, sizes in said.shapes.items():
        missing = [name for name in free if name not in sizes]
        unknown = [name for name in sizes if name not in said.axes]
        if missing or unknown:
            yield f"shapes[{label!r}] {f'does not give {missing[0]}' if missing else f'gives {unknown[0]}, which is not an axis'}."


def read_axes(text: str | Callable[..., object]) -> list[tuple[str, int]]:
    """`T H D` or `B+1`: names and what is added to each; none where a function gives the extents."""
    if not isinstance(text, str):
        return []
    found = []
    for word in text.split():
        name, _plus, more = word.partition("+")
        found.append((name, int(more) if more.isdigit() else 0))
    return found
