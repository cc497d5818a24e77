"""A walk over syntax trees, in the order of `ast.walk` but faster: most analysers do little else.

And answers about a node that are remembered as long as the node is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

N = TypeVar("N", bound=ast.AST)
P = ParamSpec("P")
T = TypeVar("T")

_FIELD = re.compile(r"(\w+)([?*]?) (\w+)(?:, |\)$)")
"""One field of a kind of node, as Python documents it: `Return(expr? value)`."""
_LEAVES = frozenset(
    ["identifier", "int", "string", "constant", "type_ignore", "operator", "unaryop", "boolop", "cmpop", "expr_context"]
)
"""What holds no statement or expression: names, numbers, contexts and operators."""
_SILENT = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_MAY_LACK = frozenset({"keys", "kw_defaults"})
"""Lists that may hold None: keys of `{**other}`, defaults that are not there."""
_Read: TypeAlias = "Callable[[ast.AST, Callable[[ast.AST], None], list[ast.AST]], None] | None"
_READS: dict[type[ast.AST], _Read] = {}
"""Kind of node → what puts the nodes of its fields into a list, given its `append` too; None where it has none: more than
half of all nodes."""


def find_children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, contexts and operators left out."""
    kind, below = node.__class__, list[ast.AST]()
    read = _READS[kind] if kind in _READS else _make_read(kind)
    if read is not None:
        read(node, below.append, below)
    return below


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, nearer ones first; contexts and operators, which say nothing by themselves, are left out."""
    nodes, reads = [tree], _READS
    add = nodes.append
    for node in nodes:
        yield node
        kind = node.__class__
        read = reads[kind] if kind in reads else _make_read(kind)
        if read is not None:
            read(node, add, nodes)


def list_levels(tree: ast.AST) -> list[list[ast.AST]]:
    """The same nodes in the same order, those of one depth together: who asks for trees of several statements has
    them all in order again.
    """
    levels, level, reads = list[list[ast.AST]](), [tree], _READS
    while level:
        levels.append(level)
        below: list[ast.AST] = []
        add = below.append
        for node in level:
            kind = node.__class__
            read = reads[kind] if kind in reads else _make_read(kind)
            if read is not None:
                read(node, add, below)
        level = below
    return levels


def _make_read(kind: type[ast.AST]) -> _Read:
    """A function that names the fields of its kind, written as `dataclass` writes methods: a loop over them takes half as
    long again.
    """
    told = {name: (what, mark) for what, mark, name in _FIELD.findall((kind.__doc__ or "").partition("(")[2])}
    if not told.keys() >= set(kind._fields):  # a kind, or a Python, whose documentation says it otherwise
        _READS[kind] = _read_any
        return _read_any
    fields = {name: told[name] for name in kind._fields if told[name][0] not in _LEAVES}
    lines = "".join(f"\n    {_write_field(name, mark)}" for name, (_, mark) in fields.items())
    made: dict[str, Any] = {}
    exec(f"def read(node, add, more):{lines or ' ...'}", made)  # noqa: S102  names of Python's own grammar alone
    _READS[kind] = made["read"] if lines else None
    return _READS[kind]


def _read_any(node: ast.AST, _add: Callable[[ast.AST], None], more: list[ast.AST]) -> None:
    more += [one for one in ast.iter_child_nodes(node) if not isinstance(one, _SILENT)]


def _write_field(name: str, mark: str) -> str:
    if name in _MAY_LACK and mark == "*":
        return f"more += [item for item in node.{name} if item is not None]"
    if mark == "*":
        return f"more += node.{name}"
    return f"if node.{name} is not None: add(node.{name})" if mark else f"add(node.{name})"


def remember(read: Callable[Concatenate[N, P], T]) -> Callable[Concatenate[N, P], T]:
    """Ask once a node. The answer lies at the node: a cache beside it would keep trees that nobody reads again."""

    @wraps(read)
    def ask(node: N, /, *rest: P.args, **named: P.kwargs) -> T:
        answers = node.__dict__.setdefault("_answers", {})
        key = (read, *rest, *named.values())
        if key not in answers:
            answers[key] = read(node, *rest, **named)
        found: T = answers[key]
        return found

    return ask


def find_nested(body: list[ast.stmt], names: list[str]) -> ast.stmt | None:
    """The definition that a dotted name leads to inside a module."""
    found: ast.stmt | None = None
    for name in names:
        inner = (node for statement in body for node in walk(statement))
        found = next((node for node in inner if isinstance(node, _DEFINES) and node.name == name), None)
        if found is None:
            return None
        body = found.body
    return found


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
