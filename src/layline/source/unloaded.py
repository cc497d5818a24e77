"""Modules that no other module of an index loads: templates that code is made from, scripts, leftovers."""

from __future__ import annotations

from layline.source.index import Index
from layline.source.names import absolute_name


def find_unloaded(index: Index) -> frozenset[str]:
    """Those that nothing imports, on whatever condition, but others of them; a package is loaded with what is in it."""
    importers: dict[str, set[str]] = {}
    with index.seen.within(set()):
        for entry, module in index.modules():
            for item in module.imports:
                named = absolute_name(entry.name, package=entry.is_package, level=item.level, name=item.module)
                for one in (named, f"{named}.{item.name}") if named is not None else ():
                    importers.setdefault(one, set()).add(entry.name)
        waiting = {entry.name for entry, _ in index.modules() if not entry.is_package}
    found: set[str] = set()
    while more := {name for name in waiting - found if not importers.get(name, set()) - found - {name}}:
        found |= more
    return frozenset(found)
