"""Since when a class of upstream's, or what a function of it returns, does not have an attribute."""

from __future__ import annotations

import ast

from layline.change.compare import Comparer
from layline.change.file_trace import Version
from layline.change.trace import Tracer
from layline.coupling.binding_kind import walk_own
from layline.source import Symbol
from layline.source.instances import gives
from layline.source.slices import read_node, slice_definition
from layline.source.walking import walk

_MOST_NAMES = 4


def find_attribute_loss(comparer: Comparer, owner: str, attribute: str) -> str | None:
    """Since when a class does not set or define an attribute."""
    history = find_history(comparer, comparer.pin.resolve(owner))
    if history is None:
        return None

    def is_gone(version: Version, name: str) -> bool:
        text = version.text
        named = _follow_alias(text, name)
        return attribute not in (slice_definition(text, named) or "") or not gives(read_node(text, named), attribute)

    return history[0].find_since(*history[1:], is_gone)


def _follow_alias(text: str, name: str) -> str:
    """The class that a name stands for since the class got another: `Old = New`."""
    for _ in range(_MOST_NAMES):
        match read_node(text, name):
            case ast.Assign(value=ast.Name(id=other)):
                name = other
            case _:
                break
    return name


def find_result_change(comparer: Comparer, function: str, made: str, attribute: str) -> str | None:
    """Since when a function makes objects of the class that it makes at the tip; where it did so before, since when the
    class does not have an attribute.
    """
    history, last = find_history(comparer, comparer.pin.resolve(function)), made.rpartition(".")[2]
    if history is None:
        return None

    def makes(version: Version, name: str) -> bool:
        node = read_node(version.text, name)
        returned = [one.value for one in walk_own(node) if isinstance(one, ast.Return)] if node is not None else []
        return bool(returned) and all(
            isinstance(one, ast.Call) and ast.unparse(one.func).rpartition(".")[2] == last for one in returned
        )

    tracer, path, qualname = history
    if makes(tracer.find_base(path), qualname):
        return find_attribute_loss(comparer, made, attribute)
    return tracer.find_since(path, qualname, makes)


def find_setting(comparer: Comparer, method: Symbol, word: str) -> str | None:
    """Since when a method of upstream's sets an attribute."""
    history = find_history(comparer, method)
    if history is None:
        return None

    def sets(version: Version, name: str) -> bool:
        node = read_node(version.text, name)
        named = (one for one in walk(node) if isinstance(one, ast.Attribute)) if node is not None else ()
        return any(one.attr == word and isinstance(one.ctx, ast.Store) for one in named)

    return history[0].find_since(*history[1:], sets)


def find_history(comparer: Comparer, symbol: Symbol) -> tuple[Tracer, str, str] | None:
    """Where the definition behind a name of the pin is followed: its history, its file, its name there."""
    tracer = comparer.tracer(symbol.module) if symbol.module is not None else None
    if tracer is None or symbol.module is None or symbol.definition is None:
        return None
    return tracer, comparer.pin.index.entries[symbol.module].path, symbol.definition.qualname
