"""Modules that upstream had once: an import of one fails, whereas a module that no tree shows may be compiled."""

from __future__ import annotations

from layline.source import absolute_name
from layline.source.index import Index
from layline.source.names import is_within, parents
from layline.source.resolve import Resolver
from layline.source.symbols import SymbolKind
from layline.workspace.past import Past


def stood_once(side: Resolver, name: str) -> bool:
    """Whether a name is, or is taken from, a module that was deleted before this commit and that no code of upstream
    imports: what is generated when it is built, its own code imports.
    """
    index = side.index
    holder = next((one for one in parents(name) if one in index.entries), None)
    if holder is None or not index.entries[holder].is_package:
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
    return bool(Past(tree.repository, tree.commit).find_deletions([files])) and not _is_imported(index, module)


def _is_imported(index: Index, name: str) -> bool:
    with index.seen.within(set()):
        for entry, module in index.modules():
            for item in module.imports:
                source = absolute_name(entry.name, package=entry.is_package, level=item.level, name=item.module)
                taken = f"{source}.{item.name}" if item.name else source
                if source is not None and (is_within(source, name) or taken == name):
                    return True
    return False
