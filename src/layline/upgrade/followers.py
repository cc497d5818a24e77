"""What upstream's own importers did when a name went: where they all turned to one new name, that is what it became."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from layline.change.signatures import takes_same
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
    exchanges = list(_find_exchanges(last, importers, is_old, find_home))
    followers = [one for one in exchanges if one.gained]
    witnesses = [one for one in followers if one.alone]
    if 2 * len(followers) <= len(exchanges):
        return None
    common = set.intersection(*(set(one.gained) for one in followers))
    if not witnesses or len(common) != 1:
        return _find_kin(followers)
    home = common.pop()
    spelled = [one.gained[home] for one in witnesses]
    new = max(sorted(set(spelled)), key=spelled.count)
    if len(witnesses) < _MANY and not are_alike(last, new.rpartition(".")[2]):
        return None
    return Followed(new, len(witnesses))


def _find_kin(followers: Sequence[_Exchange]) -> Followed | None:
    """Where several names went and came, the one that is called like the old one, if every file took that one up."""
    homes = {one.kin for one in followers}
    home = next(iter(homes)) if len(homes) == 1 else None
    if home is None:
        return None
    spelled = [one.gained[home] for one in followers]
    return Followed(max(sorted(set(spelled)), key=spelled.count), len(followers))


def can_follow(old: Definition, new: Definition) -> bool:
    """Whether one thing may have become the other: both classes, or functions that take the same and perhaps more."""
    if old.kind is not new.kind or old.owner or new.owner:
        return False
    return takes_same(old, new) if old.kind is DefinitionKind.FUNCTION else old.kind is DefinitionKind.CLASS


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What one file that let go of the old name imports anew: home → name."""

    gained: dict[str, str]
    alone: bool
    """It let go of nothing else, and took up one name."""
    kin: str | None = None
    """The one home whose name is like the old one and like no other that it let go of."""


def _find_exchanges(
    last: str,
    importers: Iterable[Importer],
    is_old: Callable[[str], bool],
    find_home: Callable[[str], str | None],
) -> Iterator[_Exchange]:
    for one in importers:
        before, after = _read_names(one, one.before), _read_names(one, one.after)
        if any(is_old(name) for name in before) and not any(is_old(name) for name in after):
            gained = {home: name for name in sorted(after - before) if (home := find_home(name)) is not None}
            others = [name for name in before - after if not is_old(name)]
            alone = len(gained) == 1 and not others
            yield _Exchange(gained, alone=alone, kin=_choose_kin(last, gained, others))


def _choose_kin(last: str, gained: Mapping[str, str], others: Iterable[str]) -> str | None:
    like = [home for home, name in gained.items() if are_alike(last, _last(name))]
    if len(like) != 1 or any(are_alike(_last(other), _last(gained[like[0]])) for other in others):
        return None
    return like[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _read_names(one: Importer, module: Module) -> set[str]:
    found = set()
    for item in module.imports:
        holder = absolute_name(one.module, package=one.package, level=item.level, name=item.module)
        if holder and item.name not in {None, "*"}:
            found.add(f"{holder}.{item.name}")
    return found


def are_alike(old: str, new: str) -> bool:
    """The same word, or one that holds the other, or all words of the other in their order."""
    one, two = old.lower(), new.lower()
    return one in two or two in one or _holds(old, new) or _holds(new, old)


def _holds(long: str, short: str) -> bool:
    words = iter(_split(long))
    return all(word in words for word in _split(short))


def _split(name: str) -> list[str]:
    """`MXLinearConverter` and `mx_linear_converter` → mx, linear, converter."""
    found, word = list[str](), ""
    for at, letter in enumerate(name):
        after = name[at + 1 : at + 2]
        begins = letter.isupper() and (word[-1:].islower() or word[-1:].isdigit() or (word and after.islower()))
        if (begins or letter == "_") and word:
            found.append(word.lower())
            word = ""
        word += letter if letter != "_" else ""
    return [*found, word.lower()] if word else found
