"""The text of upstream that a source rewrite searches in."""

from __future__ import annotations

from layline.core.finding import Suggestion
from layline.source import Symbol
from layline.source.resolve import Resolver


def read_source(side: Resolver, symbol: Symbol) -> str:
    """The source text of a symbol as `inspect.getsource` gives it: the definition, or the whole module."""
    if symbol.module is None:
        return ""
    text = side.index.read_text(symbol.module)
    if symbol.definition is None:
        return text
    first, last = symbol.definition.lines
    return "\n".join(text.splitlines()[first - 1 : last]) + "\n"


def quote(text: str) -> str:
    """The first line that says something, short enough for a sentence."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"“{line if len(line) <= 80 else line[:79] + '…'}”"


def find_in_bases(side: Resolver, symbol: Symbol, anchors: tuple[str, ...]) -> Suggestion | None:
    """The method of a base class that holds the text which a method of ours searched for."""
    definition = symbol.definition
    owner = side.resolve(f"{symbol.module}.{definition.owner}") if definition is not None and definition.owner else None
    if owner is None or owner.definition is None or owner.module is None or definition is None:
        return None
    for base in owner.definition.bases:
        home = side.resolve_in(owner.module, base.partition("[")[0]).home
        there = side.resolve(f"{home}.{definition.name}") if home is not None else None
        if (
            there is not None
            and there.home is not None
            and all(anchor in read_source(side, there) for anchor in anchors)
        ):
            return Suggestion(there.home, 0.9, "its base class has the text there now")
    return None
