"""Paths that begin at the object a patch engine hands to its handlers: `ctx.extra["config"].params.flag`."""

from __future__ import annotations

from dataclasses import dataclass

from layline.patches.reading.values import Argument, Called, Element, Literal, Member, Outside, Value

_CONTAINERS = frozenset("extra module_config params config cfg args settings options hparams opts".split())


@dataclass(frozen=True, slots=True)
class Roots:
    """Where config objects hang on the context; keys count from there."""

    learned: frozenset[tuple[str, ...]] = frozenset()

    def key_of(self, value: Value) -> str | None:
        """The config key a value stands for; None where it is none."""
        parts = read_chain(value)
        if parts is None:
            return None
        for root in sorted(self.learned, key=len, reverse=True):
            if parts[: len(root)] == root:
                return ".".join(parts[len(root) :]) or None
        if self.learned:
            return None
        kept = parts
        while kept and kept[0] in _CONTAINERS:
            kept = kept[1:]
        return ".".join(kept) if kept and len(kept) < len(parts) else None


def read_chain(value: Value) -> tuple[str, ...] | None:
    """Attribute and item names from the context to `value`; None where it does not begin there."""
    parts: list[str] = []
    while True:
        match value:
            case Argument(context=True):
                return tuple(reversed(parts))
            case Member(owner=owner, name=name):
                parts.append(name)
                value = owner
            case Element(owner=owner, key=Literal(value=str(name))):
                parts.append(name)
                value = owner
            case Called(callee=Outside(path="builtins.vars"), arguments=(owner,)):
                value = owner
            case _:
                return None
