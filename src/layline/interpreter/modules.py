"""The modules of the downstream by dotted name, parsed when first needed, and the names that their blocks have."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.ours import Role, find_role, is_own, is_test
from layline.source.facts import Facts, parse_facts
from layline.source.names import is_within
from layline.source.parsing import parse_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.source.tree import Tree


BUILD_FILES = frozenset({"pyproject.toml", "setup.cfg"})
_BUILDERS = frozenset({"setuptools", "distutils", "skbuild", "numpy.distutils"})


WHOLE = "*"
"""After a name that was looked for: any name of that module may be read, whatever imports say."""


class Value:
    """What an expression may stand for; the kinds are in `interpreter.values`."""

    __slots__ = ()


class Event:
    """What reading an installer yields; the kinds are in `interpreter.events`."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Scope:
    """The names of one block; a class body is not visible from the functions inside it."""

    module: Module
    parent: Scope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    outer: dict[str, Scope] = field(default_factory=dict)
    """Names declared `global` or `nonlocal` and where they live."""
    is_class: bool = False

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self if name in self.names else self.outer.get(name, self)
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        if name in self.outer:
            self.outer[name].names[name] = value
        self.names[name] = value

    def put(self, names: dict[str, Value]) -> None:
        """The names after two branches; those of outer scopes too, where either may have run."""
        self.names = names
        for name, owner in self.outer.items():
            if name in self.names:
                owner.names[name] = self.names[name]

    def declare_global(self, names: list[str]) -> None:
        top = self
        while top.parent is not None:
            top = top.parent
        self.outer.update(dict.fromkeys(names, top))
        self.names.update({name: top.names[name] for name in names if name in top.names and top is not self})

    def declare_nonlocal(self, names: list[str]) -> None:
        for name in names:
            scope = self.parent
            while scope is not None and (scope.is_class or name not in scope.names):
                scope = scope.parent
            if scope is not None:
                self.outer[name] = scope


@dataclass(frozen=True, slots=True)
class Setter:
    """A function that rebinds a name of its module."""

    function: ast.AST
    taken: str | None
    """The attribute that the name is bound to: `go` of `_kept = C.go`."""


@dataclass(slots=True, eq=False)
class Module:
    """One module: a file, or a folder without `__init__.py`."""

    name: str
    path: str | None
    body: list[ast.stmt] = field(default_factory=list)
    is_package: bool = False
    scope: Scope = field(init=False)
    state: str = "new"
    """new, running, done: its top level is read once."""
    events: list[Event] = field(default_factory=list)
    """What its top level does when it is imported."""
    executed: list[Value] = field(default_factory=list)
    """Edited upstream source that was executed into its names."""
    stars: list[str] = field(default_factory=list)
    """Modules outside the downstream whose names it takes with `*`."""
    aside: set[tuple[str, str]] = field(default_factory=set)
    """Attributes under which its top level keeps originals (see `Machine.aside`)."""
    stashed: frozenset[tuple[str, str]] | None = None
    """Names under which the file keeps originals (see `interpreter.stashed`); None: nobody asked yet."""
    rebound: dict[str, tuple[Setter, ...]] | None = None
    """Names that functions of it rebind (see `interpreter.slots`); None: nobody asked yet."""
    asked: set[str] = field(default_factory=set)
    """Dotted names that its top level looked for among the modules of the downstream."""

    def __post_init__(self) -> None:
        self.scope = Scope(self)

    @property
    def package(self) -> str:
        """The package that relative imports count from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


class Modules:
    """Finds and parses the Python files of one commit; a file is parsed at most once."""

    def __init__(self, tree: Tree, roots: tuple[str, ...] = (".", "src"), most: int | None = None) -> None:
        """`most`: so many modules are remembered, for who only looks at them; what was run must stay the same object."""
        self.tree = tree
        self._most = most
        given = [root.strip("/") if root != "." else "" for root in roots]
        self.roots = tuple(dict.fromkeys([*given, *find_project_roots(tree)]))
        self.skipped: list[Skipped] = []
        self.asked: set[str] = set()
        """Dotted names that the reading in progress has looked for."""
        self._modules: dict[str, Module | None] = {}

    @cached_property
    def _files(self) -> dict[str, str]:
        """Dotted name → path; the first root wins."""
        found: dict[str, str] = {}
        for root in self.roots:
            prefix = f"{root}/" if root else ""
            for path in self.tree.entries:
                if path.endswith(".py") and path.startswith(prefix):
                    found.setdefault(name_module(path.removeprefix(prefix)), path)
        return found

    @cached_property
    def _folders(self) -> set[str]:
        folders: set[str] = set()
        for name in self._files:
            head = name.rpartition(".")[0]
            while head and head not in folders:
                folders.add(head)
                head = head.rpartition(".")[0]
        return folders

    @cached_property
    def names_by_path(self) -> dict[str, str]:
        """Path → dotted name; the longest root gives the name that imports use."""
        found: dict[str, str] = {}
        for name, path in self._files.items():
            if path not in found or len(name) < len(found[path]):
                found[path] = name
        return found

    def path_of(self, name: str) -> str | None:
        self.asked.add(name)
        return self._files.get(name)

    def knows(self, name: str) -> bool:
        self.asked.add(name)
        return name in self._files or name in self._folders

    def state_of(self, name: str) -> str | None:
        """What a dotted name leads to: a file, a folder (`/`) or nothing; asking is not noted."""
        return self._files.get(name) or ("/" if name in self._folders else None)

    def owns(self, name: str) -> bool:
        """Whether a dotted name leads into a module of this tree; a namespace that others share does not count."""
        parts = name.split(".")
        return any(self.path_of(".".join(parts[:end])) is not None for end in range(1, len(parts) + 1))

    def below(self, package: str) -> list[str]:
        """Every module under a package, in import order."""
        return sorted(name for name in self._files if name.startswith(f"{package}."))

    def find(self, name: str) -> Module | None:
        self.asked.add(name)
        if name not in self._modules:
            if len(self._modules) == self._most:
                del self._modules[next(iter(self._modules))]
            self._modules[name] = self._read(name)
        return self._modules[name]

    def _read(self, name: str) -> Module | None:
        path = self._files.get(name)
        if path is None:
            return Module(name, None, is_package=True) if name in self._folders else None
        body = self.parse(path)
        return Module(name, path, body or [], is_package=path.endswith("__init__.py"))

    def find_read(self) -> list[Module]:
        """The modules whose top level has been read, or is being read."""
        return [module for module in self._modules.values() if module is not None and module.state != "new"]

    def asked_by(self, path: str) -> set[str]:
        """Names that the top level of a file looked for; nothing where it was not read."""
        module = self._modules.get(self.names_by_path.get(path, ""))
        return module.asked if module is not None else set()

    def parse(self, path: str) -> list[ast.stmt] | None:
        """The statements of a file; None, with a row in `skipped`, where it is not Python we can read."""
        text = self.tree.read_text(path)
        if isinstance(text, Skipped):
            self.skipped.append(text)
            return None
        parsed = parse_tree(path, text.encode())
        if isinstance(parsed, Skipped):
            self.skipped.append(parsed)
            return None
        return parsed.body


def find_project_roots(tree: Tree) -> list[str]:
    """Where the packages of the projects inside a tree begin: beside each build file, or in the `src` beside it."""
    folders = {path.rpartition("/")[0] for path in tree.entries if path.rpartition("/")[2] in BUILD_FILES}
    folders |= {path.rpartition("/")[0] for path in find_build_scripts(tree)}
    kept = sorted(folder for folder in folders if folder and is_own(f"{folder}/setup.py"))
    inside = {part for path in tree.entries if "/src/" in path for part in [path.partition("/src/")[0]]}
    return [f"{folder}/src" if folder in inside else folder for folder in kept]


def find_build_scripts(tree: Tree) -> Iterator[str]:
    """The files called `setup.py` that build something; any other is an ordinary module of that name."""
    for path in tree.entries:
        if path == "setup.py" or path.endswith("/setup.py"):
            text = tree.read_text(path)
            facts = parse_facts(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else Facts()
            if any(is_within(item.module, builder) for item in facts.imports for builder in _BUILDERS):
                yield path


def find_own_files(tree: Tree) -> list[str]:
    """The Python files of the downstream itself, tests and vendored code apart."""
    builds = frozenset(find_build_scripts(tree))
    return [path for path in tree.paths(suffix=".py") if is_own(path) and path not in builds]


def find_example_files(tree: Tree) -> list[str]:
    """The Python files that show how the downstream is used."""
    return [path for path in tree.paths(suffix=".py") if find_role(path) is Role.EXAMPLE and not is_test(path)]


def read_texts(tree: Tree, paths: Iterable[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Python files of the downstream, if nothing is said those that are its own."""
    oids = {
        path: entry.oid
        for path in (find_own_files(tree) if paths is None else paths)
        if (entry := tree.find(path)) is not None
    }
    blobs: dict[str, bytes] = {}
    for blob in tree.repository.stream_blobs(dict.fromkeys(oids.values())):
        if not isinstance(blob, str):
            blobs[blob.oid] = blob.data
    for path, oid in oids.items():
        if oid in blobs:
            yield path, blobs[oid]


def name_module(path: str) -> str:
    """`a/b/__init__.py` → `a.b`."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def resolve_relative(module: Module, name: str | None, level: int) -> str:
    """The dotted name that `from ..name import` means inside `module`."""
    if level == 0:
        return name or ""
    base = module.package.split(".") if module.package else []
    base = base[: len(base) - (level - 1)]
    return ".".join([*base, *([name] if name else [])])
