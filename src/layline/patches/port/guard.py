"""The guard word for word: the condition as the registration writes it, and every helper and constant that decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.interpreter.modules import resolve_relative
from layline.patches.inventory.registrations import ROLES
from layline.patches.port.slicing import Slicer, called_name
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.core.patch import Patch
    from layline.interpreter.modules import Module, Modules

_MOST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Lines of the downstream, copied."""

    path: str
    lines: tuple[int, int]
    text: str


def quote_guard(patch: Patch, modules: Modules, registers: frozenset[str]) -> list[Quote]:
    """First the condition itself, then what it calls and reads, file by file; the engine and logging stay behind."""
    module = modules.find(modules.names_by_path.get(patch.file, ""))
    condition = None if module is None else _find_condition(module, patch.line, registers)
    if module is None or condition is None:
        return []
    slicer = Slicer(modules, registers)
    for node in ast.walk(condition):
        if isinstance(node, ast.Name):
            slicer.follow(module.name, node.id)
    engine = _find_engine(module, registers, modules)
    quotes = [*_copy(module, [condition], modules)]
    for name in sorted(slicer.found.statements):
        other = modules.find(name)
        if other is not None and not (engine and name.startswith(engine)):
            taken = sorted(slicer.found.statements[name])
            quotes += _copy(other, [other.body[index] for index in taken], modules)
    return quotes[: _MOST + 1]


def _find_condition(module: Module, line: int, registers: frozenset[str]) -> ast.expr | None:
    for node in walk(ast.Module(module.body, [])) if registers else ():
        if isinstance(node, ast.Call) and node.lineno == line and called_name(node) in registers:
            return next((item.value for item in node.keywords if item.arg in ROLES["condition"]), None)
    return None


def _find_engine(module: Module, registers: frozenset[str], modules: Modules) -> str:
    """The package of the registering function; how it reads a config is its own affair."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and any(alias.name in registers for alias in node.names):
            base = resolve_relative(module, node.module, node.level)
            return base if (modules.path_of(base) or "").endswith("__init__.py") else base.rpartition(".")[0]
    return ""


def _copy(module: Module, nodes: Sequence[ast.expr | ast.stmt], modules: Modules) -> Iterator[Quote]:
    text = modules.tree.read_text(module.path or "")
    if isinstance(text, Skipped):
        return
    lines = text.splitlines()
    for node in nodes:
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
        last = getattr(node, "end_lineno", None) or first
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        words = ast.get_source_segment(text, node) if isinstance(node, ast.expr) else "\n".join(lines[first - 1 : last])
        yield Quote(path=module.path or module.name, lines=(first, last), text=words or "")
