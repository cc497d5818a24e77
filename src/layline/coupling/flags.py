"""Places of ours that read a command-line flag of upstream's: what the flags of the tip say of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline import codec
from layline.change.options.flags import Flag, compare_flags
from layline.change.options.read import read_options
from layline.change.surface import SurfaceChange, SurfaceRow
from layline.core.why import Reason, Why
from layline.coupling.model import FLAG, Consequence, Coupling, State, breaks_first, is_flag
from layline.workspace.kept import Results, result_key

if TYPE_CHECKING:
    from layline.change.compare import Comparer
    from layline.source.resolve import Resolver

_BREAKING = {Consequence.WILL_BREAK, Consequence.MAY_BREAK}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagChanges:
    """Command-line flags of two commits of an upstream."""

    rows: tuple[SurfaceRow, ...]
    """Those that differ."""
    known: tuple[str, ...]
    """All of the first commit, by what they set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagsAt:
    """Command-line flags of one commit of an upstream."""

    flags: tuple[Flag, ...]


def compare_flags_of(comparer: Comparer, packages: tuple[str, ...]) -> FlagChanges:
    before, after = (_read_flags(side, packages) for side in (comparer.pin, comparer.tip))
    return FlagChanges(rows=compare_flags(before, after), known=tuple(before))


def _read_flags(side: Resolver, packages: tuple[str, ...]) -> dict[str, Flag]:
    """By what they set; kept, for the pin is asked about with one tip after the other."""
    parts = [[part.tree.commit, part.packages, part.source_roots] for part in side.index.parts]
    key, results = result_key("flags at", packages, parts), Results("flags")
    found = results.load(key, lambda plain: codec.decode(FlagsAt, plain, where="cache"))
    if found is None:
        found = FlagsAt(flags=tuple(read_options(side, packages).flags.values()))
        results.store(key, codec.encode(found))
    return {one.dest: one for one in found.flags}


def settle_flags(
    couplings: Iterable[Coupling], flags: Mapping[str, SurfaceRow], known: frozenset[str], ours: Collection[str] = ()
) -> tuple[Coupling, ...]:
    """With a verdict on places that read a flag: `flags` differ, by destination; what reads no known flag is left out.
    What our own configuration sets (`ours`) is there without upstream's flag.
    """
    found: list[Coupling] = []
    asked: dict[tuple[object, ...], list[Coupling]] = {}
    for one in couplings:
        if not is_flag(one.target):
            found.append(one)
            continue
        name = one.target.removeprefix(FLAG)
        if name in flags or name in known:
            judged = _judge(one, flags.get(name))
            if name in ours and judged.state is State.REMOVED and judged.consequence in _BREAKING:
                why = (*judged.why, Why(Reason.KEY_STILL_SET, name))
                judged = replace(judged, consequence=Consequence.LOOK, why=why)
            key = (one.location.path, one.touch, one.target, judged.state, judged.consequence, judged.why, one.guarded)
            asked.setdefault(key, []).append(judged)
    return tuple(sorted((*found, *map(_merge, asked.values())), key=breaks_first))


def _judge(one: Coupling, row: SurfaceRow | None) -> Coupling:
    state, consequence, why = State.OK, Consequence.OK, tuple[Why, ...]()
    if row is not None and row.change in {SurfaceChange.REMOVED, SurfaceChange.RENAMED}:
        is_sure = one.certain and not one.guarded
        consequence = Consequence.WILL_BREAK if is_sure else Consequence.MAY_BREAK
        state = State.REMOVED if row.now is None else State.RENAMED
        name = one.target.removeprefix(FLAG)
        why = (Why(Reason.NO_FLAG, name) if row.now is None else Why(Reason.FLAG_NOW, row.now),)
    elif row is not None and row.change is SurfaceChange.DEFAULT:
        state, consequence = State.SIGNATURE, Consequence.LOOK
        why = (Why(Reason.DEFAULT, str(row.was), str(row.now)),)
    if one.why and consequence in _BREAKING:  # it does not run at the tip's version
        over = any(reason.reason is Reason.NOT_RUN_AT_ALL for reason in one.why)
        consequence, why = Consequence.OK if over else Consequence.LOOK, one.why
    pin, tip = (row.pin_evidence, row.tip_evidence) if row is not None else (None, None)
    return replace(one, state=state, consequence=consequence, why=why, pin_evidence=pin, tip_evidence=tip)


def _merge(items: list[Coupling]) -> Coupling:
    """Reads of one file that come to the same, as one."""
    first = min(items, key=lambda one: one.location.line)
    return replace(first, lines=tuple(dict.fromkeys(_other_lines(items, first.location.line))))


def _other_lines(items: Iterable[Coupling], line: int) -> Iterator[int]:
    yield from sorted(number for one in items for number in (one.location.line, *one.lines) if number != line)
