"""Modules as values, as long as they are asked for: of a large tree they take six times their text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from layline.source.definitions import Module
from layline.source.parsing import decode_module

_MOST = 8_000_000
"""Characters of text whose modules are held; those asked for longest ago are let go first."""


class Decoded:
    """The modules that were asked for last, by blob; indexes of the same files may share them."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._held: OrderedDict[str, tuple[Module | str, int]] = OrderedDict()
        self._size = 0

    def find(self, blob: str, texts: Mapping[str, str], *, hold: bool = True) -> Module | str:
        """The module of a blob, or why there is none; who goes through all of them holds none."""
        held = self._held.get(blob)
        if held is not None:
            self._held.move_to_end(blob)
            return held[0]
        text = texts[blob]
        found = decode_module(text)
        if hold:
            self._held[blob] = found, len(text)
            self._size += len(text)
        while self._size > self._most and len(self._held) > 1:
            _, (_, size) = self._held.popitem(last=False)
            self._size -= size
        return found
