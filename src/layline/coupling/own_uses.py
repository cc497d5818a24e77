"""The uses of our own files, read through the cache: which files import upstream, and what they do with it."""

from __future__ import annotations

import ast
import json
from collections.abc import Container, Iterator
from dataclasses import replace

from layline.core.evidence import Location, Skipped
from layline.coupling.model import Touch
from layline.coupling.place import Place
from layline.coupling.uses import LOADS, FieldRead, Use, Uses, decode_uses, encode_uses
from layline.source import Cache, Definition, Import, Index, ModuleEntry, is_within
from layline.source.resolve import Resolver
from layline.source.sight import is_tested
from layline.source.walking import walk
from layline.source.workers import encode_blobs

_NO_SCRIPTS = frozenset({"setup", "conftest", "noxfile", "tasks"})


def find_roots(index: Index, packages: tuple[str, ...]) -> tuple[str, ...]:
    """What counts as upstream's: its packages, and the scripts at the top of its tree that are not ours as well."""
    ours = {entry.name for entry in index.entries.values() if entry.part == 0}
    theirs = (entry.name for entry in index.entries.values() if entry.part > 0 and "/" not in entry.path)
    return (*packages, *sorted(name for name in theirs if name not in {*ours, *_NO_SCRIPTS, *packages}))


def read_uses(
    index: Index, packages: tuple[str, ...], cache: Cache | None, paths: Container[str] | None = None
) -> tuple[dict[str, Uses], tuple[Skipped, ...]]:
    """The uses of every file of the downstream (part 0) that imports upstream, from the cache where it has them; of
    these `paths` alone where they are given.
    """
    importing = _find_importing(index, packages, paths)
    ours = {entry.blob: entry.path for entry in importing}
    texts = cache.load(ours) if cache is not None else {}
    missing = sorted(ours.keys() - texts.keys())
    streamed = list(index.parts[0].tree.repository.stream_blobs(missing)) if missing else []
    made = {found: json.dumps("the object is not in this repository") for found in streamed if isinstance(found, str)}
    made |= dict(encode_blobs((found for found in streamed if not isinstance(found, str)), encode_uses))
    if cache is not None and made:
        cache.store(made.items())
    decoded = {blob: decode_uses(text) for blob, text in sorted((texts | made).items())}
    skipped = tuple(Skipped.at(ours[blob], None, why) for blob, why in decoded.items() if isinstance(why, str))
    return {blob: uses for blob, uses in decoded.items() if isinstance(uses, Uses)}, skipped


def _find_importing(index: Index, packages: tuple[str, ...], paths: Container[str] | None) -> Iterator[ModuleEntry]:
    """Our files that import upstream, or may load it by name."""
    for entry in index.entries.values():
        wanted = is_ours(entry) and (paths is None or entry.path in paths)
        module = index.module(entry.name) if wanted else None
        if module is not None and any(names_package(item, (*packages, "importlib")) for item in module.imports):
            yield entry


def find_loaded(uses: Uses | None) -> Iterator[tuple[str, Use]]:
    """Modules that a file loads by their written names."""
    for use in uses.uses if uses is not None else ():
        if use.chain.startswith(LOADS):
            yield use.chain.removeprefix(LOADS), use


def names_package(item: Import, packages: tuple[str, ...]) -> bool:
    name = f"{item.module}.{item.name}" if item.name else item.module
    return not item.level and any(is_within(name, package) for package in packages)


def is_ours(entry: ModuleEntry) -> bool:
    return entry.part == 0 and not is_tested(entry.path)


def find_visible(imports: tuple[Import, ...], alias: str, scope: str) -> Import | None:
    """The import that binds `alias` where the code stands: the innermost scope wins."""
    found = [
        item for item in imports if item.alias == alias and (not item.scope or f"{scope}.".startswith(f"{item.scope}."))
    ]
    return max(found, key=lambda item: (len(item.scope), item.line), default=None)


def name_imported(item: Import) -> str:
    """What an import statement takes."""
    return item.module if item.name is None else f"{item.module}.{item.name}"


def call_method(target: str, location: Location, read: FieldRead, base: str, *, certain: bool, exact: bool) -> Place:
    """A method that is called on a value; only one that is made there is surely of no class below."""
    call = Place(touch=Touch.CALL, target=target, location=location, call=read.call, bound=True, certain=certain)
    return replace(call, of_value=True, base=base, guarded=read.guarded, may_be_below=not exact)


def hands_back(resolver: Resolver, name: str, place: int) -> bool:
    """Whether a function returns nothing but what it is given, what it is given at one place among it."""
    symbol = resolver.resolve(name)
    if symbol.definition is None or symbol.module is None:
        return False
    node = resolver.index.read_node(symbol.module, symbol.definition)
    taken = [one.name for one in symbol.definition.parameters or ()]
    returned = [one.value for one in walk(node) if isinstance(one, ast.Return)] if node is not None else []
    names = {one.id if isinstance(one, ast.Name) else "" for one in returned}
    return names <= set(taken) and bool(names.intersection(taken[place : place + 1]))


def is_read_of(use: Use, owner: Definition) -> bool:
    """True for `self.name`, read and not called, in a method of the class itself."""
    inside = use.scope.startswith(f"{owner.qualname}.") and use.chain.startswith("self.")
    return inside and use.call is None and not use.assigned


def find_script(index: Index, target: str) -> Touch | None:
    """The touch of a name that stands in a script at the top of upstream's tree."""
    entry = index.entries.get(target.partition(".")[0])
    return Touch.SCRIPT if entry is not None and entry.part > 0 and "/" not in entry.path else None


def find_opened(uses: Uses | None, owner: Definition) -> frozenset[str]:
    """Methods of the classes above that a class calls: by `super()`, or by the name of one of its bases."""
    inside = [use for use in (uses.uses if uses else ()) if use.scope.startswith(f"{owner.qualname}.")]
    above = {"super()", *(text.partition("[")[0] for text in owner.bases)}
    pairs = (use.chain.rpartition(".") for use in inside if use.call is not None or use.chain.startswith("super()."))
    return frozenset(name for spelled, _, name in pairs if spelled in above)


def find_called(uses: Uses | None, owner: Definition) -> frozenset[str]:
    """Methods that a class of ours calls on its own objects."""
    return frozenset(
        use.chain.removeprefix("self.")
        for use in (uses.uses if uses else ())
        if use.call is not None and use.chain.startswith("self.") and use.scope.startswith(f"{owner.qualname}.")
    )
