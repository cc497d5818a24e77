"""What a place of ours is told of the name it touches, by what became of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.drift import DriftKind, Fate
from layline.coupling.model import State

if TYPE_CHECKING:
    from layline.change.compare import Comparison

_STATES = {
    DriftKind.UNCHANGED: State.OK,
    DriftKind.BODY_CHANGED: State.BODY,
    DriftKind.SIGNATURE_CHANGED: State.SIGNATURE,
    DriftKind.MOVED: State.MOVED,
    DriftKind.RENAMED: State.RENAMED,
    DriftKind.REMOVED: State.REMOVED,
    DriftKind.BINDING_LOST: State.MOVED,
}


def find_state(kind: DriftKind) -> State:
    return _STATES.get(kind, State.SIGNATURE if kind.facts.fate is Fate.STAYS else State.REMOVED)


def find_gone_state(found: Comparison) -> State:
    """`renamed` where the last word changed, whatever else did; a module that stopped importing a name moved
    nothing.
    """
    if found.kind is DriftKind.BINDING_LOST and found.new_home == found.before.home:
        return State.UNBOUND
    new = found.new_home
    if new is not None and new.rpartition(".")[2] != found.name.rpartition(".")[2]:
        return State.RENAMED
    return find_state(found.kind)
