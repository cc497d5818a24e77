"""Since when a class of upstream's does not have an attribute that its methods set."""

from __future__ import annotations

import re

from layline.change.compare import Comparer
from layline.change.trace import Tracer
from layline.source import Symbol
from layline.source.slices import slice_definition


def find_attribute_loss(comparer: Comparer, owner: str, attribute: str) -> str | None:
    """Since when a class does not set or define an attribute."""
    history, word = find_history(comparer, comparer.pin.resolve(owner)), re.escape(attribute)
    if history is None:
        return None
    pattern = re.compile(rf"(?<!\w){word}[ \t]*(?::[^=\n]*)?=(?!=)|^[ \t]*{word}[ \t]*:|def {word}\b", re.MULTILINE)
    tracer, path, qualname = history
    return tracer.find_since(
        path, qualname, lambda text, name: pattern.search(slice_definition(text, name) or "") is None
    )


def find_history(comparer: Comparer, symbol: Symbol) -> tuple[Tracer, str, str] | None:
    """Where the definition behind a name of the pin is followed: its history, its file, its name there."""
    tracer = comparer.tracer(symbol.module) if symbol.module is not None else None
    if tracer is None or symbol.module is None or symbol.definition is None:
        return None
    return tracer, comparer.pin.index.entries[symbol.module].path, symbol.definition.qualname
