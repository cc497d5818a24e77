"""What each file of the downstream can see of the others, by its imports.

A reading of one module depends on what it can reach by names and on nothing else (`source.sighted`), so that a digest
of this tells whether it would say the same again. All other names that it looks for among our modules, given as text or put together at run
time, are noted while it looks (`Modules.asked`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.weak import weakly
from layline.interpreter.modules import Module, resolve_relative
from layline.source.circles import find_circles
from layline.source.facts import Facts
from layline.source.sighted import Sighted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from layline.interpreter.modules import Modules

_NOTHING = Facts()


class Reach:
    """The import graph of one commit; files that are not ours are looked at when one of ours imports them."""

    def __init__(
        self, modules: Modules, facts: dict[str, Facts], load: Callable[[Iterable[str]], dict[str, Facts]]
    ) -> None:
        """`load` gives the facts of further files."""
        self._modules = modules
        self._facts = dict(facts)
        self._load = load
        self._names: dict[str, frozenset[str]] = {}
        self._seen: dict[str, frozenset[str]] = {}
        self._sighted = Sighted(
            weakly(self._find_parts), weakly(self._lead), weakly(self._find_states), weakly(self.find_blob)
        )

    def facts_of(self, path: str) -> Facts:
        """Of any file of the tree; none where it cannot be read."""
        if path not in self._facts:
            self._facts[path] = self._load([path]).get(path, _NOTHING)
        return self._facts[path]

    def is_readable(self, path: str) -> bool:
        return self.facts_of(path) is not _NOTHING

    def names_of(self, path: str) -> frozenset[str]:
        """Dotted names that a file may look for among our modules, by what it imports."""
        if path not in self._names:
            self._names[path] = frozenset(_find_names(self._describe(path), self.facts_of(path)))
        return self._names[path]

    def see(self, path: str) -> frozenset[str]:
        """The file and all that it imports, in whatever place, and all that those import."""
        if path not in self._seen:
            seen, waiting = {path}, [path]
            while waiting:
                fresh = {found for one in waiting for found in self._find_next(one)} - seen
                self._read_ahead(fresh)
                seen |= fresh
                waiting = sorted(fresh)
            self._seen[path] = frozenset(seen)
        return self._seen[path]

    def digest(self, paths: Iterable[str]) -> str:
        """Of everything that can be read from these files by following names."""
        listed = set(paths)
        for path in listed:
            self.see(path)  # reads ahead
        return self._sighted.digest(listed)

    def find_blob(self, path: str) -> str:
        entry = self._modules.tree.find(path)
        return entry.oid if entry is not None else ""

    def _find_parts(self, path: str) -> dict[str, Any] | None:
        return self.facts_of(path).parts

    def _find_states(self, path: str) -> list[tuple[str, str]]:
        names = dict.fromkeys(_find_names(self._describe(path), self.facts_of(path)))
        states = ((name, self._modules.state_of(name)) for name in names)
        return [(name, state.strip("/")) for name, state in states if state is not None]

    def _lead(self, path: str, level: int, name: str) -> list[str]:
        dotted = resolve_relative(self._describe(path), name or None, level) if level else name
        state = self._modules.state_of(dotted)
        return [state] if state is not None and state != "/" else []

    def find_circles(self, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Module → those that import one another with it when they are imported, in order of name."""
        edges = {path: sorted(self._find_loaded(path)) for path in paths}
        found: dict[str, tuple[str, ...]] = {}
        circles = find_circles(edges, edges.__getitem__, lambda item: item not in edges)
        for circle in (one for one in circles if len(one) > 1):
            names = tuple(sorted(self._modules.names_by_path[path] for path in circle))
            found.update(dict.fromkeys(names, names))
        return found

    def _read_ahead(self, paths: Iterable[str]) -> None:
        missing = sorted(path for path in paths if path not in self._facts)
        if missing:
            loaded = self._load(missing)
            self._facts.update({path: loaded.get(path, _NOTHING) for path in missing})

    def _find_next(self, path: str) -> Iterator[str]:
        for name in self.names_of(path):
            state = self._modules.state_of(name)
            if state is not None and state != "/":
                yield state

    def _find_loaded(self, path: str) -> set[str]:
        """Files that the top level of a file imports."""
        module = self._describe(path)
        names = {name for line in self.facts_of(path).loads for name in line.find_modules(module.package)}
        states = (self._modules.state_of(name) for name in names)
        return {state for state in states if state is not None and state != "/"}

    def _describe(self, path: str) -> Module:
        name = self._modules.names_by_path.get(path, "")
        return Module(name, path, is_package=path.endswith("__init__.py"))


def _find_names(module: Module, facts: Facts) -> Iterator[str]:
    """`import a.b` binds `a`, from which `a.b` is read; `from a.b import c` looks for `a.b` and `a.b.c` alone."""
    for item in facts.imports:
        root = resolve_relative(module, item.module or None, item.level)
        yield from [root, *(f"{root}.{name}" for name, _ in item.names)] if not item.alias else with_parents(root)
    for _, text in facts.imported_texts:
        yield f"{module.package}{text}" if text.startswith(".") else text.replace(":", ".")


def with_parents(name: str) -> Iterator[str]:
    """`a.b.c` → `a`, `a.b`, `a.b.c`."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])
