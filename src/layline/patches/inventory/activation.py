"""Which modules of the downstream are imported at all: explicit imports and auto-import loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.modules import Module, Modules, resolve_relative
from layline.interpreter.reach import Reach, with_parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.source.facts import Facts


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


def find_activation(modules: Modules, wanted: Iterable[str], facts: dict[str, Facts], reach: Reach) -> Activation:
    """Follow imports from the code around the patches into the modules that register them."""
    found = Activation()
    inside = _patch_area(sorted(wanted))
    outside = {modules.names_by_path.get(path): one for path, one in facts.items()}
    for importer in sorted(name for name in outside if name):
        if importer in inside:
            continue
        for name in _find_named(outside[importer], modules, importer):
            if name in inside:
                _reach(name, f"imported by {importer}", _Area(modules, reach, inside), found)
    return found


@dataclass(frozen=True, slots=True)
class _Area:
    """The modules that are followed, and where their facts are."""

    modules: Modules
    reach: Reach
    names: set[str]


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
        yield from with_parents(root)
        yield from (f"{root}.{name}" for name, _ in item.names)
    for _, text in facts.imported_texts:
        yield f"{module.package}{text}" if text.startswith(".") else text.replace(":", ".")


def _is_package(modules: Modules, name: str) -> bool:
    return (modules.path_of(name) or "").endswith("__init__.py")


def _reach(name: str, why: str, area: _Area, found: Activation) -> None:
    path = area.modules.path_of(name)
    if name in found.reasons or path is None:
        return
    found.reasons[name] = why
    parent = name.rpartition(".")[0]
    if parent in area.names:
        _reach(parent, f"package of {name}", area, found)
    facts, module = area.reach.facts_of(path), Module(name, path, is_package=path.endswith("__init__.py"))
    for line in facts.loads:
        for imported in line.find_modules(module.package):
            if _is_near(imported, area):
                _reach(imported, f"imported by {name}:{line.line}", area, found)
    for walk in facts.walks if module.is_package else ():
        rule = Rule(name, walk.suffixes, walk.deep, walk.line)
        found.rules.append(rule)
        for below in area.modules.below(rule.package):
            if rule.covers(below):
                for above in with_parents(below):
                    if above.startswith(f"{rule.package}."):
                        _reach(above, str(rule) if above == below else f"package of {below}", area, found)
    found.order[name] = len(found.order)


def _is_near(name: str, area: _Area) -> bool:
    """Follow imports only towards patches: a module that registers, or a package above or beside one."""
    return area.modules.path_of(name) is not None and (name in area.names or "patch" in name)
