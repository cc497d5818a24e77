"""Which modules of the downstream are imported at all: explicit imports and auto-import loops."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.modules import Module, Modules, resolve_relative

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.source.facts import Facts

_WALKS = {"walk_packages", "iter_modules", "iter_entry_points"}


@dataclass(frozen=True, slots=True)
class Rule:
    """An auto-import loop in the `__init__` of a package."""

    package: str
    suffixes: tuple[str, ...]
    """Names it imports end in one of these; empty: all."""
    deep: bool
    line: int

    def covers(self, name: str) -> bool:
        if not name.startswith(f"{self.package}.") or (
            not self.deep and name.count(".") != self.package.count(".") + 1
        ):
            return False
        return not self.suffixes or name.endswith(self.suffixes)

    def __str__(self) -> str:
        return f"auto-import in {self.package}" + (
            f" of names ending in {' or '.join(self.suffixes)}" if self.suffixes else ""
        )


@dataclass(slots=True)
class Activation:
    """Module → why it is imported; modules that are not in here are never imported."""

    reasons: dict[str, str] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)
    """Registration order: a module's own imports come before it."""
    rules: list[Rule] = field(default_factory=list)

    def explain(self, name: str) -> tuple[bool, str]:
        """Whether a module is imported, and how or why not."""
        if name in self.reasons:
            return True, self.reasons[name]
        near = next((rule for rule in self.rules if name.startswith(f"{rule.package}.")), None)
        if near is not None:
            return False, f"never imported: no import names {name} and it is outside the {near}"
        return False, f"never imported: no import in the downstream names {name}"


def find_activation(modules: Modules, wanted: Iterable[str], facts: dict[str, Facts]) -> Activation:
    """Follow imports from the code around the patches into the modules that register them."""
    found = Activation()
    inside = _patch_area(sorted(wanted))
    outside = {modules.names_by_path.get(path): one for path, one in facts.items()}
    for importer in sorted(name for name in outside if name):
        if importer in inside:
            continue
        for name in _find_named(outside[importer], modules, importer):
            if name in inside:
                _reach(name, f"imported by {importer}", modules, found, inside)
    return found


def _patch_area(wanted: list[str]) -> set[str]:
    """The modules that register and the packages above them that only exist for them: `…patches` and below."""
    area: set[str] = set()
    for name in wanted:
        parts = name.split(".")
        top = next((i for i, part in enumerate(parts) if "patch" in part.lower()), len(parts) - 1)
        area.update(".".join(parts[: end + 1]) for end in range(top, len(parts)))
    return area


def _find_named(facts: Facts, modules: Modules, importer: str) -> Iterator[str]:
    """Modules that a file imports, by statement or by text."""
    module = Module(importer, None, is_package=_is_package(modules, importer))
    for item in facts.imports:
        root = resolve_relative(module, item.module or None, item.level)
        yield from _with_parents(root)
        yield from (f"{root}.{name}" for name, _ in item.names)
    for _, text in facts.imported_texts:
        yield f"{module.package}{text}" if text.startswith(".") else text.replace(":", ".")


def _is_package(modules: Modules, name: str) -> bool:
    return (modules.path_of(name) or "").endswith("__init__.py")


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])


def _reach(name: str, why: str, modules: Modules, found: Activation, area: set[str]) -> None:
    if name in found.reasons or modules.path_of(name) is None:
        return
    found.reasons[name] = why
    parent = name.rpartition(".")[0]
    if parent in area:
        _reach(parent, f"package of {name}", modules, found, area)
    module = modules.find(name)
    if module is None:
        return
    for line, imported in _find_imports(module.body, module):
        if _is_near(imported, area, modules):
            _reach(imported, f"imported by {name}:{line}", modules, found, area)
    for rule in _find_rules(module):
        found.rules.append(rule)
        for below in modules.below(rule.package):
            if rule.covers(below):
                for above in _with_parents(below):
                    if above.startswith(f"{rule.package}."):
                        _reach(above, str(rule) if above == below else f"package of {below}", modules, found, area)
    found.order[name] = len(found.order)


def _is_near(name: str, area: set[str], modules: Modules) -> bool:
    """Follow imports only towards patches: a module that registers, or a package above or beside one."""
    path = modules.path_of(name)
    return path is not None and (name in area or any(part in name for part in ("patch",)))


def _find_imports(body: list[ast.stmt], module: Module) -> Iterator[tuple[int, str]]:
    """Modules imported when the top level runs, `if` and `try` included."""
    for node in body:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from ((node.lineno, name) for name in _with_parents(alias.name))
            case ast.ImportFrom(module=name, level=level, names=names):
                base = resolve_relative(module, name, level)
                yield from ((node.lineno, above) for above in _with_parents(base))
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
            case ast.Expr(value=ast.Call(func=function, args=[ast.Constant(value=str(name)), *_])):
                if ast.unparse(function).endswith("import_module"):
                    yield node.lineno, name if not name.startswith(".") else f"{module.package}{name}"
            case ast.If(body=inner, orelse=other):
                yield from _find_imports([*inner, *other], module)
            case ast.Try(body=inner, orelse=other, finalbody=last):
                yield from _find_imports([*inner, *other, *last], module)
            case ast.For(iter=ast.Tuple(elts=elts) | ast.List(elts=elts)):
                for item in elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield node.lineno, f"{module.package}.{item.value.lstrip('.')}"
                        yield node.lineno, item.value


def _find_rules(module: Module) -> Iterator[Rule]:
    """`pkgutil` loops at the top level or in a function it calls there."""
    if not module.is_package:
        return
    called = {
        node.value.func.id
        for node in module.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name not in called:
            continue
        walk = next((w for w in ast.walk(node) if isinstance(w, ast.Call) and _called_name(w) in _WALKS), None)
        if walk is not None:
            yield Rule(module.name, tuple(_find_suffixes(node)), _called_name(walk) == "walk_packages", walk.lineno)


def _called_name(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _find_suffixes(node: ast.AST) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _called_name(call) == "endswith" and call.args:
            for item in ast.walk(call.args[0]):
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield item.value
