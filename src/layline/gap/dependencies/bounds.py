"""What a change of version bounds means."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.gap.dependencies.model import Declaration


class Change(StrEnum):
    """A change of what is asked for, the place being the same."""

    RAISED = "floor raised"
    LOWERED = "floor lowered"
    FLOORED = "floor added"
    UNFLOORED = "floor removed"
    CAPPED = "capped"
    UNCAPPED = "cap removed"
    CAP_RAISED = "cap raised"
    CAP_LOWERED = "cap lowered"
    PINNED = "pinned"
    REPINNED = "pin moved"
    UNPINNED = "unpinned"
    EXCLUSIONS = "exclusions changed"
    SOURCE = "source changed"
    REVISION = "revision moved"
    EXTRAS = "extras changed"
    MARKER = "marker changed"
    VALUE = "changed"
    """Not version bounds, or not ones that can be compared."""


def compare_specs(was: Declaration, now: Declaration) -> tuple[Change, ...]:
    """All that differs between two declarations of one name."""
    found: list[Change] = []
    if was.spec != now.spec:
        found += _compare_spec(was.spec, now.spec)
    if was.extras != now.extras:
        found.append(Change.EXTRAS)
    if was.marker != now.marker:
        found.append(Change.MARKER)
    return tuple(found)


def _compare_spec(was: str, now: str) -> list[Change]:
    if was.startswith(("@", "git+", "url+")) or now.startswith(("@", "git+", "url+")):
        same_address = was.rpartition("@")[0] == now.rpartition("@")[0]
        return [Change.REVISION if same_address and was and now else Change.SOURCE]
    old, new = _parse(was), _parse(now)
    if old is None or new is None:
        return [Change.VALUE]
    return list(_compare_bounds(old, new)) or [Change.VALUE]


def _compare_bounds(old: SpecifierSet, new: SpecifierSet) -> Iterator[Change]:
    old_exact, new_exact = _exact(old), _exact(new)
    match old_exact, new_exact:
        case None, None:
            pass
        case None, _:
            yield Change.PINNED
            return
        case _, None:
            yield Change.UNPINNED
            return
        case _:
            yield Change.REPINNED
            return
    if len(old) and not len(new):
        yield Change.UNPINNED
        return
    yield from _compare_floors(_floor(old), _floor(new))
    yield from _compare_caps(_cap(old), _cap(new))
    if _excluded(old) != _excluded(new):
        yield Change.EXCLUSIONS


def are_apart(one: str, other: str) -> bool:
    """No version fits both; False where that cannot be said."""
    old, new = _parse(one), _parse(other)
    if old is None or new is None:
        return False
    for bounds, more in ((old, new), (new, old)):
        if (exact := _exact(bounds)) is not None:
            return not more.contains(exact, prereleases=True)
        floor, cap = _floor(bounds), _cap(more)
        if floor is None or cap is None:
            continue
        if floor > cap or (floor == cap and not more.contains(floor, prereleases=True)):
            return True
    return False


def is_met(ours: str, theirs: str) -> bool:
    """Whatever ours allow is no older than theirs ask for; False where that cannot be said."""
    mine, asked = _parse(ours), _parse(theirs)
    if mine is None or asked is None:
        return False
    floor, wanted = _floor(mine), _floor(asked)
    return floor is not None and wanted is not None and floor >= wanted


def _compare_floors(old: Version | None, new: Version | None) -> Iterator[Change]:
    if old is None and new is not None:
        yield Change.FLOORED
    elif old is not None and new is None:
        yield Change.UNFLOORED
    elif old is not None and new is not None and old != new:
        yield Change.RAISED if new > old else Change.LOWERED


def _compare_caps(old: Version | None, new: Version | None) -> Iterator[Change]:
    if old is None and new is not None:
        yield Change.CAPPED
    elif old is not None and new is None:
        yield Change.UNCAPPED
    elif old is not None and new is not None and old != new:
        yield Change.CAP_RAISED if new > old else Change.CAP_LOWERED


def _parse(spec: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(spec)
    except InvalidSpecifier:
        return None


def _exact(specs: SpecifierSet) -> str | None:
    return next((one.version for one in specs if one.operator in {"==", "==="} and not one.version.endswith("*")), None)


def _floor(specs: SpecifierSet) -> Version | None:
    return max(
        (version for one in specs if one.operator in {">=", ">", "~="} and (version := _version(one.version))),
        default=None,
    )


def _cap(specs: SpecifierSet) -> Version | None:
    caps = [version for one in specs if one.operator in {"<", "<="} and (version := _version(one.version))]
    caps += [cap for one in specs if one.operator == "~=" and (cap := _compatible_cap(one.version))]
    return min(caps, default=None)


def _compatible_cap(text: str) -> Version | None:
    """`~=1.4.2` allows what is below 1.5, `~=2.2` what is below 3 (PEP 440)."""
    version = _version(text)
    if version is None or len(version.release) < 2:
        return None
    head = list(version.release[:-1])
    head[-1] += 1
    return _version(".".join(map(str, head)))


def _excluded(specs: SpecifierSet) -> frozenset[str]:
    return frozenset(one.version for one in specs if one.operator == "!=")


def _version(text: str) -> Version | None:
    try:
        return Version(text.removesuffix(".*"))
    except InvalidVersion:
        return None
