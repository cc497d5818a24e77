"""What upstream's own importers did when a name went: where they all turned to one new name, that is what it became."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from layline.source import Definition, DefinitionKind, Module, absolute_name

_MANY = 2
"""Files that went the same way; of a single one the names must be alike, too."""


@dataclass(frozen=True, slots=True)
class Importer:
    """One file of upstream's before and after the commit that took the name away."""

    module: str
    package: bool
    before: Module
    after: Module


@dataclass(frozen=True, slots=True)
class Followed:
    """The one new name that took the place of the old one in upstream's own files."""

    new: str
    """As these files import it."""
    files: int


def find_followed(
    last: str, importers: Iterable[Importer], is_old: Callable[[str], bool], find_home: Callable[[str], str | None]
) -> Followed | None:
    """The name that every importer took up in the same commit; None where they differ, or more of them just let it go.

    `last`: the last word of the old name; `find_home`: where something new of the same kind is defined, by the name it
    is imported by; None for everything else. Only a file that changed nothing else is a witness: where two names went
    and two came, nobody can say which became which.
    """
    exchanges = list(_find_exchanges(importers, is_old, find_home))
    followers = [one for one in exchanges if one.gained]
    witnesses = [one for one in followers if one.alone]
    if not witnesses or 2 * len(followers) <= len(exchanges):
        return None
    common = set.intersection(*(set(one.gained) for one in followers))
    if len(common) != 1:
        return None
    home = common.pop()
    spelled = [one.gained[home] for one in witnesses]
    new = max(sorted(set(spelled)), key=spelled.count)
    if len(witnesses) < _MANY and not _are_alike(last, new.rpartition(".")[2]):
        return None
    return Followed(new, len(witnesses))


def can_follow(old: Definition, new: Definition) -> bool:
    """Whether one thing may have become the other: both classes, or functions that take the same and perhaps more."""
    if old.kind is not new.kind or old.owner or new.owner:
        return False
    if old.kind is DefinitionKind.FUNCTION:
        taken = [one.name for one in old.parameters or ()]
        return taken == [one.name for one in new.parameters or ()][: len(taken)]
    return old.kind is DefinitionKind.CLASS


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What one file that let go of the old name imports anew: home → name."""

    gained: dict[str, str]
    alone: bool
    """It let go of nothing else, and took up one name."""


def _find_exchanges(
    importers: Iterable[Importer], is_old: Callable[[str], bool], find_home: Callable[[str], str | None]
) -> Iterator[_Exchange]:
    for one in importers:
        before, after = _read_names(one, one.before), _read_names(one, one.after)
        if any(is_old(name) for name in before) and not any(is_old(name) for name in after):
            gained = {home: name for name in sorted(after - before) if (home := find_home(name)) is not None}
            others = [name for name in before - after if not is_old(name)]
            yield _Exchange(gained, alone=len(gained) == 1 and not others)


def _read_names(one: Importer, module: Module) -> set[str]:
    found = set()
    for item in module.imports:
        holder = absolute_name(one.module, package=one.package, level=item.level, name=item.module)
        if holder and item.name not in {None, "*"}:
            found.add(f"{holder}.{item.name}")
    return found


def _are_alike(old: str, new: str) -> bool:
    """The same word, or one that holds the other."""
    one, two = old.lower(), new.lower()
    return one in two or two in one
