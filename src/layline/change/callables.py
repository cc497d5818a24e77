"""How what is called differs between two refs: a function itself, of a class what makes its instances."""

from __future__ import annotations

from layline.change.signatures import ParameterChange, SignatureChange, compare_decorators, compare_signatures
from layline.source.decorators import keeps_object
from layline.source.definitions import DefinitionKind
from layline.source.resolve import Resolver
from layline.source.symbols import Symbol


def find_changes(then: tuple[Resolver, Symbol], now: tuple[Resolver, Symbol]) -> tuple[SignatureChange, ...]:
    """What differs between two definitions of one kind; nothing where one of them is none."""
    (pin, before), (tip, after) = then, now
    one, two = before.definition, after.definition
    if one is None or two is None:
        return ()
    if one.kind is not DefinitionKind.CLASS:
        found = compare_signatures(one, two)
        kept = _keeps_object(then, now) if found else False
        return tuple(item for item in found if not (kept and item.change is ParameterChange.DECORATORS))
    old = pin.resolve(f"{before.home}.__init__").definition
    new = tip.resolve(f"{after.home}.__init__").definition
    made = compare_signatures(old, new) if old is not None and new is not None else ()
    return (*made, *compare_decorators(one, two))


def _keeps_object(then: tuple[Resolver, Symbol], now: tuple[Resolver, Symbol]) -> bool:
    """Whether all decorators that came or went give back the function they are given."""
    return _keeps_alone(*then, now[1]) and _keeps_alone(*now, then[1])


def _keeps_alone(side: Resolver, symbol: Symbol, other: Symbol) -> bool:
    """The same of those that only this one has."""
    module = symbol.module
    own, theirs = (one.definition.decorators if one.definition is not None else () for one in (symbol, other))
    alone = [word for word in own if word not in theirs]
    return not alone or (module is not None and all(keeps_object(side, module, word) for word in alone))
