"""What attributes of a value mean: members of its class, and what methods of the class set on its objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from layline.coupling.variables import EACH, ITEM, read_kind
from layline.source import Definition, DefinitionKind, Symbol
from layline.source.instances import Instances
from layline.source.lineage import find_below
from layline.source.resolve import Resolver
from layline.source.seen import Read

STEPS = frozenset({EACH, ITEM})
"""What stands among attributes for an item of what is there."""
_MOST = 200
"""Below a class with more under it nobody looks for what it has not itself."""
_READ_AS_FIELD = frozenset({"property", "cached_property"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One attribute of a chain."""

    target: str
    holder: str
    """The class of the value that it is read of."""
    instance: bool = False
    """Only methods of the class set it."""
    exact: bool = False
    """The value is of the class itself, of none below."""
    is_method: bool = False
    made: bool = False
    """The class makes what it holds: it is of none below."""
    taken: int = 1
    """How many words of the chain lead to what it holds: the attribute, and items of it."""
    holds: str | None = None
    """The class of what is there, where it is told."""


class ValueChains:
    """Follows `job.training.steps` through the classes of upstream at one ref."""

    def __init__(self, resolver: Resolver, instances: Instances, owns: Callable[[str], bool]) -> None:
        self._resolver = resolver
        self._instances = instances
        self._owns = owns
        self._below: dict[str, tuple[list[str], Collection[Read]]] = {}

    def find_class(self, named: str, kind: str, names: list[str]) -> tuple[str, bool, list[str]] | None:
        """The upstream class that a variable holds (annotated, constructed, or told by what a function returns),
        whether it is surely none below, and what is read of it.
        """
        symbol = self._resolver.resolve(named)
        if symbol.definition is None or symbol.home is None:
            return None
        if symbol.definition.kind is DefinitionKind.CLASS:
            return (symbol.home, kind == "call", names) if names[0] not in STEPS else None
        steps = _take_steps(names, 0)
        made = self._find_named(symbol, symbol.definition, steps) if kind == "call" else None
        if made is None:
            return None
        owner = self._resolver.resolve(named.rpartition(".")[0]).home
        return made, made == owner and self._instances.is_maker(symbol), names[len(steps) :]

    def follow(self, holder: str, names: Sequence[str], *, exact: bool = False) -> Iterator[Step]:
        """As far as the classes are told."""
        at = 0
        while at < len(names):
            name = names[at]
            if name in STEPS:
                return
            steps = _take_steps(names, at + 1)
            found = self._find_step(holder, name, steps, exact=exact)
            if found is None:
                return
            yield found
            if found.holds is None:
                return
            holder, exact, at = found.holds, found.exact and found.instance and found.made, at + found.taken

    def _find_step(self, holder: str, name: str, steps: tuple[str, ...], *, exact: bool) -> Step | None:
        symbol = self._find_member(holder, name)
        definition = symbol.definition
        if not symbol.exists or symbol.home is None or not self._owns(symbol.home) or definition is None:
            attribute = self._instances.find(holder).get(name) if not symbol.exists else None
            if attribute is None or not self._owns(attribute.owner):
                return None
            kind = attribute.kind if attribute.kind and self._owns(attribute.kind) and not steps else None
            target = f"{attribute.owner}.{name}"
            return Step(target=target, holder=holder, instance=True, exact=exact, made=attribute.made, holds=kind)
        reads = bool(_READ_AS_FIELD.intersection(definition.decorators))
        is_method = definition.kind is DefinitionKind.FUNCTION and not reads
        typed = reads or definition.kind is DefinitionKind.FIELD
        inner = self._find_named(symbol, definition, steps) if typed else None
        taken = 1 + len(steps)
        return Step(target=symbol.home, holder=holder, exact=exact, is_method=is_method, holds=inner, taken=taken)

    def _find_member(self, holder: str, name: str) -> Symbol:
        """A member of a class; a method that it has not, of the one class below it that has such a method."""
        found = self._resolver.resolve(f"{holder}.{name}")
        if found.exists or name in self._instances.find(holder):
            return found
        below = (self._resolver.resolve(f"{one}.{name}") for one in self._list_below(holder))
        homes = {one.home: one for one in below if one.exists and self._owns(one.home or "")}
        (only,) = homes.values() if len(homes) == 1 else (found,)
        is_method = only.definition is not None and only.definition.kind is DefinitionKind.FUNCTION
        return only if is_method else found

    def _list_below(self, holder: str) -> list[str]:
        return self._resolver.index.seen.remember(self._below, holder, lambda: self._read_below(holder))

    def _read_below(self, holder: str) -> list[str]:
        below = (one for one in find_below(holder, self._resolver) if self._owns(one))
        found = list(islice(dict.fromkeys(below), _MOST + 1))
        return found if len(found) <= _MOST else []

    def _find_named(self, symbol: Symbol, definition: Definition, steps: tuple[str, ...]) -> str | None:
        """The class that a field, or what a function returns, is annotated with; of its items, behind steps."""
        kind = read_kind(definition.returns, steps) if definition.returns and symbol.module else ""
        if not kind or symbol.module is None:
            return None
        made = self._resolver.resolve_in(symbol.module, kind)
        is_class = made.definition is not None and made.definition.kind is DefinitionKind.CLASS
        return made.home if is_class and made.home and self._owns(made.home) else None


def _take_steps(names: Sequence[str], at: int) -> tuple[str, ...]:
    """The items that are taken next."""
    return tuple(takewhile(STEPS.__contains__, names[at:]))
