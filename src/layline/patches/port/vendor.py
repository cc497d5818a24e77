"""The sliced modules as files of a bundle, with imports turned to the copies."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.patches.port.slicing import called_name

if TYPE_CHECKING:
    from layline.interpreter.modules import Module, Modules
    from layline.patches.port.slicing import Slice
    from layline.source.tree import Tree


def write_modules(
    found: Slice, modules: Modules, tree: Tree, package: str, registers: frozenset[str]
) -> dict[str, str]:
    """Path inside the bundle → text; every package on the way gets an `__init__.py`."""
    files: dict[str, str] = {}
    tops = sorted({name.partition(".")[0] for name in found.modules})
    for name in found.modules:
        module = modules.find(name)
        if module is None or module.path is None:
            continue
        text = "\n".join(_write_module(found, module, tree, registers)) + "\n"
        files[_place(module)] = turn_imports(text, tops, package)
    for path in list(files):
        folder = path.rpartition("/")[0]
        while folder:
            files.setdefault(f"{folder}/__init__.py", "")
            folder = folder.rpartition("/")[0]
    return files


def _place(module: Module) -> str:
    path = module.name.replace(".", "/")
    return f"{path}/__init__.py" if module.is_package else f"{path}.py"


def _write_module(found: Slice, module: Module, tree: Tree, registers: frozenset[str]) -> Iterator[str]:
    yield f'"""The part of {module.path} that the patch needs."""'
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in module.body):
        yield "from __future__ import annotations"
    yield ""
    for bound, how in sorted(found.imports.get(module.name, {}).items()):
        if isinstance(how, tuple):
            base, alias = how
            if base != "__future__":
                yield f"from {base} import {alias.name}" + (f" as {bound}" if alias.name != bound else "")
        else:
            yield f"import {how.name}" + (f" as {how.asname}" if how.asname else "")
    for stub in sorted(found.stubs.get(module.name, ())):
        yield f"\n\ndef {stub}(*words, **_):\n    print(*words)"
    text = tree.read_text(module.path or "")
    lines = text.splitlines() if not isinstance(text, Skipped) else []
    for index in sorted(found.statements.get(module.name, ())):
        node = module.body[index]
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        yield ""
        yield from _write_statement(node, lines, registers)


def _write_statement(node: ast.stmt, lines: list[str], registers: frozenset[str]) -> Iterator[str]:
    """The text as it stands; a decorator that registers the handler stays behind."""
    for decorator in getattr(node, "decorator_list", ()):
        if called_name(decorator) not in registers:
            yield "@" + "\n".join(lines[decorator.lineno - 1 : decorator.end_lineno]).lstrip().removeprefix("@")
    yield from lines[node.lineno - 1 : node.end_lineno]


def turn_imports(text: str, tops: list[str], package: str) -> str:
    """`from own.x import y` → `from <package>.vendor.own.x import y`, wherever it stands."""
    if not tops:
        return text
    names = "|".join(re.escape(top) for top in tops)
    prefix = f"{package}.vendor."
    text = re.sub(rf"(?m)^(\s*)from\s+((?:{names})(?:\.[\w.]+)?)\s+import\b", rf"\1from {prefix}\2 import", text)
    text = re.sub(rf"(?m)^(\s*)import\s+((?:{names})(?:\.[\w.]+)?)\s+as\s+", rf"\1import {prefix}\2 as ", text)
    return re.sub(
        rf"(?m)^(\s*)import\s+({names})((?:\.\w+)*)\s*(?:#.*)?$",
        rf"\1import {prefix}\2\3\n\1from {package}.vendor import \2",
        text,
    )
