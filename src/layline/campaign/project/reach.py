"""Which files of a project a piece of its Python code reaches by the names it uses. Read, not run."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from layline.core.evidence import Skipped
from layline.source.parsing import parse_tree

MOST_PLACES = 4_000
"""Definitions that are followed from one start."""
REGISTERED = 2
"""`torch.ops.library.name`: words behind the first before the name."""


@dataclass(frozen=True, slots=True)
class Place:
    """A name that a file defines; the file alone where the name is empty."""

    path: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """What an import binds: a name of a module, or the module."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the names at a file's margin are."""

    defined: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, Origin] = field(default_factory=dict)
    """By the name they have here."""
    stars: list[str] = field(default_factory=list)


class Reach:
    """Follows names from file to file; `read` gives the text of a file of the tree, or None."""

    def __init__(self, files: Collection[str], read: Callable[[str], str | None]) -> None:
        self._files = frozenset(files)
        self._read = read
        self._names: dict[str, Names] = {}
        self._followed: dict[Place, tuple[Place, ...]] = {}

    def find_files(self, path: str, nodes: Iterable[ast.AST]) -> set[str]:
        """The files that hold a definition which these nodes of the file use, or which one of those uses."""
        return {place.path for place in self.find_places(path, nodes)}

    def find_texts(self, path: str, nodes: Iterable[ast.AST]) -> set[str]:
        """Texts that stand in those definitions."""
        found = (self._open(place.path).defined.get(place.name, ()) for place in self.find_places(path, nodes))
        constants = (one for nodes in found for node in nodes for one in ast.walk(node))
        return {one.value for one in constants if isinstance(one, ast.Constant) and isinstance(one.value, str)}

    def find_places(self, path: str, nodes: Iterable[ast.AST]) -> set[Place]:
        waiting = list(self._find_used(path, nodes))
        seen: set[Place] = set()
        while waiting and len(seen) < MOST_PLACES:
            place = waiting.pop()
            if place not in seen:
                seen.add(place)
                waiting += self._follow(place)
        return {place for place in seen if place.name}

    def _follow(self, place: Place) -> tuple[Place, ...]:
        if place not in self._followed:
            nodes = self._open(place.path).defined.get(place.name, ())
            self._followed[place] = tuple(self._find_used(place.path, nodes))
        return self._followed[place]

    @cached_property
    def _registered(self) -> dict[str, list[Place]]:
        """Functions that a decorator gives to torch under a name, `library::name`, by that name."""
        found: dict[str, list[Place]] = {}
        for path in sorted(one for one in self._files if one.endswith(".py") and "::" in (self._read(one) or "")):
            for name, nodes in self._open(path).defined.items():
                for given in (one for node in nodes for one in _find_given(node)):
                    found.setdefault(given, []).append(Place(path, name))
        return found

    def _find_used(self, path: str, nodes: Iterable[ast.AST]) -> Iterator[Place]:
        nodes = list(nodes)
        here, local = self._open(path), Names()
        for node in nodes:
            _collect_imports(ast.walk(node), path, local)
        for first, *rest in (dotted.split(".") for node in nodes for dotted in _find_dotted(node)):
            if (first, *rest[:1]) == ("torch", "ops") and len(rest) > REGISTERED:
                yield from self._registered.get(f"{rest[1]}::{rest[2]}", ())
                continue
            origin = local.imported.get(first) or here.imported.get(first)
            if first in here.defined and first not in local.imported:
                yield Place(path, first)
            elif origin is not None:
                yield from self._resolve(origin, rest, path)
            else:
                found = self._find_member(path, first, frozenset()) if here.stars else None
                yield from [found] if found is not None else []

    def _resolve(self, origin: Origin, rest: list[str], path: str) -> Iterator[Place]:
        """Where a name is defined that was imported from elsewhere, or an attribute of it."""
        file = self._find_file(origin.module, path)
        words = [*([origin.name] if origin.name else []), *rest]
        while file is not None and words:
            found = self._find_member(file, words[0], frozenset())
            if found is not None:
                yield found
                return
            inner = f"{posixpath.dirname(file)}/{words[0]}" if file.endswith("__init__.py") else ""
            file = next((one for one in (f"{inner}.py", f"{inner}/__init__.py") if one in self._files), None)
            words = words[1:]

    def _find_member(self, file: str, name: str, seen: frozenset[Place]) -> Place | None:
        """A name that a file binds, and so hides a module of the same name; through files that import it."""
        here = Place(file, name)
        if here in seen:
            return None
        names = self._open(file)
        if name in names.defined:
            return here
        origins = [names.imported[name]] if name in names.imported else [Origin(star, name) for star in names.stars]
        for one in origins:
            onward = self._find_file(one.module, file) if one.name else None
            found = self._find_member(onward, one.name, seen | {here}) if onward is not None else None
            if found is not None:
                return found
        return None

    def _find_file(self, module: str, path: str) -> str | None:
        """A module of the tree: from its root, or beside the file that imports it."""
        plain = module.replace(".", "/")
        beside = posixpath.join(posixpath.dirname(path), plain)
        tried = (f"{plain}.py", f"{plain}/__init__.py", f"{beside}.py", f"{beside}/__init__.py")
        return next((one for one in tried if one in self._files), None)

    def _open(self, path: str) -> Names:
        if path not in self._names:
            self._names[path] = found = Names()
            tree = parse_tree(path, (self._read(path) or "").encode("utf-8", "replace"))
            if isinstance(tree, Skipped):
                return found
            _collect_imports(_at_margin(tree.body), path, found)
            for node in _at_margin(tree.body):
                for name in _find_bound(node):
                    found.defined.setdefault(name, []).append(node)
        return self._names[path]


def _at_margin(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that bind names of the module, those inside `if` and `try` too."""
    for node in body:
        yield node
        match node:
            case ast.If(body=first, orelse=other):
                yield from _at_margin([*first, *other])
            case ast.Try(body=first, handlers=handlers, orelse=other, finalbody=last):
                yield from _at_margin([*first, *(one for each in handlers for one in each.body), *other, *last])


def _find_given(node: ast.stmt) -> Iterator[str]:
    """First arguments of its decorators that are texts."""
    for decorator in getattr(node, "decorator_list", ()):
        match decorator:
            case ast.Call(args=[ast.Constant(value=str() as text), *_rest]):
                yield text


def _find_bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (one.id for each in targets for one in ast.walk(each) if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _collect_imports(nodes: Iterable[ast.AST], path: str, found: Names) -> None:
    package = posixpath.dirname(path).split("/")
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for one in names:
                    first = one.name.partition(".")[0]
                    found.imported[one.asname or first] = Origin(one.name if one.asname else first)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package[: len(package) - level + 1] if level else []
                source = ".".join([*above, *([module] if module else [])])
                for one in names:
                    if one.name == "*":
                        found.stars.append(source)
                    else:
                        found.imported[one.asname or one.name] = Origin(source, one.name)


def _find_dotted(node: ast.AST) -> Iterator[str]:
    """Names and attribute chains that begin with a name, each as long as it is written."""
    waiting = [node]
    while waiting:
        inner, words = waiting.pop(), list[str]()
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield ".".join([inner.id, *reversed(words)])
        else:
            waiting += ast.iter_child_nodes(inner)
