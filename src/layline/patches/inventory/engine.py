"""What a patch engine says about itself: its phases and the environment variable that switches patches."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.patch import Engine
from layline.interpreter.values import Items, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.interpreter.calls import Interpreter
    from layline.interpreter.modules import Module, Modules

_SWITCH = re.compile(r"PATCH", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReadEngine:
    """What the packages of the registering functions say."""

    roots: tuple[tuple[str, ...], ...]
    """Where config objects hang on the context."""
    engine: Engine


def read_engine(machine: Interpreter, names: Iterable[str]) -> Engine:
    """Read the modules of the packages that register; nothing is assumed."""
    engine = Engine()
    for name in names:
        module = machine.modules.find(name)
        if module is None:
            continue
        machine.read_module(module)
        phases = _find_phases(machine, module)
        if phases is not None and not engine.phases:
            engine = Engine(
                phases=phases[0],
                phases_at=phases[1],
                switch=engine.switch,
                switch_at=engine.switch_at,
                switch_text=engine.switch_text,
            )
        for variable, line, text in _find_switches(module):
            if engine.switch is None:
                place = Location(module.path or module.name, line)
                engine = Engine(
                    phases=engine.phases, phases_at=engine.phases_at, switch=variable, switch_at=place, switch_text=text
                )
    return engine


def find_engine_modules(modules: Modules, registries: Iterable[str]) -> Iterator[str]:
    """The packages of the registering functions, and the modules right below them."""
    for package in sorted({name.rpartition(".")[0].rpartition(".")[0] for name in registries}):
        for name in [package, *modules.below(package)] if package else []:
            if name.count(".") <= package.count(".") + 1 and modules.state_of(name) is not None:
                yield name


def _find_phases(machine: Interpreter, module: Module) -> tuple[tuple[str, ...], Location] | None:
    """A module-level list of texts whose name says phases, or the members of an enum that does."""
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                "phase" in name.lower() or "stage" in name.lower()
            ):
                value = module.scope.names.get(name)
                if isinstance(value, Items):
                    texts = tuple(str(item.value) for item in value.values if isinstance(item, Literal))
                    if texts:
                        return texts, Location(module.path or module.name, node.lineno)
            case ast.ClassDef(name=name, body=body) if name.lower().endswith(("phase", "stage")):
                members = [
                    str(item.value.value)
                    for item in body
                    if isinstance(item, ast.Assign)
                    and isinstance(item.value, ast.Constant)
                    and isinstance(item.value.value, str)
                ]
                if members:
                    return tuple(members), Location(module.path or module.name, node.lineno)
    return None


def _find_switches(module: Module) -> Iterator[tuple[str, int, str]]:
    """Reads of an environment variable whose name says patches, with the docstring that explains its values."""
    for function in [node for node in ast.walk(ast.Module(module.body, [])) if isinstance(node, ast.FunctionDef)]:
        for call in ast.walk(function):
            match call:
                case ast.Call(func=callee, args=[ast.Constant(value=str(name)), *_]) if _SWITCH.search(name):
                    if ast.unparse(callee) in {"os.getenv", "os.environ.get", "getenv", "environ.get"}:
                        yield name, call.lineno, _explain(function)
                case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))) if _SWITCH.search(name):
                    if ast.unparse(owner) in {"os.environ", "environ"}:
                        yield name, call.lineno, _explain(function)


def _explain(function: ast.FunctionDef) -> str:
    """What the values mean: the constants compared with, and what the function returns for each."""
    words: list[str] = []
    compares = [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
    for node in sorted(compares, key=lambda node: node.lineno):
        constants = (item for side in node.comparators for item in ast.walk(side) if isinstance(item, ast.Constant))
        words += [item.value for item in constants if isinstance(item.value, str) and item.value]
    splits = any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split"
        for node in ast.walk(function)
    )
    values = list(dict.fromkeys(words)) + (["id1,id2"] if splits else [])
    return " | ".join(values)
