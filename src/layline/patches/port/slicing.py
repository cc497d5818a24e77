"""The top-level statements of the downstream that a handler needs, file by file; everything else is left behind."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from layline.core.patch import Patch
from layline.interpreter.modules import Module, Modules, resolve_relative

TALKS = re.compile(r"_?(?:log|debug|info|warn|warning|error|print|trace)(?:_|$)")
"""Functions that only say something are replaced by `print`."""
_MOST_STATEMENTS = 4_000
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)


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

    def follow_inner(self, name: str, scope: list[str]) -> Slice:
        """Everything a function inside a class or another function needs; the rest of what holds it stays behind."""
        module = self.modules.find(name)
        holders = list(find_holders(module.body if module is not None else [], scope))
        if module is None or len(holders) < len(scope):
            return self.follow(name, scope[0])
        self.found.statements.setdefault(name, set())
        around = [holder for holder in holders[:-1] if isinstance(holder, _FUNCTIONS)]
        methods = {one.name: one for holder in holders if isinstance(holder, ast.ClassDef) for one in _defined(holder)}
        waiting, done = list[ast.AST](holders[-1:]), set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) in done:
                continue
            done.add(id(node))
            for inner in self._walk(node):
                self._want(inner, module)
                match inner:
                    case ast.Name(id=wanted):
                        waiting += (part for holder in around for part in _find_binders(holder, wanted))
                    case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=wanted) if wanted in methods:
                        waiting.append(methods[wanted])
        return self.follow(name, "")

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
            self._need_package(alias.name)

    def _take_import_from(self, module: Module, wanted: str, base: str, alias: ast.alias) -> None:
        if not self.modules.knows(base):
            self.found.imports.setdefault(module.name, {})[wanted] = (base, alias)
            self._need_package(base)
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
            self._want(inner, module)

    def _want(self, inner: ast.AST, module: Module) -> None:
        """What one node asks of its module, or imports."""
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

    def _walk(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes of a statement without the decorators that register it."""
        left_behind = [item for item in getattr(node, "decorator_list", ()) if called_name(item) in self.registers]
        waiting: list[ast.AST] = [node]
        while waiting:
            found = waiting.pop()
            yield found
            waiting.extend(inner for inner in ast.iter_child_nodes(found) if inner not in left_behind)

    def _need_package(self, dotted: str) -> None:
        """Something to install; the standard library is there."""
        top = dotted.partition(".")[0]
        if top not in sys.stdlib_module_names:
            self.found.outside.add(top)

    def _need(self, base: str, name: str | None, module: Module) -> None:
        """An import inside a function."""
        if not self.modules.knows(base):
            self._need_package(base)
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
        own, scope = modules.names_by_path.get(patch.file, ""), patch.handler.split(".")
        return slicer.follow(own, scope[0]) if len(scope) == 1 else slicer.follow_inner(own, scope)
    for effect in patch.effects:
        home = modules.names_by_path.get(effect.replacement_at.path) if effect.replacement_at is not None else None
        if home is not None and effect.replacement is not None:
            slicer.follow(home, effect.replacement.removeprefix(f"{home}.").partition(".")[0])
    return slicer.found


def find_holders(
    body: list[ast.stmt], scope: list[str]
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """The class or function of each name of a scope, from the outside in."""
    for name in scope:
        inside = (node for statement in body for node in _walk_statements(statement) if isinstance(node, _SCOPES))
        found = next((node for node in inside if node.name == name), None)
        if found is None:
            return
        yield found
        body = found.body


def _walk_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in its blocks; not those in the body of a class or function."""
    yield node
    blocks = (getattr(node, name, ()) for name in ("body", "orelse", "finalbody", "handlers"))
    for inner in () if isinstance(node, _SCOPES) else (one for block in blocks for one in block):
        yield from _walk_statements(inner)


def _find_binders(function: ast.stmt, wanted: str) -> Iterator[ast.AST]:
    """What gives a name its value in the body of a function around; of a block only its head."""
    for node in (one for statement in getattr(function, "body", ()) for one in _walk_statements(statement)):
        match node:
            case ast.For(target=target, iter=head) if wanted in _names_in(target):
                yield head
            case ast.With(items=items):
                yield from (one.context_expr for one in items if wanted in _names_in(one.optional_vars))
            case ast.If() | ast.Try() | ast.For():
                continue
            case _ if wanted in _bound_names(node):
                yield node


def _names_in(target: ast.expr | None) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)} if target is not None else set()


def _defined(holder: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (one for one in holder.body if isinstance(one, _FUNCTIONS))


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
