"""What the names and variables of one file stand for, as far as its syntax tells."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from layline.source.fingerprint import text_of
from layline.source.walking import walk

_IMPORTS = frozenset({ast.Import, ast.ImportFrom})


def count_given(body: Iterable[ast.stmt]) -> Counter[str]:
    """How often statements, functions in them apart, give a name a value."""
    found: Counter[str] = Counter()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] += 1
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.update(dict.fromkeys(node.names, 2))
        waiting += ast.iter_child_nodes(node)
    return found


def count_set(node: ast.ClassDef) -> Counter[str]:
    """How often the methods of a class set each attribute of `self`."""
    return Counter(
        one.attr
        for one in walk(node)
        if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load) and _is_self(one.value)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def find_aliases(tree: ast.Module) -> Iterator[str]:
    """Names that imports bind, and classes of the file that stand below another: theirs may be upstream's."""
    yield from (node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases)
    for node in walk(tree):
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
    match annotation:
        case ast.Constant(value=str(text)):
            return text.strip("\"' ")
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return type_text(left)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return type_text(inner)
        case ast.Name() | ast.Attribute():
            return text_of(annotation)
    return ""
