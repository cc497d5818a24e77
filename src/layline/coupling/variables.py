"""What the names and variables of one file stand for, as far as its syntax tells."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from layline.source.fingerprint import text_of
from layline.source.walking import find_children, walk

ITEMS = "items"
"""What a variable holds that is a list, by the class of its items."""
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "set", "frozenset", "tuple", "Tuple"})
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
_IMPORTS = frozenset({ast.Import, ast.ImportFrom})


def count_given(body: Iterable[ast.stmt]) -> Counter[str]:
    """How often statements, functions in them apart, give a name a value."""
    found: Counter[str] = Counter()
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] += 1
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found[name] += 1
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(dict.fromkeys(names, 2))
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
            return text.strip("\"' ").removesuffix("| None").strip()
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return type_text(left)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return type_text(inner)
        case ast.Name() | ast.Attribute():
            return text_of(annotation)
    return ""


def items_text(annotation: ast.expr) -> str:
    """The class of the items of a list, where an annotation names one: `list[C]`, `Sequence["C"]`, `tuple[C, ...]`."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return items_text(left)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in _LISTS:
            match inner:
                case ast.Tuple(elts=[kind, ast.Constant(value=value)]) if value is Ellipsis:
                    return type_text(kind)
                case _:
                    return type_text(inner) if name not in {"tuple", "Tuple"} else ""
    return ""


def find_looped(loop: ast.For, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """What a loop calls an item of a list whose items are of a known class."""
    match loop:
        case (
            ast.For(target=ast.Name(id=name), iter=ast.Name(id=source))
            | ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=name)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=source)]),
            )
        ):
            way, _, kind = known.get(source, "").partition(":")
            if way == ITEMS:
                yield name, kind


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


def find_handed_in(tree: ast.Module) -> dict[tuple[str, str], str]:
    """What every call of a function of the file gives for a parameter, where all of them make it in the same way; of
    functions that the file only calls.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    found: dict[tuple[str, str], set[str]] = {}
    called: Counter[str] = Counter()
    for around in (tree, *(node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))):
        calls = [
            (node, node.func.id)
            for node in (_walk_own(around.body) if functions else ())
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions
        ]
        made = _find_made(around.body) if calls else {}
        for call, called_name in calls:
            called[called_name] += 1
            for name, value in _pair_given(functions[called_name], call):
                found.setdefault((called_name, name), set()).add(_tell_made(value, made))
    if not found:
        return {}
    named = Counter(node.id for node in walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return {
        (function, name): kinds.pop()
        for (function, name), kinds in found.items()
        if named[function] == called[function] and len(kinds) == 1 and "" not in kinds
    }


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
