"""Upstream names that our own files import when they are loaded, followed through our modules: one that is missing
fails them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from layline.core.evidence import Location
from layline.coupling.past_modules import stood_once
from layline.git import Blob
from layline.source import Import, Module, SymbolKind, Tree, absolute_name, module_name, open_cache
from layline.source.names import is_package, is_within, longest_root, parents
from layline.source.parsing import decode_module
from layline.source.resolve import Resolver
from layline.source.workers import encode_blobs

_DEEPEST = 12
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class FailingImport:
    """An import of ours that finds nothing."""

    name: str
    """The upstream name, dotted."""
    location: Location
    """Our line that imports it."""


class OwnModules:
    """What our modules import when they are loaded, from what is kept of their files; each is read once."""

    def __init__(self, ours: Tree, roots: tuple[str, ...]) -> None:
        self._ours = ours
        self._roots = roots
        self._cache = open_cache()
        self._read: dict[str, tuple[tuple[int, str], ...]] = {}

    @cached_property
    def paths(self) -> dict[str, str]:
        """Our modules by name."""
        named = ((module_name(path, self._roots), path) for path in self._ours.paths(suffix=".py"))
        return {name: path for name, path in named if name is not None}

    @cached_property
    def names(self) -> dict[str, str]:
        return {path: name for name, path in self.paths.items()}

    def find_imported(self, module: str) -> tuple[tuple[int, str], ...]:
        """Lines with the dotted names that they need: modules, and names taken from them."""
        if module not in self._read:
            path = self.paths[module]
            found = self._parse(path)
            items = found.imports if found is not None else ()
            # not in a function, for types only, or one of several ways
            plain = (item for item in items if not (item.scope or item.type_checking or item.group))
            self._read[module] = tuple(
                (item.line, name) for item in plain for name in _find_names(module, is_package(path), item)
            )
        return self._read[module]

    def loads(self, path: str, other: str, line: int) -> bool:
        """Whether loading one file of ours runs a line of another one that imports something."""
        name, wanted = self.names.get(path), self.names.get(other)
        if name is None or wanted is None or all(at != line for at, _ in self.find_imported(wanted)):
            return False
        met, todo = set[str](), [name]
        while todo:
            module = todo.pop()
            for one in (module, *parents(module)):
                if one in self.paths and one not in met:
                    met.add(one)
                    todo += [needed for _, needed in self.find_imported(one)]
        return wanted in met

    def _parse(self, path: str) -> Module | None:
        entry = self._ours.find(path)
        if entry is None:
            return None
        text = self._cache.load([entry.oid]).get(entry.oid) or self._made.get(entry.oid)
        if text is None:
            text = self._cache.load([entry.oid]).get(entry.oid)
        found = decode_module(text) if text is not None else None
        return found if isinstance(found, Module) else None

    @cached_property
    def _made(self) -> dict[str, str]:
        """All our files that are not kept, read on all cores: one that is missing is rarely alone. Nothing where they
        can be kept: then they are read from there.
        """
        blobs = sorted({entry.oid for path in self.paths.values() if (entry := self._ours.find(path)) is not None})
        missing: list[str] = []
        for start in range(0, len(blobs), _AT_ONCE):
            some = blobs[start : start + _AT_ONCE]
            kept = self._cache.load(some)
            missing += [blob for blob in some if blob not in kept]
        streamed = self._ours.repository.stream_blobs(missing)
        made = dict(encode_blobs(blob for blob in streamed if isinstance(blob, Blob)))
        self._cache.store(made.items())
        return {} if made and self._cache.load([next(iter(made))]) else made


class OwnImports:
    """Answers for one downstream commit and one side of the upstream."""

    def __init__(self, ours: OwnModules, packages: tuple[str, ...], side: Resolver, *, trusted: bool) -> None:
        """`trusted`: a module that is not there is missing, because the other side had it."""
        self._ours = ours
        self._trusted = trusted
        self._packages = packages
        self._side = side
        self.paths = ours.paths
        self.names = ours.names
        self.asked: set[str] = set()
        """Modules that were asked about, for whoever keeps the answer."""
        self._known: dict[str, tuple[FailingImport, ...]] = {}
        self._read: dict[str, list[FailingImport | str]] = {}

    def find_failing(self, module: str) -> tuple[FailingImport, ...]:
        """The imports that fail when a module of ours is loaded, the packages around it first, in the order in which
        they would stop it: who mends one meets the next. What was asked before changes nothing: each time circles are
        walked from here.
        """
        self.asked.add(module)
        if module not in self._known:
            with self._side.index.seen.within(set()):  # who keeps the answer asks again, by `asked`
                self._known[module] = tuple(_drop_implied(self._follow(module, set(), 0)))
        return self._known[module]

    def _follow(self, module: str, met: set[str], depth: int) -> Iterator[FailingImport]:
        for name in (*reversed(list(parents(module))), module):
            if name in met or name not in self.paths or depth > _DEEPEST:
                continue
            met.add(name)
            for step in self._steps(name):
                if isinstance(step, str):
                    yield from self._follow(step, met, depth + 1)
                else:
                    yield step

    def _steps(self, module: str) -> list[FailingImport | str]:
        """The imports of one module in order: one that fails, or a module of ours that is loaded."""
        if module not in self._read:
            self._read[module] = list(self._find_steps(module))
        return self._read[module]

    def _find_steps(self, module: str) -> Iterator[FailingImport | str]:
        for line, name in self._ours.find_imported(module):
            if longest_root(name, self._packages):
                if self.is_missing(name):
                    yield FailingImport(name, Location(self.paths[module], line))
            elif name in self.paths:
                yield name

    def is_missing(self, name: str) -> bool:
        """True if upstream's code does not bind it; a whole module that was never there may be compiled or generated."""
        if self._side.resolve(name).kind is not SymbolKind.ABSENT:
            return False
        holder, _, last = name.rpartition(".")
        entry = self._side.index.entries.get(holder)
        alone = entry is not None and not entry.is_package and not last.startswith("_")
        return self._trusted or alone or stood_once(self._side, name)


def _drop_implied(found: Iterator[FailingImport]) -> Iterator[FailingImport]:
    """Each missing name once, at the first line that needs it; what stands in a missing module goes with it."""
    told: list[str] = []
    for one in found:
        if not any(is_within(one.name, name) for name in told):
            told.append(one.name)
            yield one


def _find_names(module: str, package: bool, item: Import) -> Iterator[str]:
    """What the statement needs: the module, and the name taken from it (which may be a module itself)."""
    source = absolute_name(module, package=package, level=item.level, name=item.module)
    if source is None:
        return
    yield source
    if item.name not in {None, "*"}:
        yield f"{source}.{item.name}"
