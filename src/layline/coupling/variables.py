"""What the names and variables of one file stand for, as far as its syntax tells."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeGuard

from layline.source.fingerprint import text_of
from layline.source.walking import find_children, walk

ITEMS, VALUES = "items", "values"
"""What a variable holds that is a list, or a table, by the class of its items."""
ITEM, EACH = "[]", "*"
"""Steps beside attributes: `x[0]`, and what a loop over `x` gives."""
_TUPLES = frozenset({"tuple", "Tuple"})
_LISTS = frozenset(
    {"list", "List", "Sequence", "MutableSequence", "Iterable", "Iterator", "Collection", "set", "frozenset", "deque"}
)
_TABLES = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict"})
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_IMPORTS = frozenset({ast.Import, ast.ImportFrom})


def count_given(body: Iterable[ast.stmt]) -> Counter[str]:
    """How often statements, functions in them apart, give a name a value."""
    found: Counter[str] = Counter()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):  # first, since most nodes are names
            if not isinstance(node.ctx, ast.Load):
                found[node.id] += 1
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] += 1
        else:
            if isinstance(node, ast.Global | ast.Nonlocal):
                found.update(dict.fromkeys(node.names, 2))
            waiting += find_children(node)
    return found


def read_loaded(call: ast.Call) -> str | None:
    """The module that a call loads by its written name: `import_module("a.b")`."""
    match call:
        case ast.Call(
            func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name))],
            keywords=[],
        ) if all(word.isidentifier() for word in name.split(".")):
            return name
    return None


def count_set(node: ast.ClassDef) -> Counter[str]:
    """How often the methods of a class set each attribute of `self`."""
    return Counter(
        one.attr
        for one in walk(node)
        if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load) and _is_self(one.value)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def find_aliases(tree: ast.Module, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that imports bind, and classes of the file that stand below another: theirs may be upstream's."""
    yield from (node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases)
    for node in nodes:
        if node.__class__ in _IMPORTS:
            for item in node.names:  # type: ignore[attr-defined]
                yield item.asname or item.name.partition(".")[0]


def find_claims(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Parameters of the functions of a module that hold the object of a class which only the line that installs a
    function tells: `self` of a function outside classes, and what it is handed to.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for function in functions.values():
        if not function.args.args or function.args.args[0].arg != "self":
            continue
        yield function.name, "self"
        for node in walk(function):
            match node:
                case ast.Call(func=ast.Name(id=name), args=given) if name in functions:
                    for taken, value in zip(functions[name].args.args, given, strict=False):
                        if isinstance(value, ast.Name) and value.id == "self":
                            yield name, taken.arg


def find_set(call: ast.Call) -> Iterator[str]:
    """What `add_argument("--steps", "-s", dest=…)` sets."""
    for item in (*call.args, *(word.value for word in call.keywords if word.arg == "dest")):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value.lstrip("-").replace("-", "_")


def type_text(annotation: ast.expr) -> str:
    """The class an annotation names: quotes, Optional and `| None` taken off."""
    bare = _take_off(annotation)
    return text_of(bare) if isinstance(bare, ast.Name | ast.Attribute) else ""


def read_origin(annotation: ast.expr) -> str:
    """What a variable with such an annotation holds: an object of a class, a list of them, a table of them."""
    for way, step in ((ITEMS, EACH), (VALUES, ITEM)):
        if kind := _item_text(annotation, step):
            return f"{way}:{kind}"
    return f"type:{type_text(annotation)}"


@lru_cache(maxsize=4096)
def read_kind(annotation: str, steps: tuple[str, ...] = ()) -> str:
    """The class that an annotation names; of an item, where steps into it are given."""
    bare: ast.expr | None = _parse(annotation)
    for step in steps:
        bare = _find_item(bare, step) if bare is not None else None
    return type_text(bare) if bare is not None else ""


def _item_text(annotation: ast.expr, step: str) -> str:
    item = _find_item(annotation, step)
    return type_text(item) if item is not None else ""


def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _take_off(annotation: ast.expr) -> ast.expr:
    match annotation:
        case ast.Constant(value=str(text)) if (inner := _parse(text)) is not None:
            return _take_off(inner)
        case (
            ast.BinOp(left=inner, op=ast.BitOr(), right=ast.Constant(value=None))
            | ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=inner)
            | ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner)
        ):
            return _take_off(inner)
    return annotation


def _find_item(annotation: ast.expr, step: str) -> ast.expr | None:
    """The items of `list[C]`, `Sequence["C"]`, `tuple[C, ...]`, and the values of `dict[K, C]`."""
    match _take_off(annotation):
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            match inner:
                case ast.Tuple(elts=[kind, ast.Constant(value=value)]) if value is Ellipsis and name in _TUPLES:
                    return kind
                case ast.Tuple(elts=[_, kind]) if name in _TABLES and step == ITEM:
                    return kind
                case _ if name in _LISTS:
                    return inner
    return None


def find_narrowed(test: ast.expr) -> Iterator[tuple[str, str]]:
    """Variables that are of one class where a test holds: `isinstance(x, C)`, alone or beside others."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for one in values:
                yield from find_narrowed(one)
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), ast.Name() | ast.Attribute() as kind]):
            yield name, text_of(kind)


def find_left(node: ast.If) -> Iterator[tuple[str, str]]:
    """The same after `if not isinstance(x, C): raise …`."""
    match node:
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=[*_, last], orelse=[]) if isinstance(
            last, _LEAVES
        ):
            yield from find_narrowed(test)


def find_handed_in(tree: ast.Module, nodes: Sequence[ast.AST]) -> dict[tuple[str, str], str]:
    """What every call of a function of the file gives for a parameter, where all of them make it in the same way; of
    functions that the file only calls.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    lines = {node.lineno for node in nodes if _is_call_of(node, functions)}
    if not lines:
        return {}
    found: dict[tuple[str, str], set[str]] = {}
    called: Counter[str] = Counter()
    for around in (tree, *(node for node in nodes if _is_function_around(node, lines))):
        calls = [
            (node, node.func.id)
            for node in _walk_own(around.body)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
        ]
        made = _find_made(around.body) if calls else {}
        for call, called_name in calls:
            called[called_name] += 1
            for name, value in _pair_given(functions[called_name], call):
                found.setdefault((called_name, name), set()).add(_tell_made(value, made))
    if not found:
        return {}
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return {
        (function, name): kinds.pop()
        for (function, name), kinds in found.items()
        if named[function] == called[function] and len(kinds) == 1 and "" not in kinds
    }


def _is_function_around(node: ast.AST, lines: set[int]) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Whether it is a function that holds one of the lines: most hold none, and need no walk of their own."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _is_call_of(node: ast.AST, names: Container[str]) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _find_made(body: list[ast.stmt]) -> dict[str, str]:
    """Variables that are given once, by a call: what is called."""
    given = count_given(body)
    return {
        node.targets[0].id: text_of(node.value.func)
        for node in _walk_own(body)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and given[node.targets[0].id] == 1
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name | ast.Attribute)
    }


def _tell_made(value: ast.expr, made: dict[str, str]) -> str:
    match value:
        case ast.Name(id=name):
            return made.get(name, "")
        case ast.Call(func=ast.Name() | ast.Attribute() as func):
            return text_of(func)
    return ""


def _pair_given(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    yield from zip(names, call.args, strict=False)
    yield from ((word.arg, word.value) for word in call.keywords if word.arg is not None)


def _walk_own(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of statements, without functions and classes in them."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            waiting += find_children(node)


def begins_above(call: ast.Call, scope: list[str]) -> bool:
    """Whether `super(…)` begins above the class at hand: with nothing, or with that class."""
    first = call.args[0] if call.args else None
    return first is None or (isinstance(first, ast.Name) and first.id in scope)
