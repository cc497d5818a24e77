"""Since when a class of upstream's does not have an attribute that its methods set."""

from __future__ import annotations

from layline.change.compare import Comparer
from layline.change.trace import Tracer
from layline.source import Symbol
from layline.source.instances import gives
from layline.source.slices import read_node, slice_definition


def find_attribute_loss(comparer: Comparer, owner: str, attribute: str) -> str | None:
    """Since when a class does not set or define an attribute."""
    history = find_history(comparer, comparer.pin.resolve(owner))
    if history is None:
        return None

    def is_gone(text: str, name: str) -> bool:
        return attribute not in (slice_definition(text, name) or "") or not gives(read_node(text, name), attribute)

    return history[0].find_since(*history[1:], is_gone)


def find_history(comparer: Comparer, symbol: Symbol) -> tuple[Tracer, str, str] | None:
    """Where the definition behind a name of the pin is followed: its history, its file, its name there."""
    tracer = comparer.tracer(symbol.module) if symbol.module is not None else None
    if tracer is None or symbol.module is None or symbol.definition is None:
        return None
    return tracer, comparer.pin.index.entries[symbol.module].path, symbol.definition.qualname
