"""A walk over syntax trees, in the order of `ast.walk` but faster: most analysers do little else.

And answers about a node that are remembered as long as the node is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

N = TypeVar("N", bound=ast.AST)
P = ParamSpec("P")
T = TypeVar("T")

_LEAVES = frozenset(
    {
        "ctx",
        "id",
        "attr",
        "arg",
        "asname",
        "module",
        "level",
        "kind",
        "type_comment",
        "op",
        "ops",
        "conversion",
        "is_async",
    }
)
"""Fields that hold no statement or expression: names, numbers, contexts and operators."""
_PLANS: dict[type[ast.AST], tuple[str, ...]] = {}


def find_children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, contexts and operators left out."""
    kind = node.__class__
    plan = _PLANS[kind] if kind in _PLANS else _plan(kind)
    below: list[ast.AST] = []
    if not plan:  # more than half of all nodes
        return below
    held = node.__dict__
    for name in plan:
        value = held.get(name)
        if value.__class__ is list:
            below += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            below.append(value)
    return below


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, nearer ones first; contexts and operators, which say nothing by themselves, are left out."""
    level, plans = [tree], _PLANS
    while level:
        yield from level
        below: list[ast.AST] = []
        add = below.append
        for node in level:
            plan = plans.get(node.__class__)
            if plan is None:
                plan = _plan(node.__class__)
            if not plan:  # more than half of all nodes
                continue
            held = node.__dict__
            for name in plan:
                value = held.get(name)
                if value.__class__ is list:
                    if value:
                        below += [item for item in value if isinstance(item, ast.AST)]
                elif value is not None and isinstance(value, ast.AST):
                    add(value)
        level = below


def _plan(kind: type[ast.AST]) -> tuple[str, ...]:
    fields = () if kind is ast.Constant else kind._fields
    _PLANS[kind] = tuple(name for name in fields if name not in _LEAVES)
    return _PLANS[kind]


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
