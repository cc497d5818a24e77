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


def find_catching(body: list[ast.stmt], line: int, names: frozenset[str]) -> ast.ExceptHandler | None:
    """The innermost clause of the same function that catches what a line raises, where it does not raise again."""
    found: ast.ExceptHandler | None = None
    block: list[ast.stmt] = body
    while (one := next((item for item in block if item.lineno <= line <= (item.end_lineno or 0)), None)) is not None:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = None
        if isinstance(one, ast.Try | ast.TryStar) and one.body[0].lineno <= line <= (one.body[-1].end_lineno or 0):
            # the first clause that names it takes it
            first = next((item for item in one.handlers if not names.isdisjoint(find_caught(item))), None)
            if first is not None:
                found = None if raises_again(first) else first
        blocks = (getattr(one, field, []) for field in ("body", "orelse", "finalbody"))
        cases = [*getattr(one, "handlers", []), *getattr(one, "cases", [])]
        inside = [*blocks, *(case.body for case in cases)]
        block = [item for items in inside for item in items]
    return found
