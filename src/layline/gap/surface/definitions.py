"""Functions, classes and methods of the upstream packages: what came, went, moved, changed; private ones too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from layline.change.surface import SurfaceChange, SurfaceRow
from layline.core.evidence import Evidence
from layline.core.ours import is_test_module
from layline.source import Index, is_within
from layline.source.definitions import ROW_FINGERPRINT, ROW_KIND, ROW_LINE, ROW_QUALNAME
from layline.source.resolve import Resolver

_FUNCTION, _CLASS = 0, 1
_PARAMETERS = 9
_SMALL = 3
"""Bodies of fewer lines than this are alike by chance: no move is read from them."""
_LAST = 4

Rows = dict[str, tuple[str, list[Any]]]
"""Dotted name → module and raw row."""


def compare_definitions(pin: Resolver, tip: Resolver, packages: tuple[str, ...]) -> tuple[SurfaceRow, ...]:
    """Every difference, by name. A move or rename is read from an identical body; what also changed its body counts as
    removed and added (the coupling judge looks closer at the names we use).
    """
    before, after = read_rows(pin.index, packages), read_rows(tip.index, packages)
    gone = {name: before[name] for name in before.keys() - after.keys()}
    new = {name: after[name] for name in after.keys() - before.keys()}
    moves = dict(_find_moves(gone, new))
    rows: list[SurfaceRow] = []
    for name in sorted(before):
        if name in after:
            rows.extend(_compare_row(pin.index, tip.index, name, before[name], after[name]))
        elif name in moves:
            rows.append(_moved_row(pin, tip, name, before[name], moves[name], after[moves[name]]))
        else:
            rows.append(
                _row(
                    SurfaceChange.REMOVED, name, _signature(before[name][1]), None, _at(pin.index, *before[name]), None
                )
            )
    arrived = set(moves.values())
    rows += [
        _row(
            SurfaceChange.ADDED,
            name,
            None,
            _signature(new[name][1]),
            None,
            _at(tip.index, *new[name]),
            kind=_kind(new[name][1]),
        )
        for name in sorted(new)
        if name not in arrived
    ]
    return (*rows, *_find_lost_exports(pin, tip, packages))


def read_rows(index: Index, packages: tuple[str, ...]) -> Rows:
    """Functions, methods and classes of the packages; tests are nobody's surface."""
    found: Rows = {}
    for entry, module in index.modules():
        if not any(is_within(entry.name, package) for package in packages) or is_test_module(entry.name):
            continue
        for row in module.rows:
            if row[ROW_KIND] in {_FUNCTION, _CLASS} and "<locals>" not in row[ROW_QUALNAME]:
                found.setdefault(f"{entry.name}.{row[ROW_QUALNAME]}", (entry.name, row))
    return found


def _compare_row(
    pin: Index, tip: Index, name: str, was: tuple[str, list[Any]], now: tuple[str, list[Any]]
) -> Iterator[SurfaceRow]:
    if was[1][_PARAMETERS:] == now[1][_PARAMETERS:] and was[1][ROW_FINGERPRINT] == now[1][ROW_FINGERPRINT]:
        return
    old, new = _signature(was[1]), _signature(now[1])
    change = SurfaceChange.SIGNATURE if old != new else SurfaceChange.BODY
    yield _row(change, name, old, new, _at(pin, *was), _at(tip, *now), kind=_kind(was[1]))


def _moved_row(
    pin: Resolver, tip: Resolver, name: str, was: tuple[str, list[Any]], target: str, now: tuple[str, list[Any]]
) -> SurfaceRow:
    kept = tip.resolve(name).exists
    same_name = name.rpartition(".")[2] == target.rpartition(".")[2]
    change = SurfaceChange.MOVED if same_name else SurfaceChange.RENAMED
    change = SurfaceChange.EXPORT_KEPT if kept else change
    return _row(change, name, name, target, _at(pin.index, *was), _at(tip.index, *now), kind=_kind(was[1]))


def _find_moves(gone: Rows, new: Rows) -> Iterator[tuple[str, str]]:
    """Definitions that vanished and appeared elsewhere with the same body, where there is exactly one such place."""
    by_print: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, (_, row) in new.items():
        by_print[row[ROW_FINGERPRINT], row[ROW_KIND]].append(name)
    vanished: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, (_, row) in gone.items():
        if row[_LAST] - row[ROW_LINE] >= _SMALL:
            vanished[row[ROW_FINGERPRINT], row[ROW_KIND]].append(name)
    for key, names in sorted(vanished.items()):
        for name in sorted(names):
            last = name.rpartition(".")[2]
            there = [other for other in by_print.get(key, ()) if other.rpartition(".")[2] == last]
            there = there or (by_print.get(key, []) if len(names) == 1 else [])
            if len(there) == 1:
                yield name, there[0]


def _find_lost_exports(pin: Resolver, tip: Resolver, packages: tuple[str, ...]) -> Iterator[SurfaceRow]:
    """Names that a package's `__init__` imported for others and that its address no longer leads to."""
    for entry, module in pin.index.modules():
        if not entry.is_package or not any(is_within(entry.name, package) for package in packages):
            continue
        if entry.name not in tip.index.entries or is_test_module(entry.name):
            continue
        for alias, items in module.bound_imports.items():
            name = f"{entry.name}.{alias}"
            if alias == "*" or alias.startswith("_") or tip.resolve(name).exists:
                continue
            home = pin.resolve(name).home
            if home is not None and any(is_within(home, package) for package in packages):
                lines = (items[0].line, items[0].line)
                yield _row(
                    SurfaceChange.EXPORT_LOST,
                    name,
                    home,
                    None,
                    pin.index.evidence(entry.name, lines),
                    None,
                    kind="re-export",
                )


def _row(
    change: SurfaceChange,
    name: str,
    was: str | None,
    now: str | None,
    pin: Evidence | None,
    tip: Evidence | None,
    *,
    kind: str = "definition",
) -> SurfaceRow:
    return SurfaceRow(change=change, kind=kind, name=name, was=was, now=now, pin_evidence=pin, tip_evidence=tip)


def _at(index: Index, module: str, row: list[Any]) -> Evidence:
    return index.evidence(module, (row[ROW_LINE], row[ROW_LINE]))


def _kind(row: list[Any]) -> str:
    return "class" if row[ROW_KIND] == _CLASS else "function"


def _signature(row: list[Any]) -> str:
    """A class by its bases, a function by its parameters; annotations do not count."""
    if row[ROW_KIND] == _CLASS:
        return f"class({', '.join(row[12])})"
    stars = {2: "*", 4: "**"}
    words = [
        f"{stars.get(kind, '')}{name}" + (f"={default}" if default is not None else "")
        for name, kind, default, _ in row[_PARAMETERS] or ()
    ]
    return f"({', '.join(words)})"
