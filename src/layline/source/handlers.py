"""`except` clauses: what they catch, and whether they only say in other words what failed."""

from __future__ import annotations

import ast

from layline.source.walking import walk


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether it ends in a `raise`: what failed still fails."""
    return isinstance(handler.body[-1], ast.Raise)


def find_caught(handler: ast.ExceptHandler) -> tuple[str, ...]:
    """Last words of the exceptions it names, in a tuple, as `A or B`, or alone; without any it catches them all."""
    if handler.type is None:
        return ("BaseException",)
    nodes = list(walk(handler.type))
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    words = (getattr(node, "attr", None) or getattr(node, "id", None) for node in nodes if id(node) not in inner)
    return tuple(word for word in words if word is not None)


def catches(handler: ast.ExceptHandler, names: frozenset[str]) -> bool:
    """Whether one of these exceptions ends in it."""
    return not raises_again(handler) and not names.isdisjoint(find_caught(handler))
