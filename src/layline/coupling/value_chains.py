"""What attributes of a value mean: members of its class, and what methods of the class set on its objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from layline.source import Definition, DefinitionKind, Symbol
from layline.source.instances import Instances
from layline.source.resolve import Resolver

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


class ValueChains:
    """Follows `job.training.steps` through the classes of upstream at one ref."""

    def __init__(self, resolver: Resolver, instances: Instances, owns: Callable[[str], bool]) -> None:
        self._resolver = resolver
        self._instances = instances
        self._owns = owns

    def find_class(self, named: str, kind: str) -> tuple[str, bool] | None:
        """The upstream class that a variable holds (annotated, constructed, or told by what a function returns), and
        whether it is surely none below.
        """
        symbol = self._resolver.resolve(named)
        if symbol.definition is None or symbol.home is None:
            return None
        if symbol.definition.kind is DefinitionKind.CLASS:
            return symbol.home, kind == "call"
        made = self._find_named(symbol, symbol.definition) if kind == "call" else None
        if made is None:
            return None
        owner = self._resolver.resolve(named.rpartition(".")[0]).home
        return made, made == owner and self._instances.is_maker(symbol)

    def follow(self, holder: str, names: list[str], *, exact: bool = False) -> Iterator[Step]:
        """As far as the classes are told."""
        for name in names:
            symbol, attribute = self._resolver.resolve(f"{holder}.{name}"), None
            definition = symbol.definition
            if not symbol.exists or symbol.home is None or not self._owns(symbol.home) or definition is None:
                attribute = self._instances.find(holder).get(name) if not symbol.exists else None
                if attribute is None or not self._owns(attribute.owner):
                    return
                yield Step(target=f"{attribute.owner}.{name}", holder=holder, instance=True, exact=exact)
                if attribute.kind is None or not self._owns(attribute.kind):
                    return
                holder, exact = attribute.kind, exact and attribute.made
                continue
            reads = bool(_READ_AS_FIELD.intersection(definition.decorators))
            is_method = definition.kind is DefinitionKind.FUNCTION and not reads
            yield Step(target=symbol.home, holder=holder, exact=exact, is_method=is_method)
            inner = self._find_named(symbol, definition) if reads or definition.kind is DefinitionKind.FIELD else None
            if inner is None:
                return
            holder, exact = inner, False

    def _find_named(self, symbol: Symbol, definition: Definition) -> str | None:
        """The class that a field, or what a function returns, is annotated with."""
        if not definition.returns or not symbol.module:
            return None
        made = self._resolver.resolve_in(symbol.module, definition.returns.strip("\"'"))
        is_class = made.definition is not None and made.definition.kind is DefinitionKind.CLASS
        return made.home if is_class and made.home and self._owns(made.home) else None
