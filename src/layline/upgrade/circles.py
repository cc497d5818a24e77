"""Import circles: a file that is loaded first may meet a module that is half loaded and lacks what it is asked for.

Only imports that run as a file is loaded are followed. One that stands under a test or a `try` may run or not: a
circle is told where it fails either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.coupling.own_code import read_indexes
from layline.source import Import, Index, Part, absolute_name
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
    return _find_circle(first, _Loads(index))


def _find_circle(first: str, loads: _Loads) -> Circle | None:
    plain = next(_Loading(loads, conditional=False).load(first), None)
    if plain is None or plain not in list(_Loading(loads, conditional=True).load(first)):
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
    loads = _Loads(index)
    found = ((path, _find_circle(modules[path], loads)) for path in paths if path in modules)
    return {path: circle for path, circle in found if circle is not None}


@dataclass(slots=True)
class _Loads:
    """What loading each module imports and makes, read once for all interpreters."""

    index: Index
    _imports: dict[str, list[Import]] = field(default_factory=dict)
    _made: dict[str, dict[str, int] | None] = field(default_factory=dict)

    def find_imports(self, name: str) -> list[Import]:
        """In the order of their lines, those under a test or a `try` among them."""
        if name not in self._imports:
            module = self.index.module(name)
            items = (one for one in module.imports if not one.type_checking and not one.scope) if module else ()
            self._imports[name] = sorted(items, key=lambda one: one.line)
        return self._imports[name]

    def find_made(self, name: str) -> dict[str, int] | None:
        """Name → the first line that binds it as the module is loaded; None where the module cannot be read."""
        if name not in self._made:
            self._made[name] = self._read_made(name)
        return self._made[name]

    def _read_made(self, name: str) -> dict[str, int] | None:
        module = self.index.module(name)
        if module is None:
            return None
        made: dict[str, int] = {}
        bound = [(one.alias, one.line) for one in self.find_imports(name)]
        bound += [(one.qualname, one.lines[0]) for one in module.definitions]
        for alias, line in bound:
            made[alias] = min(line, made.get(alias, line))
        return made


@dataclass(slots=True)
class _Loading:
    """What one interpreter has loaded."""

    loads: _Loads
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
        entry = self.loads.index.entries.get(name)
        if entry is None:
            return
        for item in self.loads.find_imports(name):
            if item.group and not self.conditional:
                continue
            self.reached[name] = item.line
            holder = absolute_name(name, package=entry.is_package, level=item.level, name=item.module)
            if holder is None:
                continue
            yield from _open(holder)
            if item.name in {None, "*"} or self._has(holder, item.name or ""):
                continue
            inner = f"{holder}.{item.name}"
            if inner in self.loads.index.entries:
                yield inner
            elif holder in self.reached and item.name in (self.loads.find_made(holder) or ()) and not item.group:
                yield Circle(name, item.line, inner)

    def _has(self, holder: str, name: str) -> bool:
        """True if a module may have made the name by now."""
        made, end = self.loads.find_made(holder), self.reached.get(holder)
        if made is None:
            return True
        first = [made[one] for one in (name, "__getattr__", "") if one in made]  # a star import has no name
        return any(end is None or line < end for line in first)


def _open(module: str) -> Iterator[str]:
    """What is loaded for a module: the packages that it stands in come first."""
    yield from reversed([module, *parents(module)])
