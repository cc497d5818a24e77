"""The comparison of one target, as far as it is this upstream's: what is ours, another backend's or inherited."""

from __future__ import annotations

from dataclasses import replace

from layline.change.compare import Comparison
from layline.core.drift import DriftKind
from layline.core.finding import Suggestion
from layline.core.patch import Effect, Holder
from layline.core.why import Reason, Why
from layline.coupling.drift_model import LOST, Sides
from layline.coupling.exchanged import find_exchanged
from layline.source import SymbolKind
from layline.source.definitions import DefinitionKind
from layline.source.names import longest_root, parents


def compare_target(target: str, effect: Effect, sides: Sides) -> Comparison:
    """What became of it; a name that history removed before the pin is dead."""
    found = _compare(target, sides)
    if effect.holder is Holder.STAND_IN:
        return _outside(found, Reason.STAND_IN)
    if found.kind is DriftKind.EXTERNAL and effect.removal is not None and effect.target == target:
        why = Why(Reason.REMOVED_BEFORE, effect.removal.what)
        return replace(found, kind=DriftKind.DEAD_AT_PIN, why=(why,))
    if effect.holder is Holder.OBJECT and any(why.reason is Reason.OTHER_KIND for why in found.why):
        return replace(found, kind=DriftKind.UNRESOLVED, why=(*found.why, Why(Reason.RESULT_UNKNOWN)))
    if effect.holder is Holder.OBJECT and found.kind in LOST:
        return _find_on_object(found, sides)
    return _exchange(found, sides) if found.kind is DriftKind.BINDING_LOST else found


def _find_on_object(found: Comparison, sides: Sides) -> Comparison:
    """A write to an object names no class: wherever the class stands by now, its objects take the write."""
    owner, _, member = found.name.rpartition(".")
    home = sides.comparer.compare(owner).new_home
    there = sides.tip.resolve(f"{home}.{member}")
    if home is None or sides.tip.resolve(owner).exists or there.kind is SymbolKind.ABSENT:
        return found
    known = tuple(replace(one, target=there.name) for one in found.suggestions[:1] if there.exists)
    kept = tuple(one for one in found.why if one.reason is Reason.SIGNATURE)
    why = (Why(Reason.CLASS_IS_NOW, home), *kept)
    return replace(found, kind=DriftKind.MOVED, suggestions=known, why=why)


def _exchange(found: Comparison, sides: Sides) -> Comparison:
    """A lost binding that we write to: what the code of its module uses instead is what has to be written now."""
    instead = find_exchanged(found.name, sides.comparer)
    if instead is None or instead.target == found.new_home:
        return found
    module = next((one for one in parents(found.name) if one in sides.pin.index.entries), "")
    new, old = (one[len(module) + 1 :].partition(".")[0] for one in (instead.target, found.name))
    why = tuple(one for one in found.why if one.reason is not Reason.STILL_THERE)
    return replace(found, suggestions=(instead, *found.suggestions), why=(*why, Why(Reason.STANDS_INSTEAD, new, old)))


def _compare(target: str, sides: Sides) -> Comparison:
    """The comparison; a member that the class only inherits from outside stands and falls with its class."""
    found = sides.comparer.compare(target)
    before = found.before
    packages = sides.pin.index.parts[sides.part].packages
    if longest_root(target, sides.foreign) > longest_root(target, packages):
        return _outside(found, Reason.OTHER_BACKEND)
    if target.partition(".")[0] in sides.own and not longest_root(target, packages) and not before.exists:
        return _outside(found, Reason.OWN_CODE)
    if found.kind is DriftKind.DEAD_AT_PIN:
        owner = sides.comparer.compare(target.rpartition(".")[0])
        if _is_class(owner) and owner.kind not in LOST and sides.reader.sets(owner, target.rpartition(".")[2]):
            return replace(found, kind=DriftKind.UNCHANGED, why=(Why(Reason.SET_BY_METHODS),))
        found = _follow_function(found, sides)
    if found.kind is DriftKind.UNRESOLVED and "." in target:
        holder = sides.comparer.compare(target.rpartition(".")[0])
        if holder.kind is DriftKind.UNCHANGED and holder.before.kind is SymbolKind.MODULE_ASSIGNMENT:
            return replace(found, kind=DriftKind.UNCHANGED, why=(Why(Reason.MEMBER_OF_VALUE, holder.name),))
    home = sides.pin.index.entries.get(before.bound_in or before.module or "")
    if found.kind is DriftKind.EXTERNAL and sides.pin.index.owns(target):
        owner = sides.comparer.compare(target.rpartition(".")[0])
        if owner.kind not in LOST and _is_class(owner):
            is_set = sides.reader.sets(owner, target.rpartition(".")[2])
            why = Why(Reason.SET_BY_METHODS if is_set else Reason.FROM_OUTSIDE)
            return replace(found, kind=DriftKind.UNCHANGED, why=(why,))
        if owner.kind not in LOST:
            return _outside(found, Reason.NOT_OF_THIS_UPSTREAM)
        return replace(found, kind=owner.kind, suggestions=_move(owner, target), why=owner.why, commits=owner.commits)
    if home is not None and home.part != sides.part:
        return _outside(found, Reason.OTHER_BACKEND)
    return found


def _is_class(found: Comparison) -> bool:
    definition = found.before.definition
    return definition is not None and definition.kind is DefinitionKind.CLASS


def _outside(found: Comparison, reason: Reason) -> Comparison:
    return replace(found, kind=DriftKind.EXTERNAL, why=(Why(reason),))


def _follow_function(found: Comparison, sides: Sides) -> Comparison:
    """An attribute of a function object (`serve.is_distributed = True`) is set by nobody's definition: it goes with its
    function.
    """
    holder = found.name.rpartition(".")[0]
    symbol = sides.pin.resolve(holder)
    if symbol.definition is None or symbol.definition.kind is not DefinitionKind.FUNCTION:
        return found
    owner = sides.comparer.compare(holder)
    attribute = Why(Reason.OF_A_FUNCTION)
    if owner.kind not in LOST or owner.after.exists:
        return replace(found, kind=DriftKind.UNCHANGED, why=(attribute, Why(Reason.FUNCTION_STAYS)))
    return replace(owner, suggestions=_move(owner, found.name), why=(attribute, *owner.why))


def _move(owner: Comparison, target: str) -> tuple[Suggestion, ...]:
    """Where the owner went, the member with it."""
    name = target.rpartition(".")[2]
    return tuple(replace(item, target=f"{item.target}.{name}") for item in owner.suggestions)
