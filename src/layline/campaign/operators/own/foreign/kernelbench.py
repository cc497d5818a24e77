"""KernelBench's form: a module with `Model`, `get_inputs`, `get_init_inputs`. Its constants become axes, its state the
weights.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layline.campaign.operators.own.foreign.kernelbench_file import TEMPLATE
from layline.errors import ConfigError
from layline.yaml_text import NotYaml, load_yaml

MOST_BYTES = 1 << 27
"""Of a problem's inputs: larger ones are made smaller by halving their largest free size."""
MOST_SHAPES = 3
MOST_IN_ALL = 1 << 29
"""Of inputs, weights and outputs together."""
KEPT_MODELS = 2
"""Models of different sizes that a worker keeps: a fresh one for each would look like a kernel that hoards memory."""
PLAIN = ("rand", "randn")
_PARTS = ("Model", "get_inputs", "get_init_inputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a problem's text says about its sizes."""

    constants: dict[str, int]
    """Free sizes by name."""
    places: dict[str, tuple[int, int]]
    """For each free size that an input has, that input and the dimension of it."""
    plain: tuple[bool, ...]
    """For each input, whether it is drawn by rand or randn and nothing else."""
    dims: tuple[tuple[int | str, ...], ...]
    """For each input its extents, by name where they are free."""


def write_kernelbench(rest: str, root: Path) -> tuple[str, Path]:
    """The operator file of a problem: `DIR/level1/23`, or the path of its file."""
    path = find_problem(rest, root)
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None
    problem = read_problem(text, str(path), _read_listed(path.with_name("shapes.py")))
    return _write(path, problem), path


def find_problem(rest: str, root: Path) -> Path:
    """By path, or by folder and number."""
    place = root / rest
    if place.is_file():
        return place.resolve()
    found = sorted(place.parent.glob(f"{place.name}_*.py"))
    if len(found) != 1:
        raise ConfigError(
            f"There is no KernelBench problem {rest}.", hint=f"Layline looked for {place.parent}/{place.name}_*.py."
        )
    return found[0].resolve()


def read_problem(text: str, where: str, listed: Sequence[Mapping[str, int]] = ()) -> Problem:
    """Without running it: names of sizes, where they stand in the inputs. What every listed shape gives is a size, too,
    though only weights or outputs have it.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise ConfigError(f"{where}:{error.lineno}: {error.msg}.") from None
    named = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    missing = [name for name in _PARTS if name not in named]
    if missing:
        raise ConfigError(f"{where} has no {missing[0]}: it is not in KernelBench's form.")
    constants = dict(_read_constants(tree))
    calls = list(_find_draws(named["get_inputs"], where))
    places: dict[str, tuple[int, int]] = {}
    dims: list[tuple[int | str, ...]] = []
    for at, (call, _is_plain) in enumerate(calls):
        row = tuple(_read_dims(call, constants))
        dims.append(row)
        for position, size in enumerate(row):
            if isinstance(size, str):
                places.setdefault(size, (at, position))
    free = {name: constants[name] for name in places}
    if listed:
        free |= {name: one for name, one in constants.items() if all(name in row for row in listed)}
    if not places:
        raise ConfigError(
            f"{where}: no input has a size with a name of its own, so no other shape can be made.",
            hint="Write the sizes as constants of the module.",
        )
    return Problem(constants=free, places=places, plain=tuple(plain for _call, plain in calls), dims=tuple(dims))


def _read_constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    known: dict[str, int] = {}
    for name, node in (pair for one in tree.body for pair in _find_assigned(one)):
        value = _evaluate(node, known)
        if value is not None:
            known[name] = value
            yield name, value


def _find_assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """`a = 1` and `a, b = 1, 2`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            yield from ((one.id, value) for one, value in zip(names, values, strict=True) if isinstance(one, ast.Name))


def _evaluate(node: ast.expr, known: dict[str, int]) -> int | None:  # noqa: PLR0911  a table
    """Whole numbers, and products and sums of them."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left, known), _evaluate(right, known)
            if a is None or b is None:
                return None
            match op:
                case ast.Mult():
                    return a * b
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.FloorDiv() if b:
                    return a // b
                case ast.Pow() if 0 <= b < 64:
                    return int(a**b)
    return None


def _find_draws(function: ast.AST, where: str) -> Iterator[tuple[ast.Call | None, bool]]:
    """For each input that is returned, the call that makes it, and whether nothing else is done to it."""
    assigned = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    returned = next((node.value for node in ast.walk(function) if isinstance(node, ast.Return)), None)
    if not isinstance(returned, ast.List | ast.Tuple):
        raise ConfigError(f"{where}: get_inputs does not return a list.")
    for element in returned.elts:
        made = assigned.get(element.id, element) if isinstance(element, ast.Name) else element
        calls = [node for node in ast.walk(made) if isinstance(node, ast.Call) and _name(node).startswith("rand")]
        call = calls[-1] if calls else None
        yield call, call is made and _name(call) in PLAIN


def _name(call: ast.Call) -> str:
    return (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else call.func.id
        if isinstance(call.func, ast.Name)
        else ""
    )


def _read_dims(call: ast.Call | None, constants: dict[str, int]) -> Iterator[int | str]:
    if call is None:
        return
    arguments = call.args
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = arguments[0].elts
    for node in arguments:
        if isinstance(node, ast.Name) and node.id in constants:
            yield node.id
        else:
            yield _evaluate(node, constants) or 0


def shrink(problem: Problem) -> dict[str, int]:
    """The sizes given, the largest halved until all inputs together are of a size that can be asked for hundreds of
    times.
    """
    sizes = dict(problem.constants)

    def count() -> int:
        whole = 0
        for row in problem.dims:
            one = 4
            for size in row:
                one *= sizes[size] if isinstance(size, str) else max(1, size)
            whole += one
        return whole

    while count() > MOST_BYTES and max(sizes.values()) > 64:
        largest = max(sizes, key=lambda name: sizes[name])
        sizes[largest] //= 2
    return sizes


def _write(path: Path, problem: Problem) -> str:
    sizes = shrink(problem)
    title = re.sub(r"[_]+", " ", path.stem).strip()
    told = (
        ""
        if sizes == problem.constants
        else f" The problem's own sizes are {problem.constants}: too large to be used hundreds of times."
    )
    return TEMPLATE.format(
        title=f"KernelBench {path.parent.name} {title}",
        path=str(path),
        sizes=sizes,
        shapes=_choose_shapes(path, problem, sizes),
        places=problem.places,
        names=tuple(sizes),
        plain=problem.plain,
        stated=read_stated(path.with_name("problem.yaml")),
        fixed=find_fixed(path, sizes),
        steps=find_steps(path, sizes),
        kept=KEPT_MODELS,
        most=MOST_IN_ALL,
        told=told,
    )


def read_stated(path: Path) -> dict[str, float]:
    """How far outputs of a type may be off by a `problem.yaml` beside the problem; empty where none says so."""
    try:
        found = load_yaml(path.read_text("utf-8")) if path.is_file() else {}
    except (OSError, UnicodeDecodeError, NotYaml):
        return {}
    stated = found.get("tolerance") if isinstance(found, dict) else None
    rows = stated.items() if isinstance(stated, dict) else ()
    return {_name_type(str(name)): float(one) for name, one in rows if isinstance(one, int | float) and 0 < one < 1}


def _name_type(name: str) -> str:
    """`float8_e4m3fn` of `torch.float8_e4m3fn` and of `fp8_e4m3fn`."""
    plain = name.removeprefix("torch.")
    return f"float8{plain.removeprefix('fp8')}" if plain.startswith("fp8") else plain


def _find_listed(path: Path, sizes: dict[str, int]) -> list[dict[str, int]]:
    """Rows of a `shapes.py` beside the problem that give every free size."""
    return [
        {name: int(row[name]) for name in sizes}
        for row in _read_listed(path.with_name("shapes.py"))
        if row.keys() >= sizes.keys()
    ]


def find_fixed(path: Path, sizes: dict[str, int]) -> dict[str, int]:
    """Sizes that are the same in several listed shapes: the problem asks for no other."""
    listed = _find_listed(path, sizes)
    same = {name: {row[name] for row in listed} for name in sizes}
    return {name: min(values) for name, values in same.items() if len(listed) > 1 and len(values) == 1}


def find_steps(path: Path, sizes: dict[str, int]) -> dict[str, int]:
    """What every listed extent is a multiple of, where they differ: a kernel for these shapes may count on it."""
    listed = _find_listed(path, sizes)
    common = {name: math.gcd(*(row[name] for row in listed)) for name in sizes if len(listed) > 1}
    return {name: step for name, step in common.items() if step > 1}


def _choose_shapes(path: Path, problem: Problem, sizes: dict[str, int]) -> dict[str, dict[str, int]]:
    """Those of a `shapes.py` beside the problem, where there is one; else the given sizes."""
    listed = _find_listed(path, sizes)
    fitting = {
        "-".join(map(str, row.values())): row for row in listed if shrink(replace(problem, constants=row)) == row
    }
    return dict(list(fitting.items())[:MOST_SHAPES]) or {"given": sizes}


def _read_listed(path: Path) -> list[dict[str, int]]:
    """`SHAPES = [{…}, …]`, without running it."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return []
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="SHAPES")], value=value):
                try:
                    found = ast.literal_eval(value)
                except ValueError:
                    return []
                return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return []
