"""What changed between two sets of declarations: the same rank on both sides, and what kind of change it is."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from layline.gap.dependencies.bounds import Change as BoundChange
from layline.gap.dependencies.bounds import compare_specs
from layline.gap.dependencies.model import Declaration, Kind, Rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.core.revision import Commit
    from layline.gap.dependencies.model import Unread
    from layline.gap.dependencies.reading import Declarations


class Move(StrEnum):
    """A change of the place where a need is declared."""

    ADDED = "added"
    DROPPED = "dropped"
    PROMOTED = "promoted to runtime"
    TO_EXTRA = "moved to an extra"
    MOVED = "moved"
    JOINED = "also declared"
    LEFT = "no longer declared here"
    SWITCHED_OFF = "switched off"
    SWITCHED_ON = "switched on"
    FILE_ADDED = "in a new file"
    FILE_REMOVED = "file removed"


Change = Move | BoundChange
_DESCRIBING = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One row: what it was, what it is, where both are read."""

    rank: Rank
    kind: Kind
    name: str
    was: Declaration | None
    now: Declaration | None
    changes: tuple[Change, ...]
    by: Commit | None = None
    """The commit that made it what it is at the tip; only what a run needs is asked for."""
    bounds: tuple[tuple[str, Commit], ...] = ()
    """Of bounds that came one after the other (`>=3.6.0`, `<4.8.0`; `==1`, `==2`) each with its commit, the oldest
    first."""
    instead_of: str = ""
    """Of a new need, the one that the same commit took away, where each is the only one."""
    imported_at: str | None = None
    """A file of the tip that still imports what is no longer declared."""
    also: tuple[str, ...] = ()
    """Further scopes that take it from the same lines, with the same change."""

    @property
    def is_runtime(self) -> bool:
        """Of Python itself, or of a package that a run needs."""
        return self.kind is Kind.PYTHON or any(one.scope == "runtime" for one in (self.was, self.now) if one)

    @property
    def file(self) -> str:
        one = self.now or self.was
        return one.place.path if one else ""

    @property
    def inner(self) -> str:
        """The folder of the package inside the upstream that declares it; empty for what the upstream itself declares."""
        folder, _, name = self.file.rpartition("/")
        return folder if name in _DESCRIBING else ""

    @property
    def scopes(self) -> tuple[str, ...]:
        """Every scope that the row speaks of: at the tip, else at the pin."""
        one = self.now or self.was
        return (one.scope if one else "", *self.also)


def compare_declarations(pin: Declarations, tip: Declarations) -> tuple[Difference, ...]:
    """Every difference, strongest rank first, then by file and name; what one side may declare where it could not be
    read is none.
    """
    pin_files, tip_files = _files_of(pin), _files_of(tip)
    rows: list[Difference] = []
    for before, after in _grouped(pin.items, tip.items).values():
        hidden = Hidden.find(before, after, pin.unread, tip.unread)
        found = (_mark_job(row, pin.running, tip.running) for row in _compare_group(before, after, hidden))
        rows += [_mark_files(row, pin_files, tip_files) for row in found]
    return tuple(_join_scopes(sorted(rows, key=_order)))


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of one name may stand in parts that were not read."""

    at_tip: frozenset[Declaration]
    """Declarations of the pin that the tip may have in the same scope."""
    at_pin: frozenset[Declaration]
    """Declarations of the tip that the pin may have in the same scope."""
    is_anywhere: bool
    """The tip may have the name in some scope."""

    @classmethod
    def find(
        cls,
        before: Iterable[Declaration],
        after: Iterable[Declaration],
        pin: tuple[Unread, ...],
        tip: tuple[Unread, ...],
    ) -> Hidden:
        return cls(
            frozenset(item for item in before if any(one.may_hold(item) for one in tip)),
            frozenset(item for item in after if any(one.may_hold(item) for one in pin)),
            any(replace(one, scopes=()).may_hold(item) for item in before for one in tip),
        )


def _join_scopes(rows: Iterable[Difference]) -> Iterator[Difference]:
    """One row for the same lines: several extras may take a need from one table."""
    found: dict[tuple[object, ...], Difference] = {}
    for row in rows:
        places = tuple((one.place, one.scope.partition(" ")[0]) for one in (row.was, row.now) if one)
        key = row.rank, row.kind, row.name, row.was is None, places, row.changes
        one = row.now or row.was
        first = found.get(key) if row.rank is Rank.METADATA else None
        if first is None:
            found[key if row.rank is Rank.METADATA else (*key, len(found))] = row
        elif one is not None:
            found[key] = replace(first, also=(*first.also, one.scope))
    yield from found.values()


def _files_of(declarations: Declarations) -> set[str]:
    """Every file that was read, those that others include too."""
    return {path for _, path in declarations.files} | {item.place.path for item in declarations.items}


def _grouped(
    pin: Iterable[Declaration], tip: Iterable[Declaration]
) -> dict[tuple[Rank, tuple[str, ...]], tuple[list[Declaration], list[Declaration]]]:
    """Declarations that may be one another's past: the same name in the same file, at the same rank."""
    groups: dict[tuple[Rank, tuple[str, ...]], tuple[list[Declaration], list[Declaration]]] = defaultdict(
        lambda: ([], [])
    )
    for side, items in enumerate((pin, tip)):
        for item in items:
            # dynamic dependencies are metadata read from another file; their scope says whose they are
            file = _package_of(item) if item.rank is Rank.METADATA else item.scope
            groups[item.rank, (file, item.kind, item.name)][side].append(item)
    return groups


def _package_of(item: Declaration) -> str:
    """The folder whose package the metadata describes: pyproject.toml and setup.py of one folder are one package."""
    return item.place.path.rpartition("/")[0]


def _compare_group(before: list[Declaration], after: list[Declaration], hidden: Hidden) -> Iterator[Difference]:
    was_by_scope, now_by_scope = _by_scope(before), _by_scope(after)
    for scope in was_by_scope.keys() & now_by_scope.keys():
        was_by_scope[scope], now_by_scope[scope] = _as_lists(was_by_scope[scope]), _as_lists(now_by_scope[scope])
    gone = [item for scope, items in was_by_scope.items() if scope not in now_by_scope for item in items]
    new = [item for scope, items in now_by_scope.items() if scope not in was_by_scope for item in items]
    gone, new = [one for one in gone if one not in hidden.at_tip], [one for one in new if one not in hidden.at_pin]
    for scope in was_by_scope:
        if scope in now_by_scope:
            yield from _compare_scope(was_by_scope[scope], now_by_scope[scope], hidden)
    while gone and new:
        was, now = gone.pop(0), new.pop(0)
        yield _row(was, now, (_move(was, now), *compare_specs(was, now)))
    stays = bool(after) and bool(before)
    for was in gone:
        yield _row(was, None, (_vanished(stays=stays or hidden.is_anywhere),))
    for now in new:
        yield _row(None, now, (_appeared(stays=stays),))


def _as_lists(items: list[Declaration]) -> list[Declaration]:
    """Several values of one setting are one list: pairing them by order would invent a change from one to another."""
    if items[0].kind in {Kind.REQUIREMENT, Kind.SOURCE} or len(items) == 1:
        return items
    values = ", ".join(sorted({item.spec for item in items}, key=_natural))
    return [replace(items[0], spec=values)]


def _natural(text: str) -> list[tuple[int, str]]:
    """3.9 before 3.10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


def _compare_scope(before: list[Declaration], after: list[Declaration], hidden: Hidden) -> Iterator[Difference]:
    """One scope of one name: exact repeats cancel, the rest pairs up in order."""
    same = {_content(item) for item in before} & {_content(item) for item in after}
    was_left = [item for item in before if _content(item) not in same]
    now_left = [item for item in after if _content(item) not in same]
    for was, now in zip(was_left, now_left, strict=False):
        yield _row(was, now, compare_specs(was, now))
    for was in was_left[len(now_left) :]:
        if was not in hidden.at_tip:
            yield _row(was, None, (_vanished(stays=bool(after)),))
    for now in now_left[len(was_left) :]:
        if now not in hidden.at_pin:
            yield _row(None, now, (_appeared(stays=bool(before)),))


def _move(was: Declaration, now: Declaration) -> Move:
    if now.scope == "runtime":
        return Move.PROMOTED
    if was.scope == "runtime" and now.scope.startswith("extra "):
        return Move.TO_EXTRA
    return Move.MOVED


def _vanished(*, stays: bool) -> Move:
    return Move.LEFT if stays else Move.DROPPED


def _appeared(*, stays: bool) -> Move:
    return Move.JOINED if stays else Move.ADDED


def _mark_job(row: Difference, pin: frozenset[tuple[str, str]], tip: frozenset[tuple[str, str]]) -> Difference:
    """A job was switched only where the other side runs it; else it came, or went, as it is."""
    if row.kind is Kind.JOB and row.was is None and (row.file, row.name) in pin:
        return replace(row, changes=(Move.SWITCHED_OFF,))
    if row.kind is Kind.JOB and row.now is None and (row.file, row.name) in tip:
        return replace(row, changes=(Move.SWITCHED_ON,))
    return row


def _mark_files(row: Difference, pin_files: set[str], tip_files: set[str]) -> Difference:
    """Whether a row is there only because its whole file came or went."""
    extra: tuple[Change, ...] = ()
    if row.rank is Rank.METADATA:
        return row
    if row.was is None and row.now is not None and row.now.scope not in pin_files:
        extra = (Move.FILE_ADDED,)
    if row.now is None and row.was is not None and row.was.scope not in tip_files:
        extra = (Move.FILE_REMOVED,)
    if not extra:
        return row
    return Difference(
        rank=row.rank, kind=row.kind, name=row.name, was=row.was, now=row.now, changes=(*row.changes, *extra)
    )


def _row(was: Declaration | None, now: Declaration | None, changes: tuple[Change, ...]) -> Difference:
    one = now or was
    if one is None:
        raise ValueError("a difference needs a side")
    return Difference(rank=one.rank, kind=one.kind, name=one.name, was=was, now=now, changes=changes)


def _content(item: Declaration) -> tuple[str, str, str]:
    return item.spec, item.extras, item.marker


def _by_scope(items: list[Declaration]) -> dict[str, list[Declaration]]:
    found: dict[str, list[Declaration]] = {}
    for item in items:
        found.setdefault(item.scope, []).append(item)
    return found


def _order(row: Difference) -> tuple[object, ...]:
    one = row.now or row.was
    scope = one.scope if one else ""
    return row.rank, row.file.count("/"), row.file, _SCOPE_ORDER.get(scope.split(" ")[0], 9), row.kind, row.name, scope


_SCOPE_ORDER = {"requires-python": 0, "runtime": 1, "extra": 2, "group": 3, "source": 4, "build": 5, "override": 6}
