"""Tables that bind a function of ours to a module of others by text: `("requests.sessions", "own.hooks.requests",
"instrument")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.interpreter.values import Outside, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Modules
    from layline.source.facts import Facts

_MOST = 12


def find_hooked(modules: Modules, facts: dict[str, Facts]) -> dict[str, list[str]]:
    """Dotted function of the downstream → the modules of others it is handed once they are imported."""
    found: dict[str, dict[str, None]] = {}
    for one in facts.values():
        for row in sorted(one.rows):
            for target, home, name in _read_row(row):
                if modules.path_of(home) is not None and not modules.knows(target):
                    found.setdefault(f"{home}.{name}", {})[target] = None
    return {name: list(targets) for name, targets in found.items()}


def _read_row(row: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """`target, module, function` or `target, module:function`, anywhere in a row of texts."""
    for index, target in enumerate(row[:-1]):
        home = row[index + 1]
        if index + 2 < len(row) and row[index + 2].isidentifier():
            yield target, home, row[index + 2]
        holder, _, name = home.replace(":", ".").rpartition(".")
        if holder:
            yield target, holder, name


def hand_over(targets: list[str]) -> list[list[Value]]:
    """What such a function is called with, one call per module; without a table, it is read with nothing given."""
    return [[Outside(target)] for target in targets[:_MOST]] or [[]]
