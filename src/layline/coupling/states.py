"""What a place of ours is told of the name it touches: what became of it, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.change.homes import may_replace
from layline.core.drift import DriftKind, Fate
from layline.core.why import Reason, Why
from layline.coupling.model import Consequence, State, is_flag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from layline.change.binding import Problem
    from layline.change.compare import Comparer, Comparison
    from layline.core.evidence import Evidence
    from layline.coupling.fallbacks import Fallback
    from layline.source.resolve import Resolver
    from layline.source.symbols import Symbol

_STATES = {
    DriftKind.UNCHANGED: State.OK,
    DriftKind.BODY_CHANGED: State.BODY,
    DriftKind.SIGNATURE_CHANGED: State.SIGNATURE,
    DriftKind.MOVED: State.MOVED,
    DriftKind.RENAMED: State.RENAMED,
    DriftKind.REMOVED: State.REMOVED,
    DriftKind.BINDING_LOST: State.MOVED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is said of one place."""

    state: State
    consequence: Consequence
    why: tuple[Why, ...] = ()
    new_target: str | None = None


def sum_up(reason: Reason, problems: Iterable[Problem], name: str = "") -> Why:
    return Why(reason, name, parts=tuple(problem.why for problem in problems))


def find_state(kind: DriftKind) -> State:
    return _STATES.get(kind, State.SIGNATURE if kind.facts.fate is Fate.STAYS else State.REMOVED)


def find_gone_state(found: Comparison) -> State:
    """`renamed` where the last word changed, whatever else did; a module that stopped importing a name moved
    nothing, unless it is gone itself.
    """
    new = found.new_home
    if _is_unbound(found):
        return State.UNBOUND if find_gone_module(found) is None else State.MOVED
    if new is not None and new.rpartition(".")[2] != found.name.rpartition(".")[2]:
        return State.RENAMED
    return find_state(found.kind)


def find_gone_module(found: Comparison) -> Why | None:
    """Of a name that stays where it is defined: that the module which imported it is gone."""
    gone = (one for one in found.why if one.reason is Reason.MODULE_GONE)
    return next(gone, None) if _is_unbound(found) else None


def _is_unbound(found: Comparison) -> bool:
    """Where it is defined nothing changed."""
    lost = found.kind is DriftKind.BINDING_LOST and found.new_home is not None
    return lost and found.new_home in {found.before.home, found.before.inside}


def _tell_unbound(name: str, lines: tuple[int, ...]) -> Why:
    if not lines:
        return Why(Reason.NOT_BOUND, name)
    word = "line" if len(lines) == 1 else "lines"
    return Why(Reason.NOT_BOUND_USED, name, text=word, names=tuple(map(str, lines)))


def _tell_lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def tell_fallback(verdict: Verdict, found: Fallback) -> Verdict:
    """What a caught import does when it fails: nothing where the file has another way, else what falls back."""
    parts = [
        *([Why(Reason.FLAGS_FALL, names=found.flags)] if found.flags else []),
        *([Why(Reason.ARE_NONE, names=found.nothing)] if found.nothing else []),
        *(Why(Reason.STANDS_IN, name, text) for name, text in found.others),
        *(_tell_unbound(name, lines) for name, lines in found.unbound if lines or not found.flags),
        *([Why(Reason.TRY_ENDS, text=_tell_lines(*found.skipped))] if found.skipped else []),
        *([Why(Reason.HANDLER_LEAVES, counts=(found.handler,))] if found.leaves else []),
    ]
    if not parts:
        return replace(verdict, consequence=Consequence.OK, why=(Why(Reason.OTHER_WAY, counts=(found.line,)),))
    consequence = Consequence.WILL_BREAK if found.at_import or found.certain else Consequence.MAY_BREAK
    why = Why(Reason.CAUGHT, parts=tuple(parts), counts=(found.line,))
    return replace(verdict, consequence=consequence, why=(why,))


def find_after(comparer: Comparer, target: str, culprit: str | None) -> tuple[tuple[str, ...], str | None]:
    """Of a name that is gone: the commits that moved or removed it beside the first, and what may take its place."""
    if is_flag(target):
        return (), None
    found = comparer.compare(target)
    near = next((one.target for one in found.suggestions if may_replace(one, target)), None)
    return tuple(one for one in found.commits if one != culprit), None if found.new_home else near


def find_place(resolver: Resolver, symbol: Symbol) -> Evidence | None:
    """Where the name is bound; a module is its first line."""
    index = resolver.index
    module = symbol.bound_in or symbol.module
    if module is None or module not in index.entries or not symbol.exists:
        return None
    line = symbol.location.line if symbol.location is not None else 1
    return index.evidence(module, (line, line))


def find_evidence(comparer: Comparer, target: str, new_target: str | None) -> tuple[Evidence | None, Evidence | None]:
    """Where the name is bound at pin and tip; flags are told elsewhere."""
    if is_flag(target):
        return None, None
    before, after = comparer.pin.resolve(target), comparer.tip.resolve(new_target or target)
    return find_place(comparer.pin, before), find_place(comparer.tip, after)
