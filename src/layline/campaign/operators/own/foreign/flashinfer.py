"""flashinfer-bench's form: a Definition in JSON, with axes, inputs, outputs and a reference, and workloads beside it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from layline.errors import ConfigError, say_error

NEEDED = ("name", "axes", "inputs", "outputs", "reference")
MOST_SHAPES = 6


def write_flashinfer(rest: str, root: Path) -> tuple[str, Path]:
    """The operator file of a definition: `DIR#name`, or the path of its JSON."""
    folder, _hash, name = rest.partition("#")
    path = find_definition(root / folder, name, rest)
    definition = read_json(path)
    missing = [key for key in NEEDED if key not in definition]
    if missing:
        raise ConfigError(f"{path} has no `{missing[0]}`: it is not a Definition of flashinfer-bench.")
    problems = list(_find_malformed(definition)) or list(_find_problems(definition))
    if problems:
        raise ConfigError(f"{path}: {problems[0]}", hint="Write an operator file by hand: docs/operators.md shows one.")
    return _write(path, definition, _read_sizes(root / folder, definition)), path


def find_definition(folder: Path, name: str, said: str) -> Path:
    if folder.is_file():
        return folder.resolve()
    found = sorted(folder.rglob(f"{name}.json")) if name else []
    if len(found) != 1:
        raise ConfigError(f"There is no definition {said}.", hint=f"{folder} was searched for {name or 'NAME'}.json.")
    return found[0].resolve()


def read_json(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as JSON: {say_error(error)}.") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} is not a table: it is not a Definition of flashinfer-bench.")
    return found


def _find_malformed(definition: dict[str, Any]) -> Iterator[str]:
    """Fields that are not of the form's kind."""
    for group in ("axes", "inputs", "outputs"):
        if not isinstance(definition[group], dict) or not all(
            isinstance(one, dict) for one in definition[group].values()
        ):
            yield f"`{group}` is not a table of tables by name."
            return
    if not isinstance(definition["reference"], str):
        yield "`reference` is not a string."
    for name, axis in definition["axes"].items():
        if axis.get("type") == "const" and not isinstance(axis.get("value"), int):
            yield f"the axis {name} is const and has no `value` that is a whole number."
    for name, tensor in (*definition["inputs"].items(), *definition["outputs"].items()):
        if "shape" not in tensor or not isinstance(tensor.get("shape") or [], list):
            yield f"{name} has no `shape` that is a list of axes."
        elif not isinstance(tensor.get("dtype"), str):
            yield f"{name} has no `dtype`."
    for name, tensor in definition["outputs"].items():
        if tensor.get("shape") is None:
            yield f"the output {name} is a single number, which a kernel does not write here."


def _find_problems(definition: dict[str, Any]) -> Iterator[str]:
    for rule in definition.get("constraints") or []:
        try:
            ast.parse(str(rule), mode="eval")
        except SyntaxError:
            yield f"the constraint `{rule}` is not an expression."
    for name, tensor in definition["inputs"].items():
        if tensor.get("shape") is None:
            yield f"the input {name} is a single number, which a kernel is not given here."
        elif not str(tensor.get("dtype", "")).startswith(("float", "bfloat")):
            yield f"the input {name} is {tensor.get('dtype')}: how it is drawn is in recorded files, which are not read."


def _read_sizes(folder: Path, definition: dict[str, Any]) -> list[dict[str, int]]:
    """What the workloads beside it ask for, the first few that differ."""
    free = [name for name, axis in definition["axes"].items() if axis.get("type") == "var"]
    base = folder if folder.is_dir() else folder.parent
    found: list[dict[str, int]] = []
    for path in sorted(base.rglob(f"{definition['name']}.jsonl")):
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            try:
                axes = json.loads(line)["workload"]["axes"]
                sizes = {name: int(axes[name]) for name in free if name in axes}
            except (ValueError, TypeError, KeyError):
                raise ConfigError(f"{path}:{number} is not a workload: it gives no sizes by axis.") from None
            if len(sizes) == len(free) and sizes not in found:
                found.append(sizes)
    return found[:MOST_SHAPES] or [dict.fromkeys(free, 1024), dict.fromkeys(free, 333)]


def _write_rule(rule: str, definition: dict[str, Any]) -> str:
    """A constraint over axes alone: `weights.shape[1]` is the axis that stands there."""
    shapes = {name: tensor["shape"] for group in ("inputs", "outputs") for name, tensor in definition[group].items()}

    class Axes(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            match node:
                case ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int(at))
                ) if at < len(shapes.get(name) or []):
                    return ast.parse(str(shapes[name][at]), mode="eval").body
            return self.generic_visit(node)

    return ast.unparse(Axes().visit(ast.parse(rule, mode="eval")))


def _write(path: Path, definition: dict[str, Any], sizes: list[dict[str, int]]) -> str:
    axes = {
        name: f"Axis(const={int(axis['value'])})" if axis.get("type") == "const" else "Axis(low=1)"
        for name, axis in definition["axes"].items()
    }
    tensors = {
        name: f"Tensor({' '.join(map(str, tensor['shape']))!r}, {tensor['dtype']!r})"
        for group in ("inputs", "outputs")
        for name, tensor in definition[group].items()
    }
    legal = " and ".join(f"({_write_rule(one, definition)})" for one in definition.get("constraints") or []) or "True"
    return _TEMPLATE.format(
        title=definition["name"],
        path=str(path),
        axes="\n".join(f"    {name!r}: {text}," for name, text in axes.items()),
        tensors="\n".join(f"    {name!r}: {text}," for name, text in tensors.items()),
        given=" ".join(definition["inputs"]),
        outputs=list(definition["outputs"]),
        made=" ".join(definition["outputs"]),
        shapes="\n".join(f"    {'-'.join(map(str, one.values()))!r}: {one}," for one in sizes),
        legal=legal,
    )


_TEMPLATE = '''"""{title} of flashinfer-bench, as an operator file. Made by `layline campaign new --emit`: correct what is wrong here."""

import json
from pathlib import Path

from layline.operators import Axis, Tensor, Tolerance

DEFINITION = json.loads(Path({path!r}).read_text("utf-8"))
title = {title!r}
language = "torch"
contiguous = True  # as that harness hands them over
axes = {{
{axes}
}}
tensors = {{
{tensors}
}}
passes = {{"forward": "{given} -> {made}"}}
shapes = {{
{shapes}
}}
tolerance = Tolerance(rtol=1.6e-2, atol=1e-2)


def legal(s):
    return eval({legal!r}, {{}}, vars(s))


def reference(step, x):
    names = {{}}
    exec(DEFINITION["reference"], names)
    found = names["run"](*(x[name] for name in {given!r}.split()))
    if isinstance(found, dict):
        return found
    return dict(zip({outputs!r}, found if isinstance(found, (tuple, list)) else (found,)))


shim = """


def forward(*given):
    count = COUNT_
    found = run(*given[:-count])
    found = list(found.values()) if isinstance(found, dict) else found
    for out, one in zip(given[-count:], found if isinstance(found, (tuple, list)) else (found,)):
        out.copy_(one)
""".replace("COUNT_", str(len({outputs!r})))
starts = {{"reference": DEFINITION["reference"] + shim}}
'''
