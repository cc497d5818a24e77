"""Import circles: a file that is loaded first may meet a module that is half loaded and lacks what it is asked for.

Only imports that run as a file is loaded are followed. One that stands under a test or a `try` may run or not: a
circle is told where it fails either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.coupling.own_code import read_indexes
from layline.source import Import, Index, Module, Part, absolute_name
from layline.source.names import parents

if TYPE_CHECKING:
    from layline.upgrade.question import Question
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class Circle:
    """An import that fails, because the module it asks is still being loaded and has not made the name yet."""

    module: str
    """Where the import stands."""
    line: int
    name: str
    """What it asks for."""

    def __str__(self) -> str:
        holder, _, name = self.name.rpartition(".")
        return f"{self.module}, line {self.line}, imports {name} from {holder} before {holder} has defined it (circular import)"


def find_circle(first: str, index: Index) -> Circle | None:
    """The circle that loading a module in a fresh interpreter surely runs into; None where there is none."""
    plain = next(_Loading(index, conditional=False).load(first), None)
    if plain is None or plain not in list(_Loading(index, conditional=True).load(first)):
        return None
    return plain


def find_new_circles(question: Question, edited: Workspace, paths: Iterable[str]) -> dict[str, str]:
    """Edited files that cannot be loaded at the end of the upgrade and, as they were, could be at the pin."""
    sides = question.between.opened.sides
    after = _find_circles(edited, sides.tip.index.parts[sides.part], paths)
    before = _find_circles(question.workspace, sides.pin.index.parts[sides.part], after) if after else {}
    return {path: str(circle) for path, circle in after.items() if path not in before}


def _find_circles(workspace: Workspace, theirs: Part, paths: Iterable[str]) -> dict[str, Circle]:
    ours = Part(tree=workspace.tree, source_roots=workspace.settings.project.source_roots)
    (index,) = read_indexes([ours, theirs])
    modules = {entry.path: entry.name for entry in index.entries.values() if not entry.part}
    found = ((path, find_circle(modules[path], index)) for path in paths if path in modules)
    return {path: circle for path, circle in found if circle is not None}


@dataclass(slots=True)
class _Loading:
    """What one interpreter has loaded."""

    index: Index
    conditional: bool
    """Follow imports under a test or a `try`, too."""
    reached: dict[str, int] = field(default_factory=dict)
    """Modules that are being loaded → the line that runs."""
    loaded: set[str] = field(default_factory=set)

    def load(self, first: str) -> Iterator[Circle]:
        """What fails on the way; loading goes on behind it."""
        # not by recursion: chains of imports are longer than Python's stack is deep
        stack: list[tuple[str, Iterator[str | Circle]]] = [("", _open(first))]
        self.reached[""] = 0
        while stack:
            match next(stack[-1][1], None):
                case Circle() as circle:
                    yield circle
                case str(name) if name not in self.reached and name not in self.loaded:
                    self.reached[name] = 0
                    stack.append((name, self._run(name)))
                case None:
                    name, _ = stack.pop()
                    self.loaded.add(name)
                    del self.reached[name]

    def _run(self, name: str) -> Iterator[str | Circle]:
        """The modules that a module loads, one after another."""
        module, entry = self.index.module(name), self.index.entries.get(name)
        if module is None or entry is None:
            return
        for item in sorted(filter(self._runs, module.imports), key=lambda one: one.line):
            self.reached[name] = item.line
            holder = absolute_name(name, package=entry.is_package, level=item.level, name=item.module)
            if holder is None:
                continue
            yield from _open(holder)
            if item.name in {None, "*"} or self._has(holder, item.name or ""):
                continue
            inner = f"{holder}.{item.name}"
            if inner in self.index.entries:
                yield inner
            elif holder in self.reached and self._makes_later(holder, item.name or "") and not item.group:
                yield Circle(name, item.line, inner)

    def _runs(self, item: Import) -> bool:
        return not item.type_checking and not item.scope and (self.conditional or not item.group)

    def _has(self, holder: str, name: str) -> bool:
        """True if a module may have made the name by now."""
        module = self.index.module(holder)
        if module is None:
            return True
        end = self.reached.get(holder)
        names = {name, "__getattr__", ""}  # a star import has no name
        return any(made in names and (end is None or line < end) for made, line in _find_made(module))

    def _makes_later(self, holder: str, name: str) -> bool:
        module = self.index.module(holder)
        return module is not None and any(made == name for made, _ in _find_made(module))


def _open(module: str) -> Iterator[str]:
    """What is loaded for a module: the packages that it stands in come first."""
    yield from reversed([module, *parents(module)])


def _find_made(module: Module) -> Iterator[tuple[str, int]]:
    """What loading a module binds, and the line that does."""
    yield from ((one.alias, one.line) for one in module.imports if not one.type_checking and not one.scope)
    yield from ((one.qualname, one.lines[0]) for one in module.definitions)
