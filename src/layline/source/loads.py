"""Modules that are imported when the top level of a file runs: by statement, by text, by a loop over a package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from layline.source.walking import walk

IMPORTS = frozenset({"import_module", "__import__"})
"""Functions that load the module whose name they are given."""
WALKS = frozenset({"walk_packages", "iter_modules", "iter_entry_points"})
"""Functions that list the modules of a package."""


@dataclass(frozen=True, slots=True)
class LoadLine:
    """A module that is imported when the top level of a file runs, `if` and `try` included."""

    line: int
    module: str
    level: int = 0
    names: tuple[str, ...] = ()
    how: str = "import"
    """`import`, `from`, `text` (given to `import_module`) or `listed` (in a table that is looped over)."""

    def find_modules(self, package: str) -> Iterator[str]:
        """Dotted names of all that may be a module; `package` is what relative names count from."""
        match self.how:
            case "text":
                yield f"{package}{self.module}" if self.module.startswith(".") else self.module
            case "listed":
                yield f"{package}.{self.module.lstrip('.')}"
                yield self.module
            case _:
                base = package.split(".")[: package.count(".") + 2 - self.level] if self.level and package else []
                root = ".".join([*base, *([self.module] if self.module else [])])
                parts = root.split(".")
                yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
                yield from (f"{root}.{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Walk:
    """A loop over `pkgutil` that imports what it finds."""

    line: int
    deep: bool
    suffixes: tuple[str, ...]
    """Names it imports end in one of these; empty: all."""


def find_loads(body: list[ast.stmt]) -> Iterator[list[Any]]:
    for node in body:
        match node:
            case ast.Import(names=names):
                yield from ([node.lineno, alias.name, 0, [], "import"] for alias in names)
            case ast.ImportFrom(module=name, level=level, names=names):
                yield [node.lineno, name or "", level, [alias.name for alias in names], "from"]
            case ast.Expr(value=ast.Call(args=[ast.Constant(value=str(name)), *_]) as call):
                if called_name(call) in IMPORTS:
                    yield [node.lineno, name, 0, [], "text"]
            case ast.If(body=inner, orelse=other):
                yield from find_loads([*inner, *other])
            case ast.Try(body=inner, orelse=other, finalbody=last):
                yield from find_loads([*inner, *other, *last])
            case ast.For(iter=ast.Tuple(elts=elts) | ast.List(elts=elts)):
                for item in elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield [node.lineno, item.value, 0, [], "listed"]


def find_walks(body: list[ast.stmt]) -> Iterator[list[Any]]:
    called = {
        node.value.func.id
        for node in body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name not in called:
            continue
        calls = [part for part in walk(node) if isinstance(part, ast.Call)]
        loop = next((call for call in calls if called_name(call) in WALKS), None)
        if loop is not None:
            ends = [call.args[0] for call in calls if called_name(call) == "endswith" and call.args]
            texts = [part.value for end in ends for part in walk(end) if isinstance(part, ast.Constant)]
            yield [loop.lineno, called_name(loop) == "walk_packages", [text for text in texts if isinstance(text, str)]]


def called_name(node: ast.Call) -> str:
    func = node.func  # asked of each call several times: no patterns
    kind = func.__class__
    return func.id if kind is ast.Name else func.attr if kind is ast.Attribute else ""  # type: ignore[attr-defined]


def loads_module(node: ast.Call) -> bool:
    """A call that loads what it is given, by a function of Python or one that is called after what it does."""
    return "import" in called_name(node).lower()
