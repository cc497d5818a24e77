"""The text of upstream that a source rewrite searches in."""

from __future__ import annotations

from layline.source import Resolver, Symbol


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
