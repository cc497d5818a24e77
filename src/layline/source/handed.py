"""Names that code hands on as values: returned, set as an attribute, passed by keyword; not called or asked about.

What is passed by keyword is told with it, too: `slot=Name`, also of `slot=Spec(module=Name)`, and what is set in a
field of a field (`spec.slot.module = Name`). `field()=Name` is an object that is built and kept in a field.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.source.loads import called_name
from layline.source.walking import walk

BUILT = "()"
BUILDER = "build_"
"""How functions begin that build what a spec names."""
SPECIFIED = "module"
"""The keyword by which a spec names what is to be built."""
_ASKING = frozenset({"isinstance", "issubclass"})


def find_handed(node: ast.AST) -> Iterator[str]:
    """The names that one statement or keyword hands on."""
    match node:
        case ast.Return(value=ast.expr() as value):
            yield from _find_values(value)
        case ast.Assign(targets=[ast.Attribute(attr=field, value=owner)], value=value):
            names = list(_find_values(value))
            yield from names
            if isinstance(owner, ast.Attribute):  # `spec.submodules.attention.module = Name`
                yield from (f"{slot}={name}" for slot in (owner.attr, field) for name in names)
            yield from (f"{field}{BUILT}={name}" for name in _find_built(value))
        case ast.keyword(arg=str() as slot, value=value):
            names = list(_find_values(value))
            if slot != SPECIFIED:
                yield from names  # a spec of our own names a module, and our own code builds it
            yield from (f"{slot}={name}" for name in (*names, *_find_specified(value)))


def find_own_specs(function: ast.AST) -> Iterator[ast.Call]:
    """Specs that a function makes and has built itself, and hands to nobody else."""
    nodes = list(walk(function))
    calls = [node for node in nodes if isinstance(node, ast.Call) and called_name(node).startswith(BUILDER)]
    built = {id(call.args[0]) for call in calls if call.args}
    if not built:
        return
    named: dict[str, list[ast.Name]] = {}
    for node in nodes:
        if isinstance(node, ast.Name):
            named.setdefault(node.id, []).append(node)
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as spec):
                uses = [one for one in named[name] if one is not node.targets[0]]
                if uses and all(id(one) in built for one in uses):
                    yield spec
            case ast.Call() if id(node) in built:
                yield node


def _find_built(node: ast.expr) -> Iterator[str]:
    """Names of what an expression builds, alone or in a list."""
    for call in walk(node):
        match call:
            case ast.Call(func=ast.Name(id=name)):
                yield name


def _find_specified(node: ast.expr) -> Iterator[str]:
    """Names that a call in a slot is given by keyword: of a spec what is to be built."""
    if isinstance(node, ast.Call):
        yield from (name for word in node.keywords for name in _find_values(word.value))


def _find_values(node: ast.expr) -> Iterator[str]:
    """Names that stand as values in an expression: not called, not asked about, chosen or passed through."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.IfExp(body=one, orelse=other):
            yield from (*_find_values(one), *_find_values(other))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            yield from (name for item in items for name in _find_values(item))
        case ast.Call(func=ast.Name(id=name), args=items) if name not in _ASKING:
            yield from (name for item in items for name in _find_values(item))
