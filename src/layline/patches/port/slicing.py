"""The top-level statements of the downstream that a handler needs, file by file; everything else is left behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from layline.core.patch import Patch
from layline.interpreter.modules import Module, Modules, resolve_relative

TALKS = re.compile(r"_?(?:log|debug|info|warn|warning|error|print|trace)(?:_|$)")
"""Functions that only say something are replaced by `print`."""
_MOST_STATEMENTS = 4_000


@dataclass(slots=True)
class Slice:
    """What a port takes along."""

    statements: dict[str, set[int]] = field(default_factory=dict)
    """Module → indexes of its top-level statements."""
    imports: dict[str, dict[str, ast.alias | tuple[str, ast.alias]]] = field(default_factory=dict)
    """Module → bound name → how it is imported; a pair carries the module imported from."""
    stubs: dict[str, set[str]] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    """Packages it needs at run time."""
    problems: list[str] = field(default_factory=list)

    @property
    def modules(self) -> list[str]:
        return sorted({*self.statements, *self.imports, *self.stubs})


class Slicer:
    """Follows names from one function through the modules of the downstream."""

    def __init__(self, modules: Modules, registers: frozenset[str]) -> None:
        self.modules = modules
        self.registers = registers
        self.found = Slice()
        self._bindings: dict[str, dict[str, list[int]]] = {}
        self._done: set[tuple[str, str]] = set()
        self._waiting: list[tuple[str, str]] = []

    def follow(self, module: str, name: str) -> Slice:
        """Everything `name` of `module` needs."""
        self._waiting.append((module, name))
        while self._waiting:
            item = self._waiting.pop()
            if item not in self._done and sum(map(len, self.found.statements.values())) < _MOST_STATEMENTS:
                self._done.add(item)
                self._take(*item)
        return self.found

    def _take(self, name: str, wanted: str) -> None:
        module = self.modules.find(name)
        if module is None:
            return
        bound = self._find_bindings(module).get(wanted, ())
        if TALKS.match(wanted) and bound and all(isinstance(module.body[index], ast.FunctionDef) for index in bound):
            self.found.stubs.setdefault(name, set()).add(wanted)
            return
        for index in bound:
            node = module.body[index]
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        if (alias.asname or alias.name.partition(".")[0]) == wanted:
                            self._take_import(module, wanted, alias)
                case ast.ImportFrom(names=names):
                    for alias in names:
                        if (alias.asname or alias.name) == wanted:
                            base = resolve_relative(module, node.module, node.level)
                            self._take_import_from(module, wanted, base, alias)
                case _:
                    self._take_statement(module, index, node)

    def _take_import(self, module: Module, wanted: str, alias: ast.alias) -> None:
        self.found.imports.setdefault(module.name, {})[wanted] = alias
        if self.modules.knows(alias.name):
            self._take_whole(alias.name)
        else:
            self.found.outside.add(alias.name.partition(".")[0])

    def _take_import_from(self, module: Module, wanted: str, base: str, alias: ast.alias) -> None:
        if not self.modules.knows(base):
            self.found.imports.setdefault(module.name, {})[wanted] = (base, alias)
            self.found.outside.add(base.partition(".")[0])
            return
        self.found.imports.setdefault(module.name, {})[wanted] = (base, alias)
        self._want_from(base, alias.name)

    def _want_from(self, base: str, name: str) -> None:
        if self.modules.path_of(f"{base}.{name}") and name not in self._names_of(base):
            self._take_whole(f"{base}.{name}")
        else:
            self._waiting.append((base, name))

    def _names_of(self, base: str) -> dict[str, list[int]]:
        module = self.modules.find(base)
        return self._find_bindings(module) if module is not None else {}

    def _take_whole(self, name: str) -> None:
        """A module used as an object: all its names."""
        self.found.statements.setdefault(name, set())
        for bound in self._names_of(name):
            self._waiting.append((name, bound))

    def _take_statement(self, module: Module, index: int, node: ast.stmt) -> None:
        taken = self.found.statements.setdefault(module.name, set())
        if index in taken:
            return
        taken.add(index)
        for inner in self._walk(node):
            match inner:
                case ast.Name(id=name):
                    self._waiting.append((module.name, name))
                case ast.Import(names=names):
                    for alias in names:
                        self._need(alias.name, None, module)
                case ast.ImportFrom(names=names):
                    base = resolve_relative(module, inner.module, inner.level)
                    for alias in names:
                        self._need(base, alias.name, module)

    def _walk(self, node: ast.stmt) -> Iterator[ast.AST]:
        """The nodes of a statement without the decorators that register it."""
        left_behind = [item for item in getattr(node, "decorator_list", ()) if called_name(item) in self.registers]
        waiting: list[ast.AST] = [node]
        while waiting:
            found = waiting.pop()
            yield found
            waiting.extend(inner for inner in ast.iter_child_nodes(found) if inner not in left_behind)

    def _need(self, base: str, name: str | None, module: Module) -> None:
        """An import inside a function."""
        if not self.modules.knows(base):
            self.found.outside.add(base.partition(".")[0])
        elif name is None:
            self._take_whole(base)
        elif name == "*":
            self.found.problems.append(f"{module.name} imports * from {base}")
            self._take_whole(base)
        else:
            self._want_from(base, name)

    def _find_bindings(self, module: Module) -> dict[str, list[int]]:
        if module.name not in self._bindings:
            found: dict[str, list[int]] = {}
            for index, node in enumerate(module.body):
                for name in _bound_names(node):
                    found.setdefault(name, []).append(index)
            self._bindings[module.name] = found
        return self._bindings[module.name]


def follow_patch(patch: Patch, modules: Modules, registers: frozenset[str]) -> Slice:
    """What a patch needs: all that its installer reaches; of a write at module level, what it puts in place."""
    slicer = Slicer(modules, registers)
    if patch.handler:
        return slicer.follow(modules.names_by_path.get(patch.file, ""), patch.handler.partition(".")[0])
    for effect in patch.effects:
        home = modules.names_by_path.get(effect.replacement_at.path) if effect.replacement_at is not None else None
        if home is not None and effect.replacement is not None:
            slicer.follow(home, effect.replacement.removeprefix(f"{home}.").partition(".")[0])
    return slicer.found


def called_name(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]


def _bound_names(node: ast.stmt) -> Iterator[str]:  # noqa: C901  one case per statement that binds
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.If(body=body, orelse=orelse):
            for inner in (*body, *orelse):
                yield from _bound_names(inner)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
            for inner in (*body, *(item for handler in handlers for item in handler.body), *orelse, *last):
                yield from _bound_names(inner)
        case ast.With(body=body) | ast.For(body=body):
            for inner in body:
                yield from _bound_names(inner)
