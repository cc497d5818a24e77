"""Imports in a `try` block: what its handler is about, and what holds after each."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.line_tests import find_imported
from layline.interpreter.modules import resolve_relative

if TYPE_CHECKING:
    from layline.interpreter.modules import Module


def find_imports(body: list[ast.stmt], module: Module) -> list[str]:
    """Modules imported directly in a `try` block by a statement."""
    found: list[str] = []
    for statement in body:
        match statement:
            case ast.Import(names=names):
                found += [alias.name for alias in names]
            case ast.ImportFrom(module=name, level=level, names=names):
                base = resolve_relative(module, name, level)
                found += [f"{base}.{alias.name}" if alias.name != "*" else base for alias in names]
    return list(dict.fromkeys(found))


def find_called(body: list[ast.stmt]) -> list[str]:
    """Modules imported directly in a `try` block by a call: `import_module("…")`."""
    calls = (statement for statement in body if isinstance(statement, ast.Assign | ast.Expr))
    return list(dict.fromkeys(name for statement in calls for name in find_imported(statement)))


def split_after_call(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[str], list[ast.stmt]] | None:
    """What runs up to the first `import_module("…")`, what that imports, and what runs only if it can; None where
    there is no such call, or nothing comes after it.
    """
    for at, statement in enumerate(body[:-1], start=1):
        if names := find_called([statement]):
            return body[:at], names, body[at:]
    return None
