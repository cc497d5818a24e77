"""Code that is a text: `exec("m.f = ours")` does what its statements do, where the call stands."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.modules import Scope
from layline.source.parsing import PARSING
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.interpreter.state import Machine

_LONGEST = 20_000


def run_text(machine: Machine, text: str, at: ast.AST) -> bool:
    """Whether the text could be read; the names it uses are those of the module."""
    try:
        with PARSING:
            body = ast.parse(text).body if len(text) <= _LONGEST else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in (inner for statement in body for inner in walk(statement)):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno, node.end_lineno = getattr(at, "lineno", 1), getattr(at, "end_lineno", 1)
    top = machine.frame.module.scope
    machine.run_block(body, top if machine.frame.function is None else Scope(top.module, top))
    return bool(body)
