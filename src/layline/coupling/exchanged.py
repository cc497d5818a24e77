"""What a module uses now in the place of a name that it no longer binds: read from its own statements at pin and tip."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.core.finding import Suggestion
from layline.core.prose import count
from layline.source.names import parents
from layline.source.parsing import parse_tree

if TYPE_CHECKING:
    from layline.change.compare import Comparer
    from layline.source.resolve import Resolver


def find_exchanged(target: str, comparer: Comparer) -> Suggestion | None:
    """The one name of the same module that stands at the tip in statements that are else as they were, and named the
    lost one; with the member of the target, where that is one.
    """
    pin, tip = comparer.pin, comparer.tip
    module = next((one for one in parents(target) if one in pin.index.entries), None)
    if module is None or module not in tip.index.entries:
        return None
    old, dot, member = target[len(module) + 1 :].partition(".")
    found = list(_find_names(pin, tip, module, old))
    new = found[0] if found and len(set(found)) == 1 else None
    home = f"{module}.{new}{dot}{member}"
    if new is None or not tip.resolve(home).exists or not _is_like(pin, tip, f"{module}.{old}", f"{module}.{new}"):
        return None
    return Suggestion(home, 1.0, f"{count(len(found), 'statement')} of the module that used {old} {_use(found)} it now")


def _use(found: list[str]) -> str:
    return "uses" if len(found) == 1 else "use"


def _is_like(pin: Resolver, tip: Resolver, old: str, new: str) -> bool:
    """Whether both are classes, or both functions."""
    before, after = pin.resolve(old).definition, tip.resolve(new).definition
    return before is not None and after is not None and before.kind is after.kind


def _find_names(pin: Resolver, tip: Resolver, module: str, old: str) -> Iterator[str]:
    if old.encode() not in pin.index.read_blob(module):
        return
    now: dict[str, list[str]] = {}
    for name, text in _find_statements(tip, module):
        now.setdefault(name, []).append(text)
    word = re.compile(rf"\b{re.escape(old)}\b")
    for name, text in _find_statements(pin, module):
        first, *rest = word.split(text)
        if rest and name in now:
            spelled = "(?P=new)".join(map(re.escape, rest))
            pattern = re.compile(rf"{re.escape(first)}(?P<new>\w+){spelled}", re.DOTALL)
            yield from {match["new"] for other in now[name] if (match := pattern.fullmatch(other)) is not None}


def _find_statements(side: Resolver, module: str) -> Iterator[tuple[str, str]]:
    """The statements in functions and classes of a file that hold no others, each with the name of what it stands in."""
    tree = parse_tree(side.index.entries[module].path, side.index.read_blob(module))
    todo: list[tuple[str, ast.AST]] = [("", one) for one in tree.body] if isinstance(tree, ast.Module) else []
    while todo:
        within, statement = todo.pop()
        inner = f"{within}.{statement.name}" if isinstance(statement, _NAMED) else within
        below = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt | ast.ExceptHandler)]
        if below:
            todo += [(inner, one) for one in reversed(below)]
        elif within and isinstance(statement, ast.stmt):
            yield within, ast.unparse(statement)


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
