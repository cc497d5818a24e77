"""How large the work of an upgrade is at least: the lines of ours that stand on what breaks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from layline.core.evidence import Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """A lower bound: what has to be read again, line by line."""

    lines: int
    """Lines of the statements that break, and lines that use what a broken import binds."""
    files: int


def measure_effort(read: Callable[[str], str | Skipped], places: Iterable[str]) -> Effort:
    """Count the lines behind places (`file:line`); a file that does not parse counts its places only."""
    wanted: dict[str, set[int]] = {}
    for place in places:
        path, _, line = place.rpartition(":")
        wanted.setdefault(path, set()).add(int(line) if line.isdigit() else 1)
    total = 0
    for path, lines in wanted.items():
        text = read(path)
        total += len(find_lines(text, lines) if isinstance(text, str) and path.endswith(".py") else lines)
    return Effort(lines=total, files=len(wanted))


def find_lines(text: str, places: set[int]) -> set[int]:
    """Lines of the innermost statements at these lines, and of every use of a name that one of them imports."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(places)
    found = set(places)
    bound: set[str] = set()
    for statement in _find_statements(tree, places):
        found |= set(range(statement.lineno, _last_line(statement) + 1))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            bound |= set(_bind(statement, places))
    found |= {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in bound}
    return found


def _find_statements(tree: ast.Module, places: set[int]) -> Iterator[ast.stmt]:
    """The innermost statement that holds each line."""
    for line in places:
        inside = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        if inside:
            yield max(inside, key=lambda node: (node.lineno, -(node.end_lineno or node.lineno)))


def _last_line(statement: ast.stmt) -> int:
    """Of a class or function only its head: its body is other statements' work."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _bind(statement: ast.Import | ast.ImportFrom, places: set[int]) -> Iterator[str]:
    """The names that the broken part of an import binds: of several lines, those that break."""
    several = (statement.end_lineno or statement.lineno) > statement.lineno
    for alias in statement.names:
        if not several or alias.lineno in places or statement.lineno in places:
            yield (alias.asname or alias.name).partition(".")[0]
