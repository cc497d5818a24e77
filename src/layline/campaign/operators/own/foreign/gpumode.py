"""GPU MODE's form: a folder with `task.yml` (sizes of tests and benchmarks, files) and `reference.py` (data and right
answer).

Everything is read where it lies. The problem draws its own data, by a seed of ours that nobody knows; what it draws
plainly is drawn from other distributions as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layline.errors import ConfigError
from layline.yaml_text import NotYaml, load_yaml

NEEDED = ("ref_kernel", "generate_input")
SEED = "seed"
LEAST_SEEDS = 1 << 16
GROUPS = ("benchmarks", "tests")
PLAIN = ("rand", "randn")
EMPTY = ("empty", "empty_like", "zeros", "zeros_like")
LEAST = 1e-4
"""No narrower tolerance is taken over: an answer in f32 is held against one in fp64."""
BESIDE = ("task", "utils")
"""Modules a submission may import; the reference is not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a problem's files say, without running them."""

    sizes: tuple[dict[str, int], ...]
    """Benchmarks first, then tests."""
    files: tuple[tuple[str, str], ...]
    """Module name and path of what the reference imports, itself last."""
    outs: tuple[bool, ...]
    """For each part of the data, whether it is room for an answer; empty where the data is one tensor, or cannot be
    seen.
    """
    plain: tuple[bool, ...]
    """Likewise, whether it is drawn by rand or randn and nothing else."""
    rtol: float
    atol: float
    most_seed: int
    """As large as the seeds of its own, and not so few that one could be guessed."""


def write_gpumode(rest: str, root: Path) -> tuple[str, Path]:
    """The operator file of a problem: the path of its folder."""
    folder = (root / rest).resolve()
    problem = read_problem(folder)
    return _write(folder, problem), folder / "reference.py"


def read_problem(folder: Path) -> Problem:
    """Without running it: sizes, files, what the data consists of, tolerances."""
    task = _read_task(folder / "task.yml")
    reference = folder / "reference.py"
    try:
        tree = ast.parse(reference.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{reference} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{reference} is not UTF-8 text.") from None
    except SyntaxError as error:
        raise ConfigError(f"{reference}:{error.lineno}: {error.msg}.") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    missing = [name for name in NEEDED if name not in functions]
    if missing:
        raise ConfigError(f"{reference} has no {missing[0]}: it is not in GPU MODE's form.")
    parts = list(_find_parts(functions["generate_input"]))
    rtol, atol = _find_tolerances(tree)
    return Problem(
        sizes=tuple(_read_sizes(task, folder / "task.yml")),
        files=tuple(_find_files(task, folder)),
        outs=tuple(name in EMPTY for name in parts),
        plain=tuple(name in PLAIN for name in parts),
        rtol=max(rtol, LEAST),
        atol=max(atol, LEAST),
        most_seed=max(LEAST_SEEDS, *(2 * int(row.get(SEED, 0)) for group in GROUPS for row in task.get(group) or ())),
    )


def _read_task(path: Path) -> dict[str, Any]:
    try:
        task = load_yaml(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="gpumode:DIR is a folder with task.yml and reference.py."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None
    except NotYaml as error:
        raise ConfigError(f"{path} is not YAML: {error}.") from None
    if not isinstance(task, dict):
        raise ConfigError(f"{path} is not a table: it is not in GPU MODE's form.")
    for group in (*GROUPS, "files"):
        rows = task.get(group) or []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ConfigError(f"{path}: `{group}` is not a list of tables.")
    seeds = [row[SEED] for group in GROUPS for row in task.get(group) or [] if SEED in row]
    odd = [one for one in seeds if not isinstance(one, int)]
    if odd:
        raise ConfigError(f"{path}: the seed {odd[0]!r} is not a whole number.")
    if task.get("multi_gpu"):
        raise ConfigError(f"{path}: the problem needs several GPUs, and a kernel is measured on one.")
    return task


def _read_sizes(task: dict[str, Any], where: Path) -> Iterator[dict[str, int]]:
    found: list[dict[str, int]] = []
    for group in GROUPS:
        for row in task.get(group) or []:
            sizes = {name: value for name, value in row.items() if name != SEED}
            odd = [name for name, value in sizes.items() if not isinstance(value, int) or isinstance(value, bool)]
            if odd:
                raise ConfigError(
                    f"{where}: {group} give {odd[0]}={sizes[odd[0]]!r}, which is not a size.",
                    hint="Only whole numbers can be varied: write an operator file by hand; docs/operators.md shows one.",
                )
            if sizes and sizes not in found:
                found.append(sizes)
    if not found:
        raise ConfigError(f"{where} has no tests and no benchmarks with sizes.")
    if len({tuple(one) for one in found}) > 1:
        raise ConfigError(f"{where}: tests and benchmarks do not give the same sizes.")
    yield from found


def _find_files(task: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Modules beside the reference, by the paths the task gives; the reference last."""
    for row in task.get("files") or []:
        name, source = str(row.get("name", "")), str(row.get("source", ""))
        path = (folder / source).resolve()
        if name.endswith(".py") and name.removesuffix(".py") in BESIDE and path.is_file():
            yield name.removesuffix(".py"), str(path)
    yield "reference", str(folder / "reference.py")


def _find_parts(function: ast.FunctionDef) -> Iterator[str]:
    """For each part of the tuple that is returned the name of the function of torch that made it; empty where more was
    done.
    """
    made = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    filled = set(_find_filled(function))
    returned = next((node.value for node in ast.walk(function) if isinstance(node, ast.Return)), None)
    for element in returned.elts if isinstance(returned, ast.Tuple) else ():
        name = element.id if isinstance(element, ast.Name) else ""
        yield "" if name in filled else _find_maker(made.get(name, element))


def _find_filled(function: ast.FunctionDef) -> Iterator[str]:
    """Names whose contents are written after they were made: `a.uniform_(…)`, `a[…] = …`."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method.endswith("_"):
                yield name
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                yield name


def _find_maker(node: ast.expr) -> str:
    """`torch.randn(…)`, whatever `.contiguous()` follows."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name)):
            return name
        case ast.Call(func=ast.Attribute(value=inner, attr="contiguous")):
            return _find_maker(inner)
    return ""


def _find_tolerances(tree: ast.Module) -> tuple[float, float]:
    """Of `make_match_reference(ref_kernel, rtol=…, atol=…)`."""
    given = {
        keyword.arg: float(keyword.value.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in ("rtol", "atol")
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, int | float)
    }
    return given.get("rtol", 0.0), given.get("atol", 0.0)


def _write(folder: Path, problem: Problem) -> str:
    listed = (*problem.sizes[:2], problem.sizes[-1])
    return _TEMPLATE.format(
        title=f"GPU MODE {folder.name}",
        folder=str(folder),
        files=problem.files,
        outs=problem.outs,
        plain=problem.plain,
        axes=list(problem.sizes[0]),
        most=problem.most_seed,
        shapes="\n".join(f"    {'-'.join(map(str, one.values()))!r}: {one}," for one in listed),
        first=problem.sizes[-1],
        rtol=problem.rtol,
        atol=problem.atol,
    )


_TEMPLATE = '''"""{title}, as an operator file. Made by `layline campaign new --emit`: correct what is wrong here."""

import ast
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import torch

from layline.operators import Axis, Tensor, Tolerance

FOLDER = Path({folder!r})
FILES = {files!r}  # what the reference imports, and itself
OUTS = {outs!r}  # parts of the data that are room for an answer
PLAIN = {plain!r}  # parts drawn by rand or randn alone; the others are drawn by the problem itself
AXES = {axes!r}
MOST = {most!r}  # of seeds: some problems make numbers of them


@cache
def load():
    """The problem's reference; the modules it imports are in place for as long as that takes."""
    before = {{name: sys.modules.get(name) for name, _path in FILES}}
    try:
        for name, path in FILES:
            sys.modules[name] = module = ModuleType(name)
            exec(compile(Path(path).read_text("utf-8"), path, "exec"), module.__dict__)
    finally:
        for name, old in before.items():
            sys.modules.pop(name, None)
            if old is not None:
                sys.modules[name] = old
    return module


def make(sizes, seed):
    data = load().generate_input(**sizes, seed=seed)
    parts = data if isinstance(data, (tuple, list)) else (data,)
    odd = [type(one).__name__ for one in parts if not isinstance(one, torch.Tensor)]
    if odd:
        raise ValueError(f"the problem's data holds a {{odd[0]}}, and a kernel here is given tensors alone")
    return parts, isinstance(data, torch.Tensor)


def is_out(at):
    return bool(OUTS) and OUTS[at]


def answer(parts):
    found = load().ref_kernel(parts[0] if SINGLE else tuple(parts))
    return found if isinstance(found, (tuple, list)) else (found,)


def say(tensor):
    return tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")


@cache
def describe(*sizes):
    """Extents and types of inputs and answers."""
    parts, _single = make(dict(zip(AXES, sizes)), 1)
    given = [say(one) for at, one in enumerate(parts) if not is_out(at)]
    rooms = [say(one) for at, one in enumerate(parts) if is_out(at)]
    outs = [say(one) for one in answer([one.clone() for one in parts])]  # sizes that have no answer raise here
    return given, rooms or outs


def at(s):
    return describe(*(getattr(s, name) for name in AXES))


SINGLE = make({first!r}, 1)[1]
_given, _outs = describe(*{first!r}.values())
_parts = [at for at in range(len(OUTS) or len(_given)) if not is_out(at)]
_names = [f"x{{i}}" for i in range(len(_given))]
title = {title!r}
language = "torch"
contiguous = True  # as that harness hands them over
axes = {{name: Axis(low=1) for name in AXES}}
tensors = {{
    **{{name: Tensor(lambda s, i=i: at(s)[0][i][0], _given[i][1]) for i, name in enumerate(_names)}},
    **{{f"out{{i}}": Tensor(lambda s, i=i: at(s)[1][i][0], dtype) for i, (_extent, dtype) in enumerate(_outs)}},
}}
passes = {{"forward": " ".join([*_names, "->", *(f"out{{i}}" for i in range(len(_outs)))])}}
shapes = {{
{shapes}
}}
_least = max({{"bfloat16": 1e-2, "float16": 2e-3}}.get(dtype, 0.0) for _extent, dtype in [*_given, *_outs])
tolerance = Tolerance(rtol=max({rtol:g}, _least), atol=max({atol:g}, _least))


def legal(s):
    """Whether the problem can be made with these sizes at all."""
    try:
        found = at(s)
    except Exception:
        return False
    return all(size for rows in found for extent, _dtype in rows for size in extent)


def reference(step, x, s):
    given = [x[name] for name in _names]
    extents = [extent for extent, _dtype in at(s)[1]]
    rooms = [torch.empty(one, dtype=torch.float64, device=given[0].device) for one in extents]
    found = answer(lay(given, rooms))
    return {{f"out{{i}}": one.reshape(extent) for i, (one, extent) in enumerate(zip(found, extents))}}


def lay(given, rooms):
    """Inputs and room for answers in the order of the problem's data."""
    given, rooms = iter(given), iter(rooms)
    return [next(rooms) if is_out(at) else next(given) for at in range(len(OUTS) or len(_given))]


def can_import(text):
    """Whether what a kernel imports is here: a start that cannot be loaded is none."""
    named = [one for one in ast.walk(ast.parse(text)) if isinstance(one, (ast.Import, ast.ImportFrom))]
    roots = [one.module if isinstance(one, ast.ImportFrom) else name.name for one in named for name in one.names]
    beside = [name for name, _path in FILES]
    return all(root.split(".")[0] in beside or find_spec(root.split(".")[0]) for root in roots if root)


def draw(kind, s, rng):
    parts, _single = make({{name: getattr(s, name) for name in AXES}}, int(rng.integers(0, MOST)))
    return {{name: parts[at] for name, at in zip(_names, _parts) if not (PLAIN and PLAIN[at])}}


_own = {{name: draw for name, at in zip(_names, _parts) if not (PLAIN and PLAIN[at])}}
if _own:
    inputs = _own
_beside = [(name, Path(path).read_text("utf-8")) for name, path in FILES[:-1]]
prelude = f"""import sys as _sys, types as _types
for _name, _text in {{_beside!r}}:
    _sys.modules[_name] = _types.ModuleType(_name)
    exec(_text, _sys.modules[_name].__dict__)
"""
shim = f"""


def forward(*given):
    count, places = {{len(_given)}}, {{[is_out(at) for at in range(len(OUTS) or len(_given))]}}
    xs, rooms = iter(given[:count]), iter(given[count:])
    data = tuple(next(rooms) if one else next(xs) for one in places)
    found = custom_kernel(data[0] if {{SINGLE}} else data)
    for out, one in zip(given[count:], found if isinstance(found, (tuple, list)) else (found,)):
        if one is not None and one is not out:
            out.copy_(one.reshape(out.shape))
"""
starts = {{"reference": Path(FILES[-1][1]).read_text("utf-8") + "\\n\\ncustom_kernel = ref_kernel\\n"}}
if (FOLDER / "submission.py").is_file():
    _first = {{"submission": (FOLDER / "submission.py").read_text("utf-8")}}
    starts = {{**_first, **starts}} if can_import(_first["submission"]) else {{**starts, **_first}}
starts = {{name: prelude + text.replace("from __future__ import annotations", "") + shim for name, text in starts.items()}}
'''
