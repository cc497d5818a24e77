"""Upstream names that our own files import when they are loaded, followed through our modules: one that is missing
fails them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from layline.core.evidence import Location, Skipped
from layline.source import Import, Module, Resolver, SymbolKind, Tree, absolute_name, module_name, parse_module
from layline.source.names import is_package, longest_root, parents

_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class FailingImport:
    """An import of ours that finds nothing."""

    name: str
    """The upstream name, dotted."""
    location: Location
    """Our line that imports it."""


class OwnImports:
    """Answers for one downstream commit and one side of the upstream; each file is read once."""

    def __init__(
        self, ours: Tree, roots: tuple[str, ...], packages: tuple[str, ...], side: Resolver, *, trusted: bool
    ) -> None:
        """`trusted`: a module that is not there is missing, because the other side had it."""
        self._ours = ours
        self._trusted = trusted
        self._roots = roots
        self._packages = packages
        self._side = side
        self.asked: set[str] = set()
        """Modules that were asked about, for whoever keeps the answer."""
        self._known: dict[str, FailingImport | None] = {}
        self._read: dict[str, list[FailingImport | str]] = {}

    @cached_property
    def paths(self) -> dict[str, str]:
        """Our modules by name."""
        named = ((module_name(path, self._roots), path) for path in self._ours.paths(suffix=".py"))
        return {name: path for name, path in named if name is not None}

    @cached_property
    def names(self) -> dict[str, str]:
        return {path: name for name, path in self.paths.items()}

    def find_failing(self, module: str) -> FailingImport | None:
        """The first import that fails when a module of ours is loaded, the packages around it first; None where all
        work. What was asked before changes nothing: each time circles are walked from here.
        """
        self.asked.add(module)
        if module not in self._known:
            self._known[module] = self._follow(module, set(), 0)
        return self._known[module]

    def _follow(self, module: str, met: set[str], depth: int) -> FailingImport | None:
        for name in (*reversed(list(parents(module))), module):
            if name in met or name not in self.paths or depth > _DEEPEST:
                continue
            met.add(name)
            for step in self._steps(name):
                found = self._follow(step, met, depth + 1) if isinstance(step, str) else step
                if found is not None:
                    return found
        return None

    def _steps(self, module: str) -> list[FailingImport | str]:
        """The imports of one module in order: one that fails, or a module of ours that is loaded."""
        if module not in self._read:
            self._read[module] = list(self._find_steps(module))
        return self._read[module]

    def _find_steps(self, module: str) -> Iterator[FailingImport | str]:
        path = self.paths[module]
        text = self._ours.read_text(path)
        parsed = parse_module(path, text.encode("utf-8", "surrogatepass")) if not isinstance(text, Skipped) else None
        for item in parsed.imports if isinstance(parsed, Module) else ():
            if item.scope or item.type_checking or item.group:
                continue  # in a function, for types only, or one of several ways
            for name in self._find_names(module, path, item):
                if longest_root(name, self._packages):
                    if self._is_missing(name):
                        yield FailingImport(name, Location(path, item.line))
                elif name in self.paths:
                    yield name

    def _is_missing(self, name: str) -> bool:
        """True if upstream's code does not bind it; a whole module that is not there may be compiled or generated."""
        if self._side.resolve(name).kind is not SymbolKind.ABSENT:
            return False
        holder, _, last = name.rpartition(".")
        entry = self._side.index.entries.get(holder)
        return self._trusted or (entry is not None and not entry.is_package and not last.startswith("_"))

    def _find_names(self, module: str, path: str, item: Import) -> Iterator[str]:
        """What the statement needs: the module, and the name taken from it (which may be a module itself)."""
        source = absolute_name(module, package=is_package(path), level=item.level, name=item.module)
        if source is None:
            return
        yield source
        if item.name not in {None, "*"}:
            yield f"{source}.{item.name}"
