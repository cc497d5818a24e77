"""What a function is apart from its parameters: how its decorators make it bind, and what shape it returns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from layline.change.binding import Problem, count_taken
from layline.change.compare import Comparison
from layline.change.signatures import returns_another
from layline.core.evidence import Skipped
from layline.core.why import Reason, Why
from layline.source import Definition, DefinitionKind, Module, Symbol
from layline.source.excerpts import parse_around
from layline.source.resolve import Resolver
from layline.source.walking import find_children, walk

_NATURES = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "contextmanager", "asynccontextmanager"}
)
"""Decorators that decide how callers use a name; any other leaves calls as they are."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def find_nature_problems(comparison: Comparison, ours: Definition, wrapping: str = "") -> Iterator[Problem]:
    """Where callers use upstream's name in another way than at the pin, and ours has not followed.

    `wrapping` is the line that installs ours: `C.f = staticmethod(ours)` decorates it there.
    """
    before, after = comparison.before.definition, comparison.after.definition
    if before is None or after is None or {before.kind, after.kind, ours.kind} != {DefinitionKind.FUNCTION}:
        return
    was, now = _natures(before), _natures(after)
    mine = _natures(ours) | {word for word in _NATURES if f"{word}(" in wrapping}
    for word in sorted(now - was - mine):
        yield Problem(word, Why(Reason.LACKS_NATURE, word))
    for word in sorted((was - now) & mine):
        yield Problem(word, Why(Reason.HAS_NATURE, word))
    if after.is_async not in {before.is_async, ours.is_async}:
        yield Problem("async", Why(Reason.NOT_ASYNC if after.is_async else Reason.ASYNC))


def _natures(definition: Definition) -> frozenset[str]:
    return frozenset(word.partition("(")[0].rpartition(".")[2] for word in definition.decorators) & _NATURES


class ReturnChange(NamedTuple):
    """How many values a function returned and returns, where all its `return`s agree."""

    before: int
    after: int


def compare_returns(comparison: Comparison, pin: Resolver, tip: Resolver) -> ReturnChange | None:
    """The change of the number of values that a function returns; None where either side cannot be told. That it is
    one value at a ref is told by upstream's own calls, beside a tuple that is written at the other.
    """
    written = before, after = count_returned(pin, comparison.before), count_returned(tip, comparison.after)
    if before is None or after is None:
        before, after = _taken(pin, comparison.before), _taken(tip, comparison.after)
        if 1 in {before, after} and {before, after} - {1} != {*written} - {None}:
            return None
    return None if before is None or after is None or before == after else ReturnChange(before=before, after=after)


def _taken(side: Resolver, symbol: Symbol) -> int | None:
    """Into how many names the module that defines a function takes its result, if all its calls agree."""
    definition = symbol.definition
    if (
        definition is None
        or symbol.module is None
        or definition.owner
        or definition.kind is not DefinitionKind.FUNCTION
    ):
        return None
    data, module = side.index.look(symbol.module, definition.name), symbol.module
    return side.index.ask(
        module, f"taken {definition.name}", lambda: _count_taken(data, side.index.peek(module), definition)
    )


def _count_taken(data: bytes, holder: Module | None, definition: Definition) -> int | None:
    word = re.escape(definition.name.encode())
    if holder is None or not re.search(rb"=\s*" + word + rb"\(", data):
        return None
    parts = parse_around(data, holder, re.compile(rb"\b" + word + rb"\b"))
    found: set[int | None] = set()
    trees = () if isinstance(parts, Skipped) else parts
    for item in (node for tree, _ in trees for node in walk(tree)):
        match item:
            case ast.Assign(value=ast.Call(func=ast.Name(id=name))) if name == definition.name:
                found.add(count_taken(item))
    return found.pop() if len(found) == 1 else None


def count_returned(side: Resolver, symbol: Symbol) -> int | None:
    """How many values a function returns, where all its `return`s agree."""
    if symbol.definition is None or symbol.module is None or symbol.is_implicit:
        return None
    if symbol.definition.kind is not DefinitionKind.FUNCTION:
        return None
    return side.index.ask_node(symbol.module, symbol.definition, "number of values", _find_arity)


def _find_arity(node: ast.AST | None) -> int | None:
    found = set(find_arities(node)) if node is not None else set()
    declared = _find_declared(node)
    if declared is not None and found <= {None, declared}:
        return declared
    if found == {None} and node is not None and _gives_dictionary(node):
        return 1
    return found.pop() if len(found) == 1 else None


def _gives_dictionary(node: ast.AST) -> bool:
    """Whether each `return` of a function gives a dictionary that it writes."""
    own = list(walk_own(node))
    bound: dict[str, list[ast.expr | None]] = {}
    for item in own:
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bound.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                bound.setdefault(name, []).append(value)
    stored = [item.id for item in own if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)]

    def is_written(value: ast.expr | None) -> bool:
        if isinstance(value, ast.Name):
            given = bound.get(value.id, [])
            return bool(given) and len(given) == stored.count(value.id) and all(map(_is_dictionary, given))
        return _is_dictionary(value)

    return all(is_written(item.value) for item in own if isinstance(item, ast.Return))


def _is_dictionary(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Dict | ast.DictComp) or (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict"
    )


def _find_declared(node: ast.AST | None) -> int | None:
    """How many values the annotation of a function says: `-> tuple[A, B]`."""
    match getattr(node, "returns", None):
        case ast.Subscript(
            value=ast.Name(id="tuple" | "Tuple") | ast.Attribute(attr="Tuple"), slice=ast.Tuple(elts=kinds)
        ) if not any(isinstance(one, ast.Constant) and one.value is Ellipsis for one in kinds):
            return len(kinds)
    return None


def declares_another(found: Comparison) -> bool:
    """Whether a function says at the tip that it returns something else."""
    before, after = found.before.definition, found.after.definition
    return before is not None and after is not None and before.returns != after.returns


def retypes(comparison: Comparison, pin: Resolver) -> bool:
    """Whether a function declares to return another type, and may do so: the same body that makes its result itself
    was only annotated anew.
    """
    before, after = comparison.before, comparison.after
    if before.definition is None or after.definition is None or before.module is None:
        return False
    if not returns_another(before.definition.returns, after.definition.returns):
        return False
    if comparison.body_changed:
        return True
    node = pin.index.read_node(before.module, before.definition)
    if node is None:
        return True
    bound = {item.id for item in walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    returned = [item.value for item in walk_own(node) if isinstance(item, ast.Return)]
    return not returned or any(_hands_on(value, bound) for value in returned)


def _hands_on(value: ast.expr | None, bound: set[str]) -> bool:
    """True of a result that another function makes, which may have changed: nothing that the function itself bound."""
    match value:
        case ast.Call(func=func):
            root: ast.expr = func
            while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
                root = root.func if isinstance(root, ast.Call) else root.value
            return not (isinstance(root, ast.Name) and root.id in bound)
    return False


def find_arities(node: ast.AST) -> Iterator[int | None]:
    """Of each `return` of a function the number of values; None where it is no written tuple. Inner functions do not
    count.
    """
    for item in walk_own(node):
        if isinstance(item, ast.Return):
            match item.value:
                case ast.Tuple(elts=values) if not any(isinstance(one, ast.Starred) for one in values):
                    yield len(values)
                case _:
                    yield None


def find_shape_problems(change: ReturnChange, ours: ast.AST, originals: frozenset[str]) -> Iterator[Problem]:
    """Where our replacement returns, or takes apart, as many values as upstream's function returned at the pin."""
    arities = set(find_arities(ours))
    if change.before in arities and change.after not in arities:
        yield Problem("return", Why(Reason.RETURNS_OLD, counts=change))
    for item in walk_own(ours):
        match item:
            case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=ast.Call(func=func)):
                starred = any(isinstance(one, ast.Starred) for one in names)
                if len(names) == change.before and not starred and ast.unparse(func) in originals:
                    yield Problem("return", Why(Reason.TAKES_OLD, counts=change))


def find_used_attributes(ours: ast.AST, originals: frozenset[str]) -> list[str]:
    """Attributes that our wrapper reads, or asks for, of what the original returned."""
    held: set[str] = set()
    for item in walk_own(ours):
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)) if ast.unparse(func) in originals:
                held.add(name)
    found: dict[str, None] = {}
    for item in walk_own(ours):
        match item:
            case ast.Attribute(value=ast.Name(id=name), attr=word) if name in held:
                found[word] = None
            case ast.Call(
                func=ast.Name(id="hasattr" | "getattr"), args=[ast.Name(id=name), ast.Constant(value=str(word)), *_]
            ) if name in held:
                found[word] = None
    return list(found)


def walk_own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function that belong to itself and not to functions in it."""
    todo = find_children(node)[::-1]
    while todo:
        item = todo.pop()
        yield item
        if not isinstance(item, _SCOPES):
            todo += reversed(find_children(item))
