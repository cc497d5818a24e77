"""Dotted names of the downstream resolved through its imports, and the order in which classes inherit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.interpreter.callers.uses import Body, File, dotted_of, read_file

if TYPE_CHECKING:
    from layline.interpreter.callers.files import Files
    from layline.interpreter.modules import Module, Modules

_DEEPEST = 12


class Names:
    """Finds definitions of the downstream by dotted name; a file is read at most once."""

    def __init__(self, modules: Modules, files: Files, wanted: frozenset[str]) -> None:
        self.modules = modules
        self._ours = files
        self._wanted = wanted
        self._files: dict[str, File | None] = {}
        self._bases: dict[str, tuple[str, ...]] = {}
        self._orders: dict[str, tuple[str, ...]] = {}
        self._below: dict[str, tuple[str, ...]] = {}

    def read(self, name: str) -> File | None:
        """The file of a module by its dotted name."""
        if name not in self._files:
            module = self.modules.find(name) if self.modules.path_of(name) is not None else None
            self._files[name] = read_file(module, self._wanted) if module is not None else None
        return self._files[name]

    def read_path(self, path: str) -> File | None:
        return self.read(self.modules.names_by_path.get(path, ""))

    def find_module(self, path: str) -> Module | None:
        return self.modules.find(self.modules.names_by_path.get(path, ""))

    def find_place(self, dotted: str) -> Body | None:
        """The class or function of exactly this name."""
        file = self._split(dotted)[0]
        return file.places.get(dotted) if file is not None else None

    def _split(self, dotted: str) -> tuple[File | None, tuple[str, ...]]:
        """The file of the longest module in a dotted name, and the rest."""
        parts = tuple(dotted.split("."))
        for end in range(len(parts), 0, -1):
            if self.modules.path_of(".".join(parts[:end])) is not None:
                return self.read(".".join(parts[:end])), parts[end:]
        return None, parts

    def resolve(self, dotted: str, depth: int = 0) -> Iterator[str]:
        """Where a dotted name is defined, re-exports followed; outside names stay what they are."""
        file, rest = self._split(dotted)
        if file is None or not rest or depth > _DEEPEST or dotted in file.places:
            yield dotted
            return
        first, home = rest[0], file.module.name
        if f"{home}.{first}" in file.places:
            yield dotted
            return
        targets = list(file.imports.get(first, ()))
        if not targets:
            targets = [found for value in file.values.get(first, ()) for found in _alias(value, home)]
        if not targets and self.modules.knows(f"{home}.{first}"):
            yield dotted
            return
        if not targets:
            targets = [f"{star}.{first}" for star in file.stars if self._offers(star, first, depth)]
        if not targets:
            yield dotted
        for target in targets:
            whole = ".".join((target, *rest[1:]))
            if whole != dotted:
                yield from self.resolve(whole, depth + 1)

    def _offers(self, module: str, name: str, depth: int) -> bool:
        file = self.read(module)
        if file is None or depth > _DEEPEST:
            return False
        return f"{module}.{name}" in file.places or name in file.imports or bool(file.stars)

    def resolve_expression(self, node: ast.expr, place: Body, file: File) -> Iterator[str]:
        """Dotted names that an expression of names and attributes stands for; nothing for locals and other values."""
        root, parts = dotted_of(node)
        if not isinstance(root, ast.Name):
            return
        for around in place.around():
            if isinstance(around.node, ast.ClassDef) and around is not place:
                continue
            if (taken := around.find_taken(file.module).get(root.id)) is not None:
                yield from self.resolve(".".join((taken, *parts)))
                return
            if f"{around.name}.{root.id}" in file.places:
                yield from self.resolve(".".join((around.name, root.id, *parts)))
                return
            if root.id in around.binds and root.id not in file.imports:
                return
        yield from self.resolve(".".join((file.module.name, root.id, *parts)))

    def bases(self, dotted: str) -> tuple[str, ...]:
        """What a class inherits from, dotted."""
        if dotted not in self._bases:
            self._bases[dotted] = ()
            file, place = self._split(dotted)[0], self.find_place(dotted)
            if file is not None and place is not None and isinstance(place.node, ast.ClassDef):
                outer = place.outer or place
                found = (
                    next(self.resolve_expression(_unsubscript(base), outer, file), "?") for base in place.node.bases
                )
                self._bases[dotted] = tuple(found)
        return self._bases[dotted]

    def order(self, dotted: str) -> tuple[str, ...]:
        """The class and its ancestors in the order in which methods are looked up."""
        if dotted not in self._orders:
            self._orders[dotted] = (dotted,)  # a class that inherits itself, by mistake, ends here
            above = [list(self.order(base)) for base in self.bases(dotted)]
            self._orders[dotted] = (dotted, *_merge([*above, list(self.bases(dotted))]))
        return self._orders[dotted]

    def defines(self, dotted: str, method: str) -> bool:
        return self.find_place(f"{dotted}.{method}") is not None

    def look_up(self, order: tuple[str, ...], method: str) -> str | None:
        """Which class of an order defines a method first."""
        return next((name for name in order if self.defines(name, method)), None)

    def below(self, dotted: str) -> tuple[str, ...]:
        """A class and every class of the downstream that inherits from it."""
        if dotted not in self._below:
            found = {dotted: None}
            waiting = [dotted]
            while waiting:
                current = waiting.pop()
                for path, name in self._ours.find_classes(current.rpartition(".")[2]):
                    file = self.read_path(path)
                    for place in file.places.values() if file is not None else ():
                        if (
                            place.name.endswith(f".{name}")
                            and place.name not in found
                            and current in self.bases(place.name)
                        ):
                            found[place.name] = None
                            waiting.append(place.name)
            self._below[dotted] = tuple(sorted(found))
        return self._below[dotted]


def _alias(value: ast.expr, home: str) -> Iterator[str]:
    """`g = f`, `g = m.f`: another name for it."""
    root, parts = dotted_of(value)
    if isinstance(root, ast.Name):
        yield ".".join((home, root.id, *parts))


def _unsubscript(node: ast.expr) -> ast.expr:
    """`Base[T]` → `Base`."""
    return node.value if isinstance(node, ast.Subscript) else node


def _merge(lists: list[list[str]]) -> Iterator[str]:
    """The C3 order; where there is none, the first list goes first."""
    while lists := [items for items in lists if items]:
        tails = {name for items in lists for name in items[1:]}
        head = next((items[0] for items in lists if items[0] not in tails), lists[0][0])
        yield head
        lists = [[name for name in items if name != head] for items in lists]
