"""One row per effect: what several runs of the reader say of one line is settled here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from layline.core.evidence import Location
from layline.core.patch import Effect, Holder, Moment, Style, Unregistered
from layline.interpreter.stashed import UNWRAPPED
from layline.patches.guards.show import show_condition

_UNSAID = 1_000
"""How an object is reached is told rather than not."""
_CODE = (Style.BINDING_REPLACEMENT, Style.FUNCTION_WRAPPING)
_MARK = re.compile(r"_+(?:self_+)?([a-z0-9]+)_\w+(?<!__)$")


def settle(
    items: Iterable[Unregistered], enclose: Callable[[Effect], str | None], tells: Callable[[Effect], bool]
) -> list[Unregistered]:
    """Where one run names the target of a line, the run that could not is dropped.

    `enclose` names what is around a line, `tells` whether a row without a target is listed.
    """
    ordered = sorted(items, key=_order)
    left = _find_open(ordered)
    told = {find_helper(item) for item in ordered if item.effect.target and find_helper(item) not in left}
    placed = sorted((_place(item, told, enclose) for item in ordered), key=_order)
    return list(_drop_marks(list(_drop_restores(list(_drop_copies(placed, told, left, tells))))))


def _place(item: Unregistered, told: set[str], enclose: Callable[[Effect], str | None]) -> Unregistered:
    """A helper whose callers name what it writes to is listed there by all of them, else once where it stands."""
    effect = item.effect
    if effect.called_at is None:
        return item
    if str(effect.location) not in told:
        return replace(item, effect=replace(effect, called_at=None))
    moved = list_at_call(replace(effect, called_at=None), effect.called_at)
    return replace(item, effect=moved, within=enclose(moved) or item.within)


def _find_open(items: list[Unregistered]) -> set[str]:
    """Lines of helpers that are told where they stand, too: one caller knows the class of its object, another does
    not.
    """
    named = [item for item in items if find_helper(item) and item.effect.target]
    calls = {(find_helper(item), item.effect.location) for item in named}
    objects = {find_helper(item) for item in named if item.effect.holder is Holder.OBJECT}
    objects -= {find_helper(item) for item in named if item.effect.holder is not Holder.OBJECT}
    others: set[str] = set()
    for item in (item for item in items if item.effect.target is None):
        helper, effect = find_helper(item), item.effect
        place, call = (helper, effect.location) if helper else (str(effect.location), effect.called_at)
        others |= {place} if call is not None and (place, call) not in calls else set()
    return objects & others


def list_at_call(effect: Effect, caller: Location) -> Effect:
    """An effect that its helper's caller decides, told there."""
    said = f"written by a helper at {effect.location}"
    reason = f"{effect.reason}; {said}" if effect.reason else said
    return replace(effect, location=caller, helper=effect.location, reason=reason)


def drop_handed(items: list[Unregistered], handed: frozenset[str]) -> list[Unregistered]:
    """Without helpers that are only ever handed objects of ours: no caller was read that hands over anything else."""
    others = {find_helper(item) for item in items} | {str(e.location) for item in items if (e := item.effect).called_at}
    return [
        item
        for item in items
        if item.effect.target is not None
        or item.effect.helper is not None
        or str(item.effect.location) not in handed - others
    ]


def _drop_copies(
    ordered: list[Unregistered], told: set[str], left: set[str], tells: Callable[[Effect], bool]
) -> Iterator[Unregistered]:
    named = {item.effect.location for item in ordered if item.effect.target}
    listed = [item for item in ordered if not find_helper(item) and (item.effect.target or tells(item.effect))]
    plain = {_describe(item, str(item.effect.location)) for item in listed}
    decided = {
        find_helper(item)
        for item in ordered
        if _describe(item, find_helper(item)) not in plain and find_helper(item) not in left
    }
    seen: set[tuple[object, ...]] = set()
    ways: dict[tuple[object, ...], list[Effect]] = {}
    for item in ordered:
        ways.setdefault(_find_line(item), []).append(item.effect)
    for item in ordered:
        effect, helper = item.effect, find_helper(item)
        if _describe(item, helper) in plain and helper not in told | decided:
            continue  # a helper whose callers decide nothing: told once, where it stands
        if effect.target is None and (effect.attribute or not effect.mutates):
            one = _find_line(item)
            if one in seen:
                continue  # one line that reaches one of several objects
            seen.add(one)
            item = replace(item, effect=_tell_for_all(effect, ways[one]))  # noqa: PLW2901
        is_open = effect.holder is Holder.SUBCLASSES or effect.location not in named
        if effect.target or (is_open and str(effect.location) not in told | decided):
            yield item


def _tell_for_all(effect: Effect, ways: list[Effect]) -> Effect:
    """Of several ways to one line the one in the words of its function, else the object as the line writes it."""
    if len({way.reached for way in ways}) < 2 or effect.as_written is None or effect.helper is not None:
        return effect  # what a helper writes is told where it is called, in the words of that place
    own = next(((way.reached, way.reason) for way in ways if way.as_written is None and way.reached), None)
    reached, reason = own or effect.as_written
    return replace(effect, reached=reached, reason=reason)


def _find_line(item: Unregistered) -> tuple[object, ...]:
    """What is one row, however its object is reached; one function of ours wraps wherever a run sees that it does."""
    effect = item.effect
    ours = effect.replacement if effect.replacement_at is not None else None
    whose = effect.reached if effect.holder is Holder.SUBCLASSES else None
    is_code = ours is not None and effect.style in _CODE
    return effect.location, ours, find_helper(item), effect.attribute, "" if is_code else effect.style, whose


def _describe(item: Unregistered, place: str) -> tuple[object, ...]:
    return place, item.effect.target, item.effect.mutates, item.effect.replacement


def _order(item: Unregistered) -> tuple[object, ...]:
    effect = item.effect
    return effect.location.path, effect.location.line, effect.target or "", weigh(item)


def weigh(item: Unregistered) -> tuple[int, bool, int, int]:
    """Of several ways to one line, one that tells that it is undone, then one that tells what becomes of the original,
    else the one that is told in the fewest words.
    """
    effect = item.effect
    late = effect.moment is Moment.DEFERRED and effect.target is None  # without a target, that would not be listed
    rank = 0 if effect.moment is Moment.TRANSIENT else 2 if late else 1
    blind = effect.target is None and effect.style is Style.BINDING_REPLACEMENT
    return rank, blind, len(show_condition(effect.when)), _weigh_reached(effect.reached)


def _weigh_reached(reached: str | None) -> int:
    """An object of ours that is handed over is `self` to itself alone: the name it has here says more."""
    if reached is None:
        return 2 * _UNSAID
    return len(reached) + (_UNSAID if reached.partition(".")[0].partition("[")[0] == "self" else 0)


def find_helper(item: Unregistered) -> str:
    """The line of the helper that made an effect; empty where none did."""
    return "" if item.effect.helper is None else str(item.effect.helper)


def _drop_restores(items: list[Unregistered]) -> Iterator[Unregistered]:
    """`m.f = n.f` where one replacement of ours went into both: the original put back, taken from where it was read."""
    put: dict[str, set[str]] = {}
    for item in items:
        if item.effect.target and item.effect.replacement and item.effect.replacement_at is not None:
            put.setdefault(item.effect.target, set()).add(item.effect.replacement)
    for item in items:
        target, source = item.effect.target or "", item.effect.replacement or ""
        same = target.rpartition(".")[2] == source.rpartition(".")[2]
        wraps = source == target + UNWRAPPED and target in put  # what we wrapped is unwrapped again
        back = same and put.get(target, set()) & put.get(source, set())
        if item.effect.replacement_at is not None or not (back or wraps):
            yield item


def _drop_marks(items: list[Unregistered]) -> Iterator[Unregistered]:
    """Private names that begin with one word on many packages are the downstream's own marks: `_datadog_pin`."""
    owners: dict[str, set[str]] = {}
    for item in items:
        found = _MARK.match((item.effect.target or "").rpartition(".")[2])
        if found:
            owners.setdefault(found.group(1), set()).add((item.effect.target or "").partition(".")[0])
    own = {word for word, tops in owners.items() if len(tops) >= 4}
    for item in items:
        found = _MARK.match((item.effect.target or "").rpartition(".")[2])
        if found is None or found.group(1) not in own:
            yield item
