"""KernelBench's form: a module with `Model`, `get_inputs`, `get_init_inputs`. Its constants become axes, its state the
weights.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from layline.errors import ConfigError
from layline.yaml_text import NotYaml, load_yaml

MOST_BYTES = 1 << 27
"""Of a problem's inputs: larger ones are made smaller by halving their largest free size."""
MOST_SHAPES = 3
PLAIN = ("rand", "randn")
_PARTS = ("Model", "get_inputs", "get_init_inputs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a problem's text says about its sizes."""

    constants: dict[str, int]
    """Free sizes by name."""
    places: dict[str, tuple[int, int]]
    """For each free size, an input and the dimension of it that has that size."""
    plain: tuple[bool, ...]
    """For each input, whether it is drawn by rand or randn and nothing else."""
    dims: tuple[tuple[int | str, ...], ...]
    """For each input its extents, by name where they are free."""


def write_kernelbench(rest: str, root: Path) -> tuple[str, Path]:
    """The operator file of a problem: `DIR/level1/23`, or the path of its file."""
    path = find_problem(rest, root)
    problem = read_problem(path.read_text("utf-8"), str(path))
    return _write(path, problem), path


def find_problem(rest: str, root: Path) -> Path:
    """By path, or by folder and number."""
    place = root / rest
    if place.is_file():
        return place.resolve()
    found = sorted(place.parent.glob(f"{place.name}_*.py"))
    if len(found) != 1:
        raise ConfigError(
            f"There is no KernelBench problem {rest}.", hint=f"{place.parent}/{place.name}_*.py was looked for."
        )
    return found[0].resolve()


def read_problem(text: str, where: str) -> Problem:
    """Without running it: names of sizes, where they stand in the inputs."""
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
    if not free:
        raise ConfigError(
            f"{where}: no input has a size with a name of its own, so no other shape can be made.",
            hint="Write the sizes as constants of the module.",
        )
    return Problem(constants=free, places=places, plain=tuple(plain for _call, plain in calls), dims=tuple(dims))


def _read_constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    known: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _evaluate(node.value, known)
            if value is not None:
                known[node.targets[0].id] = value
                yield node.targets[0].id, value


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
        else f" The problem's own sizes are {problem.constants}: too large to be asked for hundreds of times."
    )
    return _TEMPLATE.format(
        title=f"KernelBench {path.parent.name} {title}",
        path=str(path),
        sizes=sizes,
        shapes=_choose_shapes(path, problem, sizes),
        places=problem.places,
        plain=problem.plain,
        stated=read_stated(path.with_name("problem.yaml")),
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


def _choose_shapes(path: Path, problem: Problem, sizes: dict[str, int]) -> dict[str, dict[str, int]]:
    """Those of a `shapes.py` beside the problem, where there is one; else the given sizes and half of them."""
    listed = [
        {name: int(row[name]) for name in sizes}
        for row in _read_listed(path.with_name("shapes.py"))
        if row.keys() >= sizes.keys()
    ]
    fitting = {
        "-".join(map(str, row.values())): row for row in listed if shrink(replace(problem, constants=row)) == row
    }
    smaller = {name: max(16, value // 2) for name, value in sizes.items()}
    return dict(list(fitting.items())[:MOST_SHAPES]) or {"given": sizes, "half": smaller}


def _read_listed(path: Path) -> list[dict[str, int]]:
    """`SHAPES = [{…}, …]`, without running it."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, SyntaxError):
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


_TEMPLATE = '''"""{title}, as an operator file. Made by `layline campaign new --emit`: correct what is wrong here.{told}"""

import ast
from functools import cache
from pathlib import Path

import torch

from layline.operators import Axis, Tensor, Tolerance

PROBLEM = Path({path!r})
PLACES = {places!r}  # each size: an input and its dimension
PLAIN = {plain!r}  # inputs drawn by rand or randn alone; the others are drawn by the problem itself
TEXT = PROBLEM.read_text("utf-8")


def run(sizes):
    """The problem with these sizes in place of its own."""
    tree = ast.parse(TEXT)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in sizes:
            node.value = ast.copy_location(ast.Constant(int(sizes[node.targets[0].id])), node)
    names = {{"__name__": "problem"}}
    exec(compile(ast.fix_missing_locations(tree), str(PROBLEM), "exec"), names)
    return names


@cache
def describe(*sizes):
    """Extents of the inputs, the weights by name, and the outputs; nothing is computed."""
    names = run(dict(zip(PLACES, sizes)))
    with torch.device("meta"):
        given = names["get_inputs"]()
        model = names["Model"](*names["get_init_inputs"]())
        weights = {{name: say(one) for name, one in model.state_dict().items() if one.is_floating_point()}}
        out = model(*given)
    outs = out if isinstance(out, (tuple, list)) else (out,)
    return [say(one) for one in given], weights, [say(one) for one in outs]


def say(tensor):
    return tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")


def at(s):
    return describe(*(getattr(s, name) for name in PLACES))


_inputs, _weights, _outs = describe(*{sizes!r}.values())
_keys = list(_weights)
title = {title!r}
language = "torch"
axes = {{name: Axis(low=1) for name in PLACES}}
tensors = {{
    **{{f"x{{i}}": Tensor(lambda s, i=i: at(s)[0][i][0], one[1]) for i, one in enumerate(_inputs)}},
    **{{f"w{{i}}": Tensor(lambda s, k=key: at(s)[1][k][0], _weights[key][1], role="weight") for i, key in enumerate(_keys)}},
    **{{f"out{{i}}": Tensor(lambda s, i=i: at(s)[2][i][0], one[1]) for i, one in enumerate(_outs)}},
}}
_given = [*(f"x{{i}}" for i in range(len(_inputs))), *(f"w{{i}}" for i in range(len(_keys)))]
passes = {{"forward": " ".join([*_given, "->", *(f"out{{i}}" for i in range(len(_outs)))])}}
shapes = {shapes!r}
_narrow = any(
    dtype.startswith(("bfloat16", "float16", "float8")) for _extent, dtype in [*_inputs, *_weights.values(), *_outs]
)
STATED = {stated!r}  # how far outputs of a type may be off, as the problem itself says
_stated = [STATED[dtype] for _extent, dtype in _outs if dtype in STATED]
if _stated:  # whoever keeps to it may be less exact than the model it is compared with
    tolerance = Tolerance(rtol=max(_stated), atol=max(_stated), error_ratio=1e6)
else:
    tolerance = Tolerance(rtol=1.6e-2, atol=1e-2) if _narrow else Tolerance(rtol=1e-3, atol=1e-3)


def legal(s):
    """Whether the problem can be made with these sizes at all."""
    try:
        found = at(s)
    except Exception:
        return False
    return all(size for extent, _dtype in found[2] for size in extent)  # the "meta" device makes empty ones without a word


def reference(step, x):
    sizes = {{name: x[f"x{{i}}"].shape[d] for name, (i, d) in PLACES.items()}}
    names = run(sizes)
    with torch.device(x["x0"].device):  # its weights are drawn there, and not on the host for every answer
        model = names["Model"](*names["get_init_inputs"]())
    model.load_state_dict({{key: x[f"w{{i}}"] for i, key in enumerate(_keys)}}, strict=False)
    with torch.no_grad():
        out = model.double()(*(x[f"x{{i}}"] for i in range(len(_inputs))))
    outs = out if isinstance(out, (tuple, list)) else (out,)
    return {{f"out{{i}}": one for i, one in enumerate(outs)}}


def draw(kind, s, rng):
    """Weights as the problem makes them; of the inputs those that are more than rand or randn."""
    names = run(vars(s))
    torch.manual_seed(int(rng.integers(0, 1 << 62)))
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        given = names["get_inputs"]() if not all(PLAIN) else []
        model = names["Model"](*names["get_init_inputs"]())
    state = model.state_dict()
    # ones and zeros of a fresh model would let a kernel leave them out
    moved = {{key: state[key].float() + 0.05 * torch.randn_like(state[key].float()) for key in _keys}}
    drawn = {{f"w{{i}}": moved[key].abs() if "var" in key else moved[key] for i, key in enumerate(_keys)}}
    drawn |= {{f"x{{i}}": one for i, one in enumerate(given) if not PLAIN[i]}}
    return drawn


if _keys or not all(PLAIN):
    inputs = {{name: draw for name in [*(f"w{{i}}" for i in range(len(_keys))), *(f"x{{i}}" for i, p in enumerate(PLAIN) if not p)]}}
_shim = """

_SIZES, _KEYS, _COUNT, _INIT, _made = PLACES_, KEYS_, COUNT_, INIT_, {{}}


def forward(*given):
    \\"\\"\\"Build the model for these sizes once, give it the call\'s weights, put what it returns where it belongs.\\"\\"\\"
    import torch

    x, w, outs = given[:_COUNT], given[_COUNT : _COUNT + len(_KEYS)], given[_COUNT + len(_KEYS) :]
    sizes = tuple(x[i].shape[d] for i, d in _SIZES.values())
    if sizes not in _made:
        globals().update(zip(_SIZES, sizes))
        if "get_init_inputs" not in globals():
            exec(_INIT, globals())
            globals().update(zip(_SIZES, sizes))
        _made[sizes] = globals().get("ModelNew", globals().get("Model"))(*get_init_inputs()).to(x[0].device)
    model = _made[sizes]
    with torch.no_grad():
        state = model.state_dict()
        for key, value in zip(_KEYS, w):
            if key in state:
                state[key].copy_(value)
        found = model(*x)
        for out, one in zip(outs, found if isinstance(found, (tuple, list)) else (found,)):
            out.copy_(one)
"""
_init = [
    node
    for node in ast.parse(TEXT).body
    if isinstance(node, ast.Assign) or getattr(node, "name", "") == "get_init_inputs"
]
_init = "\\n".join(ast.unparse(node) for node in _init)  # for a kernel that does not bring its own
shim = _shim.replace("PLACES_", repr(PLACES)).replace("KEYS_", repr(_keys)).replace("COUNT_", str(len(_inputs)))
shim = shim.replace("INIT_", repr(_init))
starts = {{"model": TEXT + shim}}
'''
