"""Code that is a text: `exec("m.f = ours")` does what its statements do, where the call stands."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.containers import put_entries
from layline.interpreter.modules import Scope
from layline.interpreter.state import text_of
from layline.interpreter.values import NONE, Called, Literal, Outside, Source, Table, Unknown, find_alternatives
from layline.source.parsing import PARSING
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.state import Machine
    from layline.interpreter.values import Value

_LONGEST = 20_000


def execute(machine: Machine, arguments: list[Value], _: dict[str, Value], node: ast.AST) -> Value | None:
    """`exec(text)`, `exec(edited_source, globals, namespace)`: the names it defines are the edited source."""
    if arguments and (text := text_of(arguments[0])) is not None:
        is_here = len(arguments) == 1
        done = _run_here(machine, text, node) if is_here else _run_into(machine, text, arguments[-1], node)
        return NONE if done else None
    sources = list(find_sources(arguments[0])) if arguments else []
    if not sources:
        return None
    receiver = arguments[-1] if len(arguments) > 1 else Called(Outside("builtins.globals"))
    match receiver:
        case Table() as table:
            table.entries.append((Unknown("what the source defines"), sources[0]))
            table.whole = False
            return NONE
        case Called(callee=Outside(path="builtins.globals")):
            machine.frame.module.executed.append(sources[0])
            return NONE
    return None


def find_sources(value: Value) -> Iterator[Source]:
    """Upstream source inside what is executed, `compile` opened."""
    for found in find_alternatives(value):
        match found:
            case Source():
                yield found
            case Called(callee=Outside(path="builtins.compile"), arguments=(inner, *_)):
                yield from find_sources(inner)


def _run_here(machine: Machine, text: str, at: ast.AST) -> bool:
    """Whether the text could be read; the names it uses are those of the module."""
    body = _parse(text, at)
    top = machine.frame.module.scope
    machine.run_block(body, top if machine.frame.function is None else Scope(top.module, top))
    return bool(body)


def _run_into(machine: Machine, text: str, names: Value, at: ast.AST) -> bool:
    """The same where the names that it defines go: `exec(text, up.a.__dict__)`, `exec(text, made)`."""
    body = _parse(text, at)
    inner = Scope(machine.frame.module, machine.frame.module.scope)
    match names if body else None:
        case Outside(path=path) if path.endswith(".__dict__"):
            machine.run_block(body, inner)
            for name, value in inner.names.items():
                machine.write(Outside(path.removesuffix(".__dict__")), Literal(name), value, at)
            return True
        case Table() as table:
            machine.run_block(body, inner)
            put_entries(machine, table, [(Literal(name), value) for name, value in inner.names.items()])
            return True
    return False


def _parse(text: str, at: ast.AST) -> list[ast.stmt]:
    """The statements of a text, each at the line that executes it; none where it cannot be read."""
    try:
        with PARSING:
            body = ast.parse(text).body if len(text) <= _LONGEST else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for node in (inner for statement in body for inner in walk(statement)):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno, node.end_lineno = getattr(at, "lineno", 1), getattr(at, "end_lineno", 1)
    return body
