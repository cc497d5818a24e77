"""Does a write reach what runs? By-value importers, shadowed submodules, and fields of dataclasses that are made
already.
"""

from __future__ import annotations

from collections.abc import Iterator

from layline.change.compare import Comparison
from layline.core.drift import DriftKind
from layline.core.patch import Effect, Holder, Style
from layline.core.why import Reason, Why
from layline.source import DefinitionKind, Symbol, SymbolKind
from layline.source.resolve import Resolver

_REBINDS = frozenset({Style.BINDING_REPLACEMENT, Style.FUNCTION_WRAPPING})
_DEEPEST = 6


def find_risks(effect: Effect, comparison: Comparison, pin: Resolver) -> Iterator[Why]:
    """Why the write may not be seen by the code it is meant for."""
    if comparison.kind is DriftKind.EXTERNAL or effect.target is None:
        return
    shadow = comparison.before.shadowed_by
    if shadow is not None and comparison.kind is not DriftKind.DEAD_AT_PIN:
        yield Why(Reason.SHADOWED, shadow)
    if effect.style in _REBINDS and effect.holder is not Holder.OBJECT:
        yield from _find_late_fields(effect.target, comparison, pin)


def _find_late_fields(target: str, comparison: Comparison, pin: Resolver) -> Iterator[Why]:
    """A dataclass makes `__init__` of its fields once; what is set on the class later is no part of it."""
    owner, _, name = target.rpartition(".")
    made = _find_dataclass(pin, pin.resolve(owner)) if owner else None
    if made is None or name.startswith("__"):
        return
    definition = comparison.before.definition
    if comparison.before.exists and (definition is None or definition.kind is not DefinitionKind.FIELD):
        return  # methods are looked up when they are called
    if comparison.before.exists and definition is not None and definition.returns is None:
        return  # a plain class attribute, not a field
    yield Why(Reason.LATE_DEFAULT if comparison.before.exists else Reason.LATE_FIELD, made, name)


def _find_dataclass(pin: Resolver, symbol: Symbol, depth: int = 0) -> str | None:
    """The class itself or the nearest base that is a dataclass."""
    definition = symbol.definition
    if definition is None or definition.kind is not DefinitionKind.CLASS or depth > _DEEPEST:
        return None
    if definition.is_dataclass:
        return definition.name
    if symbol.module is None or "__init__" in _members(pin, symbol):
        return None
    for base in definition.bases:
        found = _find_dataclass(pin, pin.resolve_in(symbol.module, base.partition("[")[0]), depth + 1)
        if found is not None:
            return found
    return None


def _members(pin: Resolver, symbol: Symbol) -> tuple[str, ...]:
    holder = pin.index.module(symbol.module) if symbol.module is not None else None
    return holder.members(symbol.definition.qualname) if holder is not None and symbol.definition is not None else ()


def find_holders(
    effect: Effect, comparison: Comparison, tip: Resolver, targets: frozenset[str], named: frozenset[str]
) -> Iterator[str]:
    """`file:line` of upstream modules that import the object by value, keep the old one and are not rebound too. Scripts
    and templates count only where our code loads them (`named`): alone, they never meet it.
    """
    definition = comparison.after.definition
    kinds = {SymbolKind.DEFINITION, SymbolKind.MODULE_ASSIGNMENT}
    is_own = comparison.after.kind in kinds and comparison.after.home == comparison.name
    is_rebound = is_own and definition is not None and not definition.owner
    if not is_rebound or effect.style not in _REBINDS or effect.target is None or effect.mutates:
        return  # an entry put into a table is seen by everybody who holds the table
    if comparison.kind is DriftKind.EXTERNAL:
        return  # a module of our own making: nothing of upstream's is replaced
    for module, item in tip.find_importers(effect.target):
        starts = tip.loads.find_starts(module)
        if starts and not any(one in named for one in sorted(starts)):
            continue
        if f"{module}.{item.alias}" not in targets:
            yield str(tip.index.location(module, item.line))
