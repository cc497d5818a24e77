"""Requirements of ours that allow what upstream no longer does: their floors are raised to upstream's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from layline.gap.dependencies.model import Declaration, Kind, Rank

_FLOOR = ">="


@dataclass(frozen=True, slots=True)
class Floor:
    """One requirement of ours, and the lowest version that upstream takes now."""

    ours: Declaration
    theirs: Declaration
    old: str
    new: str
    problem: str = ""
    """Why a person must look: our other bounds refuse it."""


def find_floors(
    ours: Iterable[Declaration], before: Iterable[Declaration], after: Iterable[Declaration]
) -> Iterator[Floor]:
    """Floors that upstream raised between two commits, above what ours ask for."""
    then, now = _read_needs(before), _read_needs(after)
    for item in ours:
        theirs = now.get(item.name)
        mine, bounds = _find_floor(item.spec), _parse(item.spec)
        wanted = _find_floor(theirs.spec) if theirs is not None else None
        was = _find_floor(then[item.name].spec) if item.name in then else None
        if theirs is None or wanted is None or mine is None or bounds is None or not _counts(item):
            continue
        if wanted <= mine or (was is not None and wanted <= was):
            continue
        rest = SpecifierSet(",".join(str(one) for one in bounds if one.operator != _FLOOR))
        fits = rest.contains(str(wanted), prereleases=True)
        problem = "" if fits else f"our other bounds ({rest}) refuse {wanted}"
        yield Floor(item, theirs, str(mine), str(wanted), problem)


def _counts(item: Declaration) -> bool:
    """What ours need to run: package metadata, and requirement files at the top."""
    if item.kind is not Kind.REQUIREMENT or item.marker:
        return False
    is_file = item.rank is Rank.REQUIREMENTS and "/" not in item.place.path
    return is_file or (item.rank is Rank.METADATA and item.scope == "runtime")


def _read_needs(items: Iterable[Declaration]) -> dict[str, Declaration]:
    """Upstream's needs at run time; of several for one name that with the highest floor."""
    found: dict[str, Declaration] = {}
    for item in items:
        if item.kind is not Kind.REQUIREMENT or item.rank is not Rank.METADATA or item.scope != "runtime":
            continue
        floor, known = _find_floor(item.spec), found.get(item.name)
        best = _find_floor(known.spec) if known is not None else None
        if not item.marker and floor is not None and (best is None or floor > best):
            found[item.name] = item
    return found


def _find_floor(spec: str) -> Version | None:
    bounds = _parse(spec)
    floors = [one.version for one in bounds if one.operator == _FLOOR] if bounds is not None else []
    try:
        return max(map(Version, floors)) if floors else None
    except InvalidVersion:
        return None


def _parse(spec: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(spec)
    except InvalidSpecifier:
        return None


def raise_floor(text: str, floor: Floor) -> str | None:
    """The file with the new floor on the line of the requirement; None where that line does not tell which it is."""
    lines = text.split("\n")
    at = floor.ours.place.line - 1
    head, mark, tail = lines[at].partition(_FLOOR) if 0 <= at < len(lines) else ("", "", "")
    rest = tail.lstrip()
    end = next((place for place, sign in enumerate(rest) if not (sign.isalnum() or sign in ".+!")), len(rest))
    if not mark or _FLOOR in rest or _find_floor(f">={rest[:end]}") != Version(floor.old):
        return None
    lines[at] = f"{head}{mark}{tail[: len(tail) - len(rest)]}{floor.new}{rest[end:]}"
    return "\n".join(lines)


def is_raised(floor: Floor, before: Iterable[Declaration], after: Iterable[Declaration]) -> bool:
    """Read again, the file asks for the new floor and for everything else as before."""
    path = floor.ours.place.path
    then, now = (
        Counter((one.name, one.spec, one.scope, one.marker) for one in items if one.place.path == path)
        for items in (before, after)
    )
    gone, new = list((then - now).elements()), list((now - then).elements())
    return len(gone) == len(new) == 1 and new[0][0] == floor.ours.name and _find_floor(new[0][1]) == Version(floor.new)
