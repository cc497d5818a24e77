"""What a module says, asked by name and told without lines: a commit that changes another name, or only moves this one,
says the same.

`SeenModule` notes what is read of a module; `describe_…` are what two commits are held against for each such read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from layline.source.definitions import Definition, Import, Module
from layline.source.seen import Asked, Seen, say_name

if TYPE_CHECKING:
    from typing import Any

Lines: TypeAlias = tuple[int, int]


class SeenImports(dict[str, tuple[Import, ...]]):
    """Imports by the name they bind; who looks for one notes it, who goes through them notes the module."""

    def __init__(self, module: str, imports: dict[str, tuple[Import, ...]], seen: Seen) -> None:
        super().__init__(imports)
        self._module = module
        self._seen = seen

    def __contains__(self, name: object) -> bool:
        self._seen.add(Asked.NAME, say_name(self._module, str(name)))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> tuple[Import, ...]:
        self._seen.add(Asked.NAME, say_name(self._module, name))
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._seen.add(Asked.NAME, say_name(self._module, name))
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self._seen.add(Asked.MODULE, self._module)
        return super().__iter__()

    def keys(self):  # type: ignore[no-untyped-def]
        self._seen.add(Asked.MODULE, self._module)
        return super().keys()

    def values(self):  # type: ignore[no-untyped-def]
        self._seen.add(Asked.MODULE, self._module)
        return super().values()

    def items(self):  # type: ignore[no-untyped-def]
        self._seen.add(Asked.MODULE, self._module)
        return super().items()


class SeenModule(Module):
    """A module whose names are noted as they are asked for. Lines and fingerprints of what it hands out are not: who
    uses one for more than evidence notes that.
    """

    def __init__(self, name: str, inner: Module, seen: Seen) -> None:
        super().__init__({})
        self._name = name
        self._inner = inner
        self._seen = seen

    @property
    def imports(self) -> tuple[Import, ...]:
        self._seen.add(Asked.IMPORTS, self._name)
        return self._inner.imports

    @property
    def definitions(self) -> tuple[Definition, ...]:
        self._seen.add(Asked.MODULE, self._name)
        return self._inner.definitions

    @property
    def exports(self) -> tuple[str, ...] | None:
        self._seen.add(Asked.EXPORTS, self._name)
        return self._inner.exports

    @property
    def has_getattr(self) -> bool:
        return self.has("__getattr__")

    def has(self, qualname: str) -> bool:
        self._seen.add(Asked.NAME, say_name(self._name, qualname))
        return self._inner.has(qualname)

    def find(self, qualname: str) -> tuple[Definition, ...]:
        self._seen.add(Asked.NAME, say_name(self._name, qualname))
        return self._inner.find(qualname)

    def best(self, qualname: str) -> Definition | None:
        self._seen.add(Asked.NAME, say_name(self._name, qualname))
        return self._inner.best(qualname)

    def names(self) -> tuple[str, ...]:
        self._seen.add(Asked.MODULE, self._name)
        return self._inner.names()

    def find_imports(self, alias: str) -> tuple[Import, ...]:
        self._seen.add(Asked.BOUND, say_name(self._name, alias))
        return self._inner.find_imports(alias)

    def members(self, owner: str) -> tuple[str, ...]:
        self._seen.add(Asked.MEMBERS, say_name(self._name, owner))
        return self._inner.members(owner)

    @property
    def rows(self) -> list[list[Any]]:
        self._seen.add(Asked.MODULE, self._name)
        return self._inner.rows

    @cached_property
    def bound_imports(self) -> dict[str, tuple[Import, ...]]:
        return SeenImports(self._name, self._inner.bound_imports, self._seen)


def describe_name(module: Module, qualname: str) -> object:
    """Every definition and import of a name in the order they stand; bodies apart."""
    found = [(item.line, 0, _describe_definition(item)) for item in module.find(qualname)]
    bound = [(item.line, 1, _describe_import(item)) for item in module.bound_imports.get(qualname, ())]
    return [told for *_, told in sorted((*found, *bound), key=lambda one: one[:2])]


def describe_members(module: Module, owner: str) -> object:
    return module.members(owner)


def describe_bound(module: Module, alias: str) -> object:
    return [_describe_import(item) for item in module.find_imports(alias)]


def describe_imports(module: Module, _name: str = "") -> object:
    return [_describe_import(item) for item in module.imports]


def describe_exports(module: Module, _name: str = "") -> object:
    return module.exports


def find_places(module: Module, qualname: str) -> list[tuple[Lines, ...]]:
    """Of each definition and import of a name the lines by which evidence may name it, in the order they stand."""
    found = [(item.line, 0, (item.lines, (item.line, item.line))) for item in module.find(qualname)]
    bound = [(item.line, 1, ((item.line, item.line),)) for item in module.bound_imports.get(qualname, ())]
    return [places for *_, places in sorted((*found, *bound), key=lambda one: one[:2])]


def describe_taken(module: Module, name: str) -> object:
    """Imports that copy a name when the module is loaded."""
    return [_describe_import(item) for item in module.imports if item.name == name and is_taken(item)]


def is_taken(item: Import) -> bool:
    """True of an import that copies a name when its module is loaded."""
    return bool(item.name) and not item.scope and not item.type_checking


def _describe_definition(item: Definition) -> object:
    return (
        item.kind,
        bool(item.group),
        item.branch,
        item.is_async,
        item.parameters,
        item.returns,
        item.decorators,
        item.bases,
        item.value,
        item.alias_of,
    )


def _describe_import(item: Import) -> object:
    told = (item.module, item.level, item.name, item.alias, bool(item.group), item.branch, item.type_checking)
    return *told, item.scope
