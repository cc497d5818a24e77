"""Modules that upstream had once: an import of one fails, whereas a module that no tree shows may be compiled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from weakref import WeakKeyDictionary

from layline.errors import GitError
from layline.git import Repository
from layline.source import absolute_name
from layline.source.index import Index
from layline.source.names import find_module_files, is_within, parents
from layline.source.resolve import Resolver
from layline.source.symbols import SymbolKind
from layline.workspace.past import Past

_IMPORTED: WeakKeyDictionary[Index, frozenset[str]] = WeakKeyDictionary()
"""Index → what upstream's code imports; read once for all questions."""


def stood_once(side: Resolver, name: str) -> bool:
    """Whether a name is, or is taken from, a module that was deleted before this commit and that no code of upstream
    imports: what is generated when it is built, its own code imports.
    """
    index = side.index
    holder = next((one for one in parents(name) if one in index.entries), None)
    if holder is None:
        return _left_namespace(side, name)
    if not index.entries[holder].is_package:
        return False
    entry = index.entries[holder]
    module = f"{holder}.{name[len(holder) + 1 :].partition('.')[0]}"
    if any(side.resolve(one).kind is not SymbolKind.ABSENT for one in (module, f"{holder}.__getattr__")):
        return False
    folder, word = entry.path.rpartition("/")[0], module.rpartition(".")[2]
    tree = index.parts[entry.part].tree
    if any(path.startswith(f"{folder}/{word}.") for path in tree.entries):
        return False  # compiled now, from another language
    files = (f"{folder}/{word}.py", f"{folder}/{word}/__init__.py")
    return bool(Past(tree.repository, tree.commit).find_deletions([files])) and not is_imported(index, module)


def _left_namespace(side: Resolver, name: str) -> bool:
    """The same of a module in a folder that is no package, to which other distributions may add modules."""
    index = side.index
    space = next((one for one in parents(name) if one in index.namespaces), None)
    if space is None or side.resolve(name).kind is not SymbolKind.EXTERNAL:
        return False
    module = f"{space}.{name[len(space) + 1 :].partition('.')[0]}"
    within = [one for one in (name, *parents(name)) if is_within(one, module)]
    for part in index.parts:
        files = tuple(path for one in within for path in find_module_files(one, part.source_roots))
        # most such folders were never upstream's, which one walk for all that is imported from there tells
        folders = {path.removesuffix("/__init__.py") for path in find_module_files(module, part.source_roots)}
        tree = part.tree
        known = any(_has_deleted(tree.repository, tree.commit, folder) for folder in sorted(folders))
        if known and Past(tree.repository, tree.commit).find_deletions([files]):
            return not is_imported(index, module)
    return False


@lru_cache(maxsize=1024)
def _has_deleted(repository: Repository, commit: str, folder: str) -> bool:
    return Past(repository, commit).has_deleted(folder)


def is_unbound(side: Resolver, pin: Resolver, name: str) -> bool:
    """Whether a missing name is taken from a module that is one file, or from a package that named it once before the
    pin and does not any more: what a package never named may be compiled.
    """
    holder, _, word = name.rpartition(".")
    entry = side.index.entries.get(holder)
    if entry is None or word.startswith("_") or side.resolve(f"{holder}.__getattr__").kind is not SymbolKind.ABSENT:
        return False
    if not entry.is_package:
        return True
    folder, tree = entry.path.rpartition("/")[0], side.index.parts[entry.part].tree
    compiled = any(path.startswith(f"{folder}/{word}.") for path in tree.entries)
    return not (compiled or side.index.mentions(holder, word)) and _named_once(pin, holder, word)


def _named_once(pin: Resolver, package: str, word: str) -> bool:
    entry = pin.index.entries.get(package)
    tree = pin.index.parts[entry.part].tree if entry is not None else None
    return tree is not None and entry is not None and _find_change(tree.repository, tree.commit, entry.path, word)


@lru_cache(maxsize=1024)
def _find_change(repository: Repository, commit: str, path: str, word: str) -> bool:
    """Whether the history of a file took the word in or out."""
    try:
        return bool(repository.git("log", "-1", "--format=%H", f"-S{word}", commit, "--", path).strip())
    except GitError:  # a history without all of its objects
        return False


def is_imported(index: Index, name: str) -> bool:
    """Whether code of upstream imports a module, or something in it."""
    if index not in _IMPORTED:
        with index.seen.within(set()):
            _IMPORTED[index] = frozenset(_list_imported(index))
    return name in _IMPORTED[index]


def _list_imported(index: Index) -> Iterator[str]:
    """Every name that an import of upstream's needs, with all that it stands in."""
    for entry, module in index.modules():
        for item in module.imports:
            source = absolute_name(entry.name, package=entry.is_package, level=item.level, name=item.module)
            if source is not None:
                yield from (source, *parents(source), *([f"{source}.{item.name}"] if item.name else []))
