"""Tables that bind a function of ours to a module of others by text: `("requests.sessions", "own.hooks.requests", "instrument")`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.patches.reading.values import Outside, Value

if TYPE_CHECKING:
    from layline.patches.reading.modules import Modules

_TRIPLE = re.compile(rb"[\"']([\w.]+)[\"']\s*,\s*[\"']([\w.]+)[\"']\s*,\s*[\"'](\w+)[\"']")
_PAIR = re.compile(rb"[\"']([\w.]+)[\"']\s*[,:]\s*[\"']([\w.]+)[:.](\w+)[\"']")
_MOST = 12


def find_hooked(modules: Modules, texts: dict[str, bytes]) -> dict[str, list[str]]:
    """Dotted function of the downstream → the modules of others it is handed once they are imported."""
    found: dict[str, dict[str, None]] = {}
    for text in texts.values():
        for pattern in (_TRIPLE, _PAIR):
            for match in pattern.finditer(text):
                target, home, name = (part.decode() for part in match.groups())
                if modules.path_of(home) is not None and not modules.knows(target):
                    found.setdefault(f"{home}.{name}", {})[target] = None
    return {name: list(targets) for name, targets in found.items()}


def hand_over(targets: list[str]) -> list[list[Value]]:
    """What such a function is called with, one call per module; without a table, it is read with nothing given."""
    return [[Outside(target)] for target in targets[:_MOST]] or [[]]
