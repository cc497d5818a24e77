"""Import an operator file, and know every byte that came with it."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from layline.campaign.operators.own.forms import find_bad_parts, find_malformed
from layline.campaign.operators.own.guard import (
    Endless,
    Written,
    find_bad_functions,
    guard_functions,
    limit,
    tell,
    tell_endless,
)
from layline.campaign.operators.own.opened import hear_opened, read_data
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
    """What a file says, and the bytes it was read from: its own and those of what it imports and reads beside it."""

    path: str
    said: SimpleNamespace
    sources: tuple[tuple[str, bytes], ...] = field(repr=False)
    unread: tuple[str, ...] = ()
    """Names it defines that neither Layline nor the file itself reads: most likely misspelt."""

    places: tuple[tuple[str, Path], ...] = field(default=(), repr=False)
    """Where those bytes lie, as far as they are files."""
    is_foreign: bool = False
    """Made of a problem whose format has rules of its own."""

    @property
    def hashes(self) -> dict[str, str]:
        return {f"operator:{name}": hashlib.sha256(data).hexdigest() for name, data in self.sources}

    @property
    def hashes_now(self) -> dict[str, str]:
        """Of the files as they lie there at this moment; what was read is what is measured by, whatever they say."""
        return {**self.hashes, **{f"operator:{name}": _hash_file(place) for name, place in self.places}}

    def say(self, name: str, default: Any = None) -> Any:
        return getattr(self.said, name, default)


def read_operator_file(path: Path, name: str | None = None) -> OperatorFile:
    """Run the file in this process, which owns seeds and verdict: it is the user's word on what is right."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"The operator file {path} cannot be read: {error.strerror}.") from None
    found = run_text(text.decode("utf-8", "replace"), name or str(path), path.resolve().parent)
    return replace(found, places=((found.path, path.resolve()), *found.places))


def _hash_file(place: Path) -> str:
    try:
        return hashlib.sha256(place.read_bytes()).hexdigest()
    except OSError:
        return "missing"


def run_text(text: str, name: str, folder: Path) -> OperatorFile:
    """Run a file's text as if it lay in that folder."""
    module = ModuleType("layline_operator")
    module.__file__ = str(folder / Path(name).name)
    loaded = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        with limit(), hear_opened() as heard:
            exec(compile(text, name, "exec"), module.__dict__)  # noqa: S102  the user's own file, as `import` would run it
    except Endless as error:
        raise tell_endless(error, (name,), "the file") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the user's file raises is told with its line
        raise tell(error, (name,), place=f"{name}:{getattr(error, 'lineno', None) or 1}: ") from None
    finally:
        sys.path.remove(str(folder))
    data = dict(read_data(heard, folder))
    beside = tuple({**data, **dict(_read_beside(folder, loaded))}.items())
    said = SimpleNamespace(**{key: module.__dict__[key] for key in KNOWN if key in module.__dict__})
    found = OperatorFile(
        path=name, said=said, sources=((name, text.encode()), *beside), unread=tuple(_find_unread(text))
    )
    check_form(found)
    places = tuple((one, folder / one) for one, _data in beside)
    lie = [place for _name, place in places]
    written = Written(names=(name, *map(str, lie)), folder=folder, places=frozenset((*lie, folder / Path(name).name)))
    return replace(found, said=guard_functions(said, written), places=places)


def _find_unread(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names = [statement.name]
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id not in used]
        else:
            continue
        yield from (name for name in names if name not in {*used, *KNOWN} and not name.startswith("_"))


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
    malformed = [*find_malformed(file.said)]
    if malformed:
        yield from malformed
        return
    yield from find_bad_parts(file.said)
    yield from (f"{name} is not a function." for name in find_bad_functions(file.said))
    if file.say("reference") is None and file.say("check") is None:
        yield "there is neither a reference nor a check: nothing says what is right."
    if file.said.language not in LANGUAGES:
        yield f"language {file.said.language!r} is not one of {', '.join(LANGUAGES)}."
    yield from _find_bad_tensors(file.said)
    yield from _find_bad_draws(file.said)
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
            yield f"tensors[{name!r}] has the dtype {tensor.dtype!r}, which is not one of {', '.join(DTYPES)}."
        elif said.language in ("c", "python") and tensor.dtype.startswith(("bfloat", "float8")):
            yield f"tensors[{name!r}] is {tensor.dtype}, which numpy does not have: such operators run with triton or torch."
        elif said.language == "python" and tensor.dtype == "float16":
            yield f"tensors[{name!r}] is float16, which Python's memory views do not have."
        if tensor.role not in ROLES:
            yield f"tensors[{name!r}] has the role {tensor.role!r}, which is not one of {', '.join(ROLES)}."


def _find_bad_draws(said: SimpleNamespace) -> Iterator[str]:
    """What never changes cannot come out of a function that is called for every call."""
    own = getattr(said, "inputs", None)
    constant = {name for name, tensor in said.tensors.items() if getattr(tensor, "role", "") == "constant"}
    if not own or not constant:
        return
    groups: dict[object, set[str]] = {}
    for name, function in own.items() if isinstance(own, Mapping) else ((name, own) for name in said.tensors):
        groups.setdefault(function, set()).add(name)
    for names in groups.values():
        if names & constant and names - constant:
            kept, other = min(names & constant), min(names - constant)
            yield f"inputs draws {kept}, which is constant, with {other}, which is not: give it a function of its own."


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
        yield "every axis is const: no shape but the listed one could be tried, and a kernel could contain its answer."
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
