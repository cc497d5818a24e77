"""Paths that begin at a config object: `ctx.extra["config"].params.flag`, `get_args().flag`, `cfg.flag`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from layline.interpreter.values import Argument, Called, Copied, Element, Instance, Literal, Member, Outside, Value

CONTAINERS = frozenset(
    ["extra", "module_config", "params", "config", "cfg", "conf", "args", "settings", "options", "hparams", "opts"]
)
GIVES_CONFIG = re.compile(r"(?:^|\.)get_(?:args|config|cfg|global_args|full_args|settings|current_\w*config)$")

_CHAINED = frozenset({Argument, Called, Member, Element})
"""What a chain of names may end in: most values are nothing of the kind, and all are asked."""


@dataclass(frozen=True, slots=True)
class Roots:
    """Where config objects hang on the context that a patch engine hands over; keys count from there."""

    learned: frozenset[tuple[str, ...]] = frozenset()
    loose: bool = False
    """Also take other objects on the context for config, as writes and early returns do."""

    def key_of(self, value: Value) -> str | None:
        """The config key a value stands for; None where it is none."""
        found = find_root(value)
        if found is None or not found[1]:
            return None
        root, parts = found
        if not (isinstance(root, Argument) and root.context):
            return ".".join(parts) if self.loose else None
        return self._key_on_context(root, parts)

    def _key_on_context(self, root: Argument, parts: tuple[str, ...]) -> str | None:
        for prefix in sorted(self.learned, key=len, reverse=True):
            if parts[: len(prefix)] == prefix:
                return ".".join(parts[len(prefix) :]) or None
        if self.learned and (not self.loose or parts[0] not in CONTAINERS):
            return None
        if parts[0] == "extra":  # `ctx.extra["backend_args"].key`: whatever the engine was given
            return ".".join(parts[2:]) or None
        kept = parts
        while kept and kept[0] in CONTAINERS:
            kept = kept[1:]
        if kept and (len(kept) < len(parts) or root.name in CONTAINERS):
            return ".".join(kept)
        return None


def loosen(roots: Roots) -> Roots:
    return Roots(roots.learned, loose=True)


def read_chain(value: Value) -> tuple[str, ...] | None:
    """Attribute and item names from the context to `value`; None where it does not begin there."""
    found = find_root(value)
    return found[1] if found is not None and isinstance(found[0], Argument) and found[0].context else None


def find_root(value: Value) -> tuple[Value, tuple[str, ...]] | None:
    """The config-like object a chain of names begins at, and the names; None for any other value."""
    if value.__class__ not in _CHAINED:
        return None
    parts: list[str] = []
    while True:
        match value:
            case Argument(context=context, name=name) if context or name in CONTAINERS:
                return value, tuple(reversed(parts))
            case Called(callee=Outside(path=path)) if GIVES_CONFIG.search(path):
                return value, tuple(reversed(parts))
            case Called(callee=Outside(path="builtins.vars"), arguments=(owner,)):
                value = owner
            case Member(owner=Instance() | Argument(name="self"), name=name) if name in CONTAINERS:
                return value, tuple(reversed(parts))
            case Member(owner=owner, name=name):
                parts.append(name)
                value = owner
            case Copied(of=original):
                value = original
            case Element(owner=owner, key=Literal(value=str(name))):
                parts.append(name)
                value = owner
            case _:
                return None
